/** The `ns/name` of a package that is made here. */
import { Effect } from "effect"
import { wrongUsage } from "./CommandFailed.ts"
import { storedSignIn } from "./Registry.ts"
import { plainAgentPath } from "./Resolve.ts"

/** `given` as typed; else `name` under the handle of who is signed in. */
export const ownNameFor = Effect.fnUntraced(function* (given: string | undefined, name: string) {
  if (given !== undefined) return (yield* plainAgentPath(given)).path
  const handle = (yield* storedSignIn)?.handle ?? null
  return handle === null
    ? yield* wrongUsage("Nobody is signed in, so say whose package it is: --name acme/notes")
    : (yield* plainAgentPath(`${handle}/${name}`)).path
})
