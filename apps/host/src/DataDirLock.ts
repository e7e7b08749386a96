/** One host process per data directory: a second one would sweep the first one's runs away. */
import { Effect, Schema, type Scope } from "effect"
import { createHash } from "node:crypto"
import { createServer } from "node:net"

export class DataDirInUse extends Schema.TaggedError<DataDirInUse>()("DataDirInUse", { dataDir: Schema.String }) {}

/**
 * Holds the directory until the scope closes. It is an abstract unix socket, so
 * that the kernel lets go of it however the process ends; a system without
 * these (any but Linux) has no lock.
 */
export const lockDataDir = (dataDir: string): Effect.Effect<void, DataDirInUse, Scope.Scope> =>
  process.platform !== "linux"
    ? Effect.void
    : Effect.acquireRelease(
        Effect.callback<ReturnType<typeof createServer>, DataDirInUse>((resume) => {
          const lock = createServer()
          lock.once("error", () => resume(Effect.fail(new DataDirInUse({ dataDir }))))
          const name = createHash("sha256").update(dataDir).digest("hex").slice(0, 32)
          lock.listen(`\0quickagents-host-${name}`, () => resume(Effect.succeed(lock)))
        }),
        (lock) => Effect.callback<void>((resume) => void lock.close(() => resume(Effect.void)))
      ).pipe(Effect.asVoid)
