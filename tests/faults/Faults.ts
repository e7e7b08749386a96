/**
 * A storm over a cluster: `node tests/faults/Faults.ts [--seed N] [--runs 200]
 * [--accounts 50] [--nodes 3] [--hosts 2] [--kills 1]`. Ends with 0 when
 * everything held, with 1 and what did not otherwise, within 10 minutes.
 */
import { startEmbeddedServer } from "@quickagents/platform/testing/server"
import { randomInt } from "node:crypto"
import { parseArgs } from "node:util"
import { storm } from "./Storm.ts"

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    runs: { type: "string", default: "200" },
    accounts: { type: "string", default: "50" },
    nodes: { type: "string", default: "3" },
    hosts: { type: "string", default: "2" },
    kills: { type: "string", default: "1" }
  }
})
const whole = (name: string, text: string) => {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} takes a whole number from 1`)
  return value
}
const seed = values.seed === undefined ? randomInt(1, 1_000_000) : whole("seed", values.seed)
const server = await startEmbeddedServer({ durable: false })
console.log(`seed ${seed}`)
try {
  const report = await storm({
    postgres: server.url,
    seed,
    runs: whole("runs", values.runs),
    accounts: whole("accounts", values.accounts),
    nodes: whole("nodes", values.nodes),
    hosts: whole("hosts", values.hosts),
    kills: whole("kills", values.kills),
    longOutage: true,
    seconds: 540,
    say: (line) => console.log(line)
  })
  const { violations, ...told } = report
  console.log(JSON.stringify(told, null, 2))
  if (violations.length > 0) {
    console.error(`seed ${seed}: ${violations.length} violations\n${violations.join("\n")}`)
    process.exitCode = 1
  } else
    console.log(
      `seed ${seed}: every run ended once, every hold was booked once, the books add up, no output is lost, nobody had two active runs`
    )
} finally {
  await server.stop()
}
