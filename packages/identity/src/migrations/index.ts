import type { Database } from "@quickagents/platform"
import identity from "./2026112110_identity.ts"

export const migrations: Database.Migrations = { "2026112110_identity": identity }
