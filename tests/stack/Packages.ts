/** Small QuickAgents for tests, as archives. */
import { gzipSync } from "node:zlib"

export interface PackageFiles {
  readonly [path: string]: string
}

const block = (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)])

export interface Entry {
  readonly path: string
  readonly content?: string | Uint8Array
  /** Type flag of the header; a plain file when absent. */
  readonly type?: string
  readonly link?: string
  /** What the header says, whatever is true. */
  readonly checksum?: number
}

/** A gzipped ustar archive of these entries as they are, also such as no packer would write. */
export const rawArchive = (entries: ReadonlyArray<Entry>): Uint8Array<ArrayBuffer> => {
  const parts = entries.map(({ checksum, content: given, link, path, type }) => {
    const content = Buffer.from(given ?? "")
    const header = Buffer.alloc(512)
    header.write(path, 0, 100)
    header.write("0000644\0", 100)
    header.write("0000000\0", 108)
    header.write("0000000\0", 116)
    header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124)
    header.write("00000000000\0", 136)
    header.write("        ", 148)
    header.write(type ?? "0", 156)
    header.write(link ?? "", 157)
    header.write("ustar\0", 257)
    header.write("00", 263)
    const sum = checksum ?? header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
    return Buffer.concat([header, block(content)])
  })
  return new Uint8Array(gzipSync(Buffer.concat([...parts, Buffer.alloc(1024)])))
}

/** The package in path order. */
export const archiveOf = (files: PackageFiles): Uint8Array<ArrayBuffer> =>
  rawArchive(
    Object.keys(files)
      .toSorted()
      .map((path) => ({ path, content: files[path] }))
  )

/** An agent that follows the script of its task. */
export const scriptedAgent = (
  name: string,
  version: string,
  more: { readonly manifest?: string; readonly files?: PackageFiles } = {}
): PackageFiles => ({
  "agent.yaml": `schemaVersion: 2
name: ${name}
version: ${version}
description: Follows the steps that a test writes into its task.
license: Apache-2.0
modes: [autonomous]
capabilities:
  filesystem:
    read: ["**"]
    write: ["**"]
output:
  files: ["*.md"]
${more.manifest ?? ""}`,
  "AGENT.md": `# Steps

You are given a list of steps. Carry them out in order with the file tools:
read what you are asked to read with fs_read, write what you are asked to
write with fs_write, and finish with a short result.
`,
  ...more.files
})

export const form = (archive: Uint8Array<ArrayBuffer>) => {
  const data = new FormData()
  data.set("archive", new Blob([archive], { type: "application/gzip" }), "package.tgz")
  return data
}
