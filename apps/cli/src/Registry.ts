/** Which registry a command talks to, and as whom. */
import { makeClient, token } from "@quickagents/client"
import { Effect, Option, Schema } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { join } from "node:path"
import { failed, wrongUsage } from "./CommandFailed.ts"
import { configFolder, readIfThere, removeFile, replaceFile } from "./Places.ts"

const standardRegistry = "http://127.0.0.1:4000"

export const RegistryFlag = GlobalFlag.Setting("registry")({
  flag: Flag.String("registry").pipe(
    Flag.withDescription(
      `Address of the registry; else QUICKAGENTS_REGISTRY, else where you signed in, else ${standardRegistry}`
    ),
    Flag.optional
  )
})

const SignIn = Schema.Struct({
  registry: Schema.String,
  token: Schema.String,
  /** Unknown when the token may not read its account. */
  handle: Schema.NullOr(Schema.String)
})
type SignIn = typeof SignIn.Type

const signInPath = () => join(configFolder(), "login.json")
const decodeSignIn = Schema.decodeUnknownEffect(Schema.fromJsonString(SignIn))

export const storedSignIn = Effect.gen(function* () {
  const path = signInPath()
  const text = yield* readIfThere(path)
  if (text === undefined) return undefined
  return yield* Effect.mapError(decodeSignIn(text), () =>
    failed(`${path} is damaged; quickagent login writes it anew, quickagent logout removes it`)
  )
})

/** For its owner alone to read. */
export const storeSignIn = (signIn: SignIn) => replaceFile(signInPath(), `${JSON.stringify(signIn, null, 2)}\n`, 0o600)

export const forgetSignIn = removeFile(signInPath())

/** Without a slash at its end, so that one registry has one name. */
const addressOf = (text: string) => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    url === undefined ||
    (url.protocol !== "https:" && url.protocol !== "http:") ||
    url.username !== "" ||
    url.password !== "" ||
    url.search !== "" ||
    url.hash !== ""
  ) {
    return Effect.fail(
      wrongUsage(`${JSON.stringify(text)} is not the address of a registry, as https://registry.example`)
    )
  }
  return Effect.succeed(url.href.replace(/\/+$/u, ""))
}

const named = Effect.gen(function* () {
  const flag = Option.getOrUndefined(yield* RegistryFlag)
  const text = flag ?? process.env["QUICKAGENTS_REGISTRY"]
  return text === undefined || text === "" ? undefined : yield* addressOf(text)
})

/** The registry to sign in at; what was stored before may be damaged. */
export const registryToSignInAt = Effect.gen(function* () {
  const address = yield* named
  if (address !== undefined) return address
  const before = yield* Effect.catch(storedSignIn, () => Effect.succeed(undefined))
  return before?.registry ?? standardRegistry
})

/** Anything else would break the header that carries it. */
export const readToken = (text: string, from: string) =>
  Effect.succeed(text.trim()).pipe(
    Effect.filterOrFail(
      (trimmed) => /^[\x21-\x7e]{1,500}$/u.test(trimmed),
      () => wrongUsage(`${from} holds no token`)
    )
  )

export const environmentToken = Effect.suspend(() => {
  const text = process.env["QUICKAGENTS_TOKEN"]?.trim()
  return text === undefined || text === "" ? Effect.undefined : readToken(text, "QUICKAGENTS_TOKEN")
})

/** A stored token goes to the registry that it was stored for, and nowhere else. */
export const openRegistry = Effect.gen(function* () {
  const address = yield* named
  const fromEnvironment = yield* environmentToken
  const signIn = yield* storedSignIn
  const registry = address ?? signIn?.registry ?? standardRegistry
  const own = signIn?.registry === registry ? signIn : undefined
  const secret = fromEnvironment ?? own?.token
  const credential = secret === undefined ? {} : { credential: token(secret) }
  const client = yield* makeClient({ baseUrl: registry, ...credential })
  return {
    registry,
    client,
    /** As `makeClient` takes it. */
    credential,
    signedIn: secret !== undefined,
    handle: fromEnvironment === undefined ? (own?.handle ?? null) : null
  }
})
export type OpenRegistry = Effect.Success<typeof openRegistry>
