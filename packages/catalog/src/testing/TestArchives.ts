/** Release archives for tests. */
import { archiveOf as archiveOfParts, entry } from "@quickagents/archive/testing"
import type { RawEntry } from "@quickagents/archive/testing"
import { createHash } from "node:crypto"

export const packed = (...entries: ReadonlyArray<RawEntry>): Buffer => archiveOfParts(...entries.map(entry))

export const manifestOf = (name: string, version: string) =>
  ({ schemaVersion: 2, name, version, description: "Does it.", modes: ["autonomous"] }) as const

/** A sound release of `ns/name`; other `text` makes other bytes. */
export const archiveOf = (name: string, version: string, text = "Do it."): Buffer =>
  packed({ name: "AGENT.md", data: text }, { name: "agent.yaml", data: JSON.stringify(manifestOf(name, version)) })

export const digestOf = (bytes: Uint8Array): `sha256:${string}` =>
  `sha256:${createHash("sha256").update(bytes).digest("hex")}`
