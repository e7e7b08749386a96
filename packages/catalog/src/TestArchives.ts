/** Release archives for tests, made byte by byte: a hostile one is not what a packer writes. */
import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"

export interface RawEntry {
  readonly name: string
  readonly data?: string | Uint8Array
  readonly prefix?: string
  readonly type?: string
  /** What the header says of the size, where it lies. */
  readonly sizeField?: string
}

export const tarEntry = ({ data = "", name, prefix = "", sizeField, type = "0" }: RawEntry): Buffer => {
  const content = Buffer.from(data)
  const header = Buffer.alloc(512)
  header.write(name)
  header.write("0000644\0", 100)
  header.write(sizeField ?? `${content.length.toString(8).padStart(11, "0")}\0`, 124, "latin1")
  header.fill(32, 148, 156)
  header.write(type, 156)
  header.write("ustar\u000000", 257)
  header.write(prefix, 345)
  header.write(
    `${header
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0")}\0 `,
    148
  )
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)])
}

export const packed = (...entries: ReadonlyArray<RawEntry>): Buffer =>
  gzipSync(Buffer.concat([...entries.map(tarEntry), Buffer.alloc(1024)]))

export const manifestOf = (name: string, version: string) =>
  ({ schemaVersion: 2, name, version, description: "Does it.", modes: ["autonomous"] }) as const

/** A sound release of `ns/name`; other `text` makes other bytes. */
export const archiveOf = (name: string, version: string, text = "Do it."): Buffer =>
  packed({ name: "AGENT.md", data: text }, { name: "agent.yaml", data: JSON.stringify(manifestOf(name, version)) })

export const digestOf = (bytes: Uint8Array): `sha256:${string}` =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`
