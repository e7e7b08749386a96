/**
 * What the host itself must know of a release: the egress that its proxy lets
 * out, and whether the release asks for something this host does not have. It
 * is read on the host's side of the sandbox, from the archive whose digest was
 * checked, and never taken from the sandbox's word.
 */
import { NodeStream } from "@effect/platform-node"
import { defaultArchiveLimits, readPackage } from "@quickagents/archive"
import type { Manifest } from "@quickagents/schema"
import { Effect, Option } from "effect"
import { createReadStream } from "node:fs"

/** The manifest of the gzip tar at `path`; none when archive or manifest are malformed, which the runner then refuses. */
export const readManifest = (path: string): Effect.Effect<Option.Option<Manifest>> =>
  readPackage(NodeStream.fromReadable({ evaluate: () => createReadStream(path) }), defaultArchiveLimits).pipe(
    Effect.map(({ manifest }) => Option.fromNullishOr(manifest)),
    Effect.orElseSucceed(() => Option.none())
  )
