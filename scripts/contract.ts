/**
 * `npm run contract` writes the documents that are generated from `schema/src`;
 * with `--check` it writes nothing and fails when they are stale. Both fail
 * when the contract leaves something unsaid or takes something back.
 */
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Api } from "@quickagents/schema"
import { manifestJsonSchema } from "@quickagents/schema/jsonSchema"
import { toOpenApi } from "@quickagents/schema/openapi"
import { parse, stringify } from "yaml"
import { takenBack } from "./AdditiveGate.ts"
import { contractFaults, undescribedMembers } from "./ContractRules.ts"

const root = join(import.meta.dirname, "..")
const openapiFile = "schema/openapi.yaml"
const manifestFile = "schema/agent.schema.json"
const check = process.argv.includes("--check")

const faults: Array<string> = []

const git = (...args: ReadonlyArray<string>) => {
  const { error, status, stdout } = spawnSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 })
  if (error !== undefined)
    throw new Error(`git is needed to compare the contract with the last commit: ${error.message}`)
  return status === 0 ? stdout : undefined
}

/** The promise that this tree must keep: the last committed document, or its predecessor once this one is committed. */
const promised = (text: string) =>
  ["HEAD", "HEAD~1"]
    .map((commit) => git("show", `${commit}:${openapiFile}`))
    .find((committed) => committed !== undefined && committed !== text)

const document = toOpenApi(Api)
const manifest = manifestJsonSchema()
const generated = [
  [openapiFile, stringify(document, { aliasDuplicateObjects: false, lineWidth: 0 })],
  [manifestFile, `${JSON.stringify(manifest, null, 2)}\n`]
] as const

for (const [file, text] of generated) {
  const path = join(root, file)
  if (!check) writeFileSync(path, text)
  else if (!existsSync(path)) faults.push(`${file} is missing: run npm run contract`)
  else if (readFileSync(path, "utf8") !== text) faults.push(`${file} is stale: run npm run contract`)
}

faults.push(...contractFaults(document))
faults.push(...undescribedMembers(manifest).map((member) => `${manifestFile}: ${member} has no description`))

const before = promised(generated[0][1])
if (before !== undefined) {
  faults.push(...takenBack(parse(before), document).map((loss) => `not additive: ${loss}`))
}

if (existsSync(join(root, openapiFile))) {
  const lint = spawnSync("redocly", ["lint", openapiFile], {
    cwd: root,
    encoding: "utf8",
    env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true", NO_COLOR: "1" }
  })
  if (lint.error !== undefined) throw lint.error
  if (lint.status !== 0) faults.push(`redocly refuses ${openapiFile}:\n${lint.stdout}${lint.stderr}`)
}

for (const fault of faults) console.error(fault)
const operations = Object.values(document.paths).flatMap((item) => Object.keys(item)).length
console.log(
  faults.length > 0
    ? `contract: ${faults.length} faults`
    : `contract: ${operations} operations, ${before === undefined ? "nothing older to compare with" : "additive"}`
)
process.exitCode = faults.length > 0 ? 1 : 0
