/**
 * The labelled corpus: one YAML file is one package. What `files` cannot say is
 * in `archive`: entries that no packer would write.
 */
import { Schema } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"
import { rawArchive } from "../stack/Packages.ts"
import type { Entry } from "../stack/Packages.ts"

/** Rules and the local judge are made with `tune` in view; `report` is what is reported. */
export const parts = ["tune", "report"] as const
export type Part = (typeof parts)[number]

export const threats = [
  "injection",
  "exfiltration",
  "hidden-text",
  "capability-creep",
  "typosquat",
  "rug-pull",
  "secrets",
  "bomb",
  "deceptive-description",
  "destructive"
] as const

const Files = Schema.Record(Schema.String, Schema.String)

const RawEntry = Schema.Struct({
  path: Schema.String,
  text: Schema.optionalKey(Schema.String),
  /** So many zero bytes. */
  zeros: Schema.optionalKey(Schema.Int),
  /** So many entries, `{n}` in the path being the number of each. */
  count: Schema.optionalKey(Schema.Int),
  symlink: Schema.optionalKey(Schema.String),
  hardlink: Schema.optionalKey(Schema.String),
  device: Schema.optionalKey(Schema.Boolean)
})

const Labelled = Schema.Struct({
  label: Schema.Literals(["hostile", "benign"]),
  threat: Schema.optionalKey(Schema.Literals(threats)),
  why: Schema.String,
  /** The files of the version that was published before. */
  previous: Schema.optionalKey(Files),
  files: Files,
  archive: Schema.optionalKey(Schema.Array(RawEntry))
})

export interface LabelledPackage extends Omit<typeof Labelled.Type, "archive"> {
  readonly id: string
  readonly archive: Uint8Array
  readonly previousArchive: Uint8Array | undefined
}

const entriesOf = ({ count, device, hardlink, path, symlink, text, zeros }: typeof RawEntry.Type): Array<Entry> => {
  const one: Omit<Entry, "path"> = {
    content: zeros === undefined ? (text ?? "") : Buffer.alloc(zeros),
    ...(symlink === undefined ? {} : { type: "2", link: symlink }),
    ...(hardlink === undefined ? {} : { type: "1", link: hardlink }),
    ...(device === true ? { type: "3" } : {})
  }
  return count === undefined
    ? [{ path, ...one }]
    : Array.from({ length: count }, (_, index) => ({ path: path.replace("{n}", String(index)), ...one }))
}

const archiveOf = (files: typeof Files.Type, more: ReadonlyArray<typeof RawEntry.Type> = []) =>
  rawArchive([
    ...Object.keys(files)
      .toSorted()
      .map((path) => ({ path, content: files[path] })),
    ...more.flatMap(entriesOf)
  ])

/** Every `nth` package, one after the other: some unpack to hundreds of megabytes. */
export const corpus = function* (part: Part, nth = 1): Generator<LabelledPackage> {
  let index = 0
  for (const label of ["hostile", "benign"] as const) {
    const directory = new URL(`${part}/${label}/`, import.meta.url)
    for (const name of readdirSync(fileURLToPath(directory)).toSorted()) {
      if (index++ % nth !== 0) continue
      const id = `${part}/${label}/${name}`
      const labelled = Schema.decodeUnknownSync(Labelled, { onExcessProperty: "error" })(
        parse(readFileSync(new URL(name, directory), "utf8"))
      )
      if (labelled.label !== label || (label === "hostile") !== (labelled.threat !== undefined))
        throw new Error(`${id} is in the wrong folder, or has a threat that it should not, or none`)
      yield {
        ...labelled,
        id,
        archive: archiveOf(labelled.files, labelled.archive),
        previousArchive: labelled.previous === undefined ? undefined : archiveOf(labelled.previous)
      }
    }
  }
}
