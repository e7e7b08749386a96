/** Archives for tests, built byte by byte: only so can a test make one that no packer would write. */
import { gzipSync } from "node:zlib"

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
