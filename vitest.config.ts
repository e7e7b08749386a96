import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["{schema,packages/*,apps/*}/src/**/*.test.ts", "tests/**/*.test.ts", "scripts/**/*.test.ts"],
    globalSetup: ["packages/platform/src/testing/globalSetup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    silent: "passed-only"
  }
})
