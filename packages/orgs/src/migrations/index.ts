import type { Database } from "@quickagents/platform"
import orgs from "./2026112120_orgs.ts"

export const migrations: Database.Migrations = { "2026112120_orgs": orgs }
