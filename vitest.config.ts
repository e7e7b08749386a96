import { join } from "node:path"
import { defineConfig } from "vitest/config"
import { BaseSequencer } from "vitest/node"
import type { TestSpecification } from "vitest/node"

// Workers and the programs that tests start load the same modules again and again: they compile them once.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled")

/** Files that take a good part of a minute start first: none of them is waited for when all others have ended. */
const longest = ["tests/faults/", "tests/acceptance/Git.", "tests/acceptance/", "tests/"]
const rank = ({ moduleId }: TestSpecification) => {
  const found = longest.findIndex((path) => moduleId.includes(`/${path}`))
  return found === -1 ? longest.length : found
}

class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    // oxlint-disable-next-line unicorn/no-array-sort -- the sequencer's own
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
  }
}

export default defineConfig({
  test: {
    globalSetup: ["packages/platform/src/testing/globalSetup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    silent: "passed-only",
    maxWorkers: 2,
    // Test files change nothing that outlives them, so a worker loads the program once for all of its files.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "all",
          include: ["{schema,packages/*,apps/*}/src/**/*.test.ts", "{tests,scripts}/**/*.test.ts"],
          exclude: ["**/node_modules/**", "tests/pages/**"]
        }
      },
      // They drive a browser, and have a script of their own.
      { extends: true, test: { name: "pages", include: ["tests/pages/**/*.test.ts"] } }
    ]
  }
})
