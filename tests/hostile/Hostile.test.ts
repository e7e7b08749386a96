import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import type { Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"
import { runHostile } from "./Hostile.ts"

let stack: Stack
beforeAll(async () => {
  stack = await startStack({ postgres: inject("postgresUrl") })
})
afterAll(() => stack?.stop())

describe("hostile requests", () => {
  it("[ERR-001] generated over every route, they get a problem, none a 5xx, and store nothing", async () => {
    const { byStatus, failures } = await runHostile(stack, { seed: 1, requests: 1_500 })
    expect(failures.slice(0, 5)).toEqual([])
    // The generator reaches behind the first check: not only 401 and 404.
    expect(Object.keys(byStatus)).toEqual(expect.arrayContaining(["401", "403", "404", "405", "422"]))
  })
})
