/** Bounds of a release archive. One value serves submission and the CLI's offline validation. Spec: Limits, registry-wide. */
export interface ArchiveLimits {
  /** Compressed bytes of the archive. */
  readonly archiveMaxBytes: number
  /** Regular files outside shipped knowledge packs. */
  readonly archiveMaxFiles: number
  /** Bytes of one file that is neither an image nor text. */
  readonly archiveMaxFileBytes: number
  /** Bytes of one png, jpg, gif, webp or svg. */
  readonly archiveMaxImageFileBytes: number
  /** Bytes of one UTF-8 text file. */
  readonly archiveMaxTextBytes: number
  /** Each shipped knowledge pack: bytes in all, and files. */
  readonly packMaxBytes: number
  readonly packMaxFiles: number
  /** What the extractor reads at most, before it knows which files belong to a pack. */
  readonly unpackedMaxBytes: number
  readonly unpackedMaxFiles: number
  readonly unpackedMaxFileBytes: number
}

const KiB = 1024
const MiB = 1024 * KiB

export const defaultArchiveLimits: ArchiveLimits = {
  archiveMaxBytes: 10 * MiB,
  archiveMaxFiles: 2000,
  archiveMaxFileBytes: 2 * MiB,
  archiveMaxImageFileBytes: 5 * MiB,
  archiveMaxTextBytes: 1 * MiB,
  packMaxBytes: 10 * MiB,
  packMaxFiles: 2000,
  unpackedMaxBytes: 60 * MiB,
  unpackedMaxFiles: 12_000,
  unpackedMaxFileBytes: 10 * MiB
}
