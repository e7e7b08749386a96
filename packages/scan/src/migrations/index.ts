import type { Database } from "@quickagents/platform"
import scan from "./2026112140_scan.ts"

export const migrations: Database.Migrations = { "2026112140_scan": scan }
