/** `npm run test:hostile -- [seed] [requests]`: as the test, with 10,000 requests and a report. */
import { startEmbeddedServer } from "@quickagents/platform/testing/server"
import { startStack } from "../stack/Stack.ts"
import { runHostile } from "./Hostile.ts"

const [seed = "1", requests = "10000"] = process.argv.slice(2)
const postgres = await startEmbeddedServer({ durable: false })
let failed = true
try {
  const stack = await startStack({ postgres: postgres.url })
  try {
    const started = performance.now()
    const { byStatus, failures, operations, sent } = await runHostile(stack, {
      seed: Number(seed),
      requests: Number(requests)
    })
    console.log(
      `seed ${seed}: ${sent} requests over ${operations} operations in ${((performance.now() - started) / 1000).toFixed(1)} s`
    )
    console.log(
      Object.entries(byStatus)
        .map(([status, count]) => `${status}: ${count}`)
        .join(", ")
    )
    failures.slice(0, 20).forEach((failure) => console.log(`- ${failure}`))
    console.log(failures.length === 0 ? "nothing went wrong" : `${failures.length} went wrong`)
    failed = failures.length > 0
  } finally {
    await stack.stop()
  }
} finally {
  await postgres.stop()
}
process.exit(failed ? 1 : 0)
