/** The report of one scan, and the bytes that are signed and addressed. */
import type { Digest, Manifest, ScanReport } from "@quickagents/schema"
import { canonicalJson } from "@quickagents/archive"
import type { GateDecision } from "./Gate.ts"
import { countFindings } from "./Gate.ts"
import { digestOf } from "@quickagents/archive"

export interface ScannedRelease {
  /** `ns/name@version`. */
  readonly ref: string
  readonly archive: Digest
  /** `undefined` when the manifest could not be read. */
  readonly manifest: Manifest | undefined
  readonly startedAt: Date
  readonly finishedAt: Date
}

/** SHA-256 of the manifest's canonical JSON (RFC 8785). */
export const manifestDigest = (manifest: Manifest): Digest => digestOf(canonicalJson(manifest))

const head = ({ ref, archive, manifest, startedAt, finishedAt }: ScannedRelease) => ({
  version: 1 as const,
  ref,
  archive,
  manifest: manifest === undefined ? null : manifestDigest(manifest),
  startedAt: startedAt.toISOString(),
  finishedAt: finishedAt.toISOString()
})

export const buildReport = (release: ScannedRelease, decision: GateDecision): ScanReport => ({
  ...head(release),
  verdict: decision.verdict,
  stages: decision.stages,
  findingCounts: decision.findingCounts
})

/** For a private version that is admitted without a scan. It gets no attestation. */
export const unscannedReport = (release: ScannedRelease): ScanReport => ({
  ...head(release),
  verdict: "unscanned",
  stages: [],
  findingCounts: countFindings([])
})

/** RFC 8785 in UTF-8: the same report has the same bytes wherever it is written. */
export const reportBytes = (report: ScanReport): Uint8Array => Buffer.from(canonicalJson(report))
export const reportDigest = (report: ScanReport): Digest => digestOf(reportBytes(report))
