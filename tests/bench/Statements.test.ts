/** Bounds on the statements of a request: a loop of queries or a look too many is a regression that no slow machine hides. */
import { expect, inject, it } from "vitest"
import { statementCounts } from "./StatementCounts.ts"

/** Each with its one statement that finds the caller. */
const atMost: Readonly<Record<string, number>> = {
  "POST /x/runs/": 6,
  "GET /agents": 2,
  "GET /agents/{ns}/{name}": 2,
  "GET /agents/{ns}/{name}/versions/{version}": 2,
  "GET /agents/{ns}/{name}/archives/{digest}": 2,
  "POST /x/runs/inputs": 2,
  "GET /x/runs/": 2,
  "GET /x/runs/{id}": 2,
  "GET /x/runs/{id}/outputs/output.tar": 2,
  "GET /x/runs/status": 5
}

it("the most used routes and a run's life take no more statements than they need", { timeout: 60_000 }, async () => {
  const { idlePerSecond, routes, runLife } = await statementCounts(inject("postgresUrl"))
  expect(Object.keys(routes).toSorted()).toEqual(Object.keys(atMost).toSorted())
  // A route that looks nothing up at all is one that the counter does not see.
  expect(Object.entries(routes).filter(([, count]) => count === 0)).toEqual([])
  expect(Object.entries(routes).filter(([route, count]) => count > atMost[route])).toEqual([])
  expect(runLife).toBeGreaterThan(10)
  expect(runLife).toBeLessThanOrEqual(36)
  // About 11, and more when the jobs of a minute fall into the seconds that are counted.
  expect(idlePerSecond).toBeLessThanOrEqual(25)
})
