import { join } from "node:path"
import { defineConfig } from "vitest/config"

// Workers and the programs that tests start load the same modules again and again: they compile them once.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/compiled")

export default defineConfig({
  test: {
    globalSetup: ["packages/platform/src/testing/globalSetup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    silent: "passed-only",
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        // They change nothing that outlives them, so a worker loads the program once for all of its files.
        test: { name: "packages", include: ["{schema,packages/*}/src/**/*.test.ts"], isolate: false }
      },
      {
        extends: true,
        test: {
          name: "programs",
          isolate: false,
          include: ["apps/*/src/**/*.test.ts", "tests/**/*.test.ts", "scripts/**/*.test.ts"]
        }
      }
    ]
  }
})
