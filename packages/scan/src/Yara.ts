/** The malware rules of the ruleset, compiled once a process. */
import { Compiler, initSync } from "@virustotal/yara-x"
import type { Rules } from "@virustotal/yara-x"
import { Schema } from "effect"
import { readFileSync } from "node:fs"
import { digestOf } from "@quickagents/archive"

const source = readFileSync(new URL("./rules/malware.yar", import.meta.url), "utf8")

/** Names the rules that a report was decided with. */
export const yaraRulesHash = digestOf(source)

const ScanAnswer = Schema.Struct({ matches: Schema.Array(Schema.Struct({ identifier: Schema.String })) })
const decodeAnswer = Schema.decodeUnknownSync(ScanAnswer)

let compiled: Rules | undefined

const rules = (): Rules => {
  if (compiled === undefined) {
    initSync({ module: readFileSync(new URL("yara_x_js_bg.wasm", import.meta.resolve("@virustotal/yara-x"))) })
    const compiler = new Compiler()
    compiler.addSource(source)
    compiled = compiler.build()
  }
  return compiled
}

/** Names of the rules that `bytes` match. */
export const yaraScan = (bytes: Uint8Array): ReadonlyArray<string> =>
  decodeAnswer(rules().scan(bytes)).matches.map((match) => match.identifier)
