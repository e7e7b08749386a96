import { defaultArchiveLimits } from "@quickagents/archive"
import { archiveOf, entry } from "@quickagents/archive/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { archiveStage } from "./S1Archive.ts"

const file = entry({ name: "a.txt", data: "a" })

describe("an unsafe archive", () => {
  it.effect("is blocked by S1 with a critical finding, and no later stage gets a package", () =>
    Effect.gen(function* () {
      const { result, pkg } = yield* archiveStage(
        archiveOf(entry({ name: "../evil" }), file, file),
        defaultArchiveLimits
      )
      expect(pkg).toBeUndefined()
      expect(result.status).toBe("findings")
      expect(result.findings.map(({ rule, severity }) => [rule, severity])).toEqual([
        ["parent-path", "critical"],
        ["duplicate-name", "critical"]
      ])
    })
  )
})
