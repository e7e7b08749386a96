/**
 * Knowledge packs that a release ships: folders of its archive that the
 * manifest names under `knowledge`. They are judged by SK alone, so what
 * judges the release's own files is handed those without the packs.
 */
import type { PackageFile, ReleasePackage } from "@quickagents/archive"
import { isInside } from "@quickagents/archive"
import type { Stage } from "./Stage.ts"

export interface ShippedPack {
  /** As the manifest writes it. */
  readonly path: string
  readonly files: ReadonlyArray<PackageFile>
}

export const shippedPacks = ({ files, manifest }: ReleasePackage): ReadonlyArray<ShippedPack> =>
  (manifest?.knowledge ?? []).map((path) => ({ path, files: files.filter((file) => isInside(path, file.path)) }))

export const withoutPacks = (pkg: ReleasePackage): ReleasePackage => {
  const packs = pkg.manifest?.knowledge ?? []
  return packs.length === 0
    ? pkg
    : { ...pkg, files: pkg.files.filter(({ path }) => !packs.some((pack) => isInside(pack, path))) }
}

export const ofOwnFiles =
  <R>(stage: Stage<R>): Stage<R> =>
  (pkg, context) =>
    stage(withoutPacks(pkg), context)
