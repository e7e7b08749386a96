import type { Database } from "@quickagents/platform"
import runs from "./2026112150_runs.ts"

export const migrations: Database.Migrations = { "2026112150_runs": runs }
