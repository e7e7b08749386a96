/** Packages for tests, built byte by byte: only so can a test make an archive that no packer would write. */
import type { StageResult } from "@quickagents/schema"
import { Effect, Layer, Result } from "effect"
import { FetchHttpClient } from "effect/http"
import { gzipSync } from "node:zlib"
import { defaultArchiveLimits } from "./ArchiveLimits.ts"
import { Judge } from "./Judge.ts"
import type { ScanPackage } from "./Package.ts"
import { openPackage } from "./Package.ts"
import type { ScanContext, Stage } from "./Stage.ts"
import type { ScanServices } from "./Stages.ts"

export interface RawEntry {
  readonly name: string
  readonly prefix?: string
  readonly data?: string | Uint8Array
  readonly type?: string
  readonly mode?: number
  readonly link?: string
  /** What the header says, where it lies. */
  readonly size?: number
  readonly sizeField?: string
  readonly magic?: string
  readonly checksum?: number
  readonly padding?: number
}

const write = (header: Buffer, at: number, text: string) => header.write(text, at, "utf8")

export const entry = (raw: RawEntry): Buffer => {
  const data = Buffer.from(raw.data ?? "")
  const header = Buffer.alloc(512)
  write(header, 0, raw.name)
  write(header, 100, `${(raw.mode ?? 0o644).toString(8).padStart(7, "0")}\0`)
  write(header, 108, "0000000\0")
  write(header, 116, "0000000\0")
  header.write(raw.sizeField ?? `${(raw.size ?? data.length).toString(8).padStart(11, "0")}\0`, 124, "latin1")
  write(header, 136, "00000000000\0")
  header.fill(32, 148, 156)
  write(header, 156, raw.type ?? "0")
  write(header, 157, raw.link ?? "")
  write(header, 257, raw.magic ?? "ustar\u000000")
  write(header, 345, raw.prefix ?? "")
  const sum = raw.checksum ?? header.reduce((total, byte) => total + byte, 0)
  write(header, 148, `${sum.toString(8).padStart(6, "0")}\0 `)
  const padding = Buffer.alloc((512 - (data.length % 512)) % 512, raw.padding ?? 0)
  return Buffer.concat([header, data, padding])
}

export const paxRecord = (key: string, value: string): string => {
  const body = ` ${key}=${value}\n`
  let length = body.length + 1
  while (`${length}${body}`.length !== length) length = `${length}${body}`.length
  return `${length}${body}`
}

export const endMarker = Buffer.alloc(1024)
export const tarOf = (...parts: ReadonlyArray<Buffer>): Buffer => Buffer.concat([...parts, endMarker])
export const archiveOf = (...parts: ReadonlyArray<Buffer>): Buffer => gzipSync(tarOf(...parts))

export const manifestYaml = (more = "") => `schemaVersion: 2
name: acme/notes
version: 1.0.0
description: Writes meeting notes.
modes: [autonomous]
${more}`

export type Files = Readonly<Record<string, string | Uint8Array>>

/** A sound package with `files` over it. */
export const archiveWith = (files: Files = {}): Buffer =>
  archiveOf(
    ...Object.entries({
      "agent.yaml": manifestYaml(),
      "AGENT.md": "# Notes\n\nRead the notes you are given and write a summary.\n",
      ...files
    }).map(([name, data]) => entry({ name, data }))
  )

export const packageWith = (files: Files = {}): ScanPackage =>
  Result.getOrThrow(openPackage(archiveWith(files), defaultArchiveLimits))

export const context: ScanContext = {
  namespace: "acme",
  name: "notes",
  version: "1.0.0",
  budgetCaps: { seconds: 900, turns: 60 }
}

const services = Layer.mergeAll(Judge.layerLocal, FetchHttpClient.layer)

export const runStage = (
  stage: Stage<ScanServices>,
  files: Files,
  over: Partial<ScanContext> = {}
): Effect.Effect<StageResult> => stage(packageWith(files), { ...context, ...over }).pipe(Effect.provide(services))

/** `rule severity` of each finding, in order. */
export const shown = (result: StageResult): ReadonlyArray<string> =>
  result.findings.map(({ rule, severity }) => `${rule} ${severity}`)
