/**
 * What the host itself must know of a release: the egress that its proxy lets
 * out, and whether the release asks for something this host does not have. It
 * is read on the host's side of the sandbox, from the archive whose digest was
 * checked, and never taken from the sandbox's word.
 */
import { NodeStream } from "@effect/platform-node"
import { fromV1, Manifest, manifestFile } from "@quickagents/schema"
import { Cause, Effect, Option, Schema, Stream } from "effect"
import { Tar, Yaml } from "effect/encoding"
import { createReadStream } from "node:fs"
import { createGunzip } from "node:zlib"

const maxManifestBytes = 256 * 1024
/** Bounds the work that a hostile archive can ask for. */
const maxUnpackedBytes = 256 * 1024 * 1024

const decodeManifest = Schema.decodeUnknownOption(Manifest)

const parse = (text: string): Option.Option<Manifest> => {
  try {
    return decodeManifest(fromV1(Yaml.parse(text)).input)
  } catch {
    return Option.none()
  }
}

/** The manifest of the gzip tar at `path`; none when archive or manifest are malformed, which the runner then refuses. */
export const readManifest = (path: string): Effect.Effect<Option.Option<Manifest>> =>
  NodeStream.fromReadable({ evaluate: () => createReadStream(path) }).pipe(
    NodeStream.pipeThroughSimple(() => createGunzip()),
    Stream.limitBytes(maxUnpackedBytes, () => Stream.fail(new Cause.UnknownError(undefined, "archive too large"))),
    Stream.pipeThroughChannel(Tar.decode()),
    Stream.filter(({ header }) => header.type === "File" && header.path.replace(/^\.\//u, "") === manifestFile),
    Stream.mapEffect(({ body, header }) =>
      header.size > maxManifestBytes ? Effect.succeedNone : Effect.map(Stream.mkString(Stream.decodeText(body)), parse)
    ),
    Stream.runHead,
    Effect.map(Option.flatten),
    Effect.orElseSucceed(() => Option.none())
  )
