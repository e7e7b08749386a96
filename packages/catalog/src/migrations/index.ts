import type { Database } from "@quickagents/platform"
import catalog from "./2026112130_catalog.ts"

export const migrations: Database.Migrations = { "2026112130_catalog": catalog }
