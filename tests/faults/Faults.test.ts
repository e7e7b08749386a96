/** The storm of `Faults.ts` in a small form: each process dies once. */
import { expect, inject, it } from "vitest"
import { storm } from "./Storm.ts"

it("runs end once and are booked once while every node and every host is killed", async () => {
  const report = await storm({
    postgres: inject("postgresUrl"),
    seed: 7,
    runs: 16,
    accounts: 8,
    nodes: 2,
    hosts: 2,
    kills: 1,
    longOutage: false,
    seconds: 100,
    say: () => {}
  })
  expect(report.violations, JSON.stringify(report)).toEqual([])
  expect(report.outcomes["succeeded"]).toBeGreaterThan(0)
  expect(report.downloads).toBe(report.outcomes["succeeded"])
}, 120_000)
