/** `quickagent login`, `logout` and `whoami`. */
import { makeClient, token } from "@quickagents/client"
import { Console, Effect, Redacted } from "effect"
import { Command, Flag, Prompt } from "effect/cli"
import { text } from "node:stream/consumers"
import { ended, failed, wrongUsage } from "../CommandFailed.ts"
import { advertisedKeys, isChange, keyChange, keyChangeLines, pinKeys, pinnedKeys } from "../PinnedKeys.ts"
import { line } from "../Progress.ts"
import { atTerminal } from "../Question.ts"
import {
  environmentToken,
  forgetSignIn,
  openRegistry,
  readToken,
  registryToSignInAt,
  storeSignIn
} from "../Registry.ts"

const json = Flag.Boolean("json").pipe(Flag.withDescription("Print the answer as JSON"), Flag.withDefault(false))

const tokenOf = Effect.fnUntraced(function* (fromStdin: boolean, registry: string) {
  if (fromStdin) return yield* readToken(yield* Effect.promise(() => text(process.stdin)), "stdin")
  const fromEnvironment = yield* environmentToken
  if (fromEnvironment !== undefined) return fromEnvironment
  if (!atTerminal())
    return yield* wrongUsage("Give the token with --token-stdin or QUICKAGENTS_TOKEN: there is no terminal to ask at")
  const typed = yield* Prompt.run(Prompt.Hidden({ message: `Token for ${registry} (page "Tokens" of the registry):` }))
  return yield* readToken(Redacted.value(typed), "What you typed")
})

const isLocal = (registry: string) => /^(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])$/u.test(new URL(registry).hostname)

const login = Effect.fnUntraced(function* (input: { readonly tokenStdin: boolean; readonly json: boolean }) {
  const registry = yield* registryToSignInAt
  if (registry.startsWith("http:") && !isLocal(registry))
    line(`Warning: ${registry} is not encrypted; the token can be read on its way.`)
  const secret = yield* tokenOf(input.tokenStdin, registry)
  const client = yield* makeClient({ baseUrl: registry, credential: token(secret) })
  const handle = yield* client.api.user.me().pipe(
    Effect.map((profile) => profile.handle),
    Effect.catchTags({
      Unauthorized: () => Effect.fail(failed(`${registry} does not take this token`)),
      // A token for publishing alone is a token all the same.
      Forbidden: () => Effect.succeed(null)
    })
  )
  const advertised = yield* advertisedKeys(client.api)
  const pinned = yield* pinnedKeys(registry)
  if (pinned === undefined) yield* pinKeys(registry, advertised)
  yield* storeSignIn({ registry, token: secret, handle })
  const change = keyChange(pinned ?? advertised, advertised)
  if (pinned === undefined) {
    line(`Pinned the signing keys of ${registry}; compare the ids with those that its operator tells you:`)
    for (const { keyId, status } of advertised) line(`  ${keyId} ${status}`)
  } else if (isChange(change)) {
    line(`Warning: the signing keys that ${registry} advertises have changed:`)
    for (const changed of keyChangeLines(change)) line(changed)
    line("Your pins are as they were. When the operator tells of the change, pin the keys: quickagent keys pin")
  }
  if (handle === null)
    line("The token may not read its account (user:profile), so installs will not be recorded there.")
  yield* Console.log(
    input.json
      ? JSON.stringify({ registry, handle, signingKeysChanged: isChange(change) })
      : `Signed in at ${registry}${handle === null ? "" : ` as ${handle}`}`
  )
})

export const loginCommand = Command.make(
  "login",
  {
    tokenStdin: Flag.Boolean("token-stdin").pipe(
      Flag.withDescription("Read the token from stdin; else from QUICKAGENTS_TOKEN, else it is asked for unseen"),
      Flag.withDefault(false)
    ),
    json
  },
  (input) => ended(login(input))
).pipe(
  Command.withDescription(
    "Sign in at a registry with a personal access token, and pin its signing keys the first time. The token is kept for this user alone in the configuration folder. Later sign-ins say when the advertised keys have changed, and change no pin."
  ),
  Command.withShortDescription("Sign in at a registry"),
  Command.withExamples([
    { command: "quickagent login --registry https://registry.example" },
    { command: "quickagent login --token-stdin < token.txt" }
  ])
)

export const logoutCommand = Command.make("logout", {}, () =>
  ended(
    Effect.andThen(
      forgetSignIn,
      Console.log('Signed out. Revoke the token on the page "Tokens" if nobody else uses it.')
    )
  )
).pipe(Command.withDescription("Forget the token on this machine. Pinned keys stay."))

const whoami = Effect.fnUntraced(function* (input: { readonly json: boolean }) {
  const { client, registry, signedIn } = yield* openRegistry
  if (!signedIn) return yield* failed(`Nobody is signed in at ${registry}`)
  const { displayName, email, handle, memberships } = yield* client.api.user.me()
  yield* Console.log(
    input.json
      ? JSON.stringify({ registry, handle, displayName, email, memberships })
      : [`${handle} at ${registry}`, ...memberships.map(({ org, role }) => `  ${role} of ${org}`)].join("\n")
  )
})

export const whoamiCommand = Command.make("whoami", { json }, (input) => ended(whoami(input))).pipe(
  Command.withDescription("Say who is signed in, and where")
)
