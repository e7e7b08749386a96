import type { Database } from "@quickagents/platform"
import scan from "./2026112140_scan.ts"
import rulesetReleases from "./2026112241_ruleset_releases.ts"
import transparencyLog from "./2026112250_transparency_log.ts"
import logWake from "./2026112300_log_wake.ts"

export const migrations: Database.Migrations = {
  "2026112140_scan": scan,
  "2026112241_ruleset_releases": rulesetReleases,
  "2026112250_transparency_log": transparencyLog,
  "2026112300_log_wake": logWake
}
