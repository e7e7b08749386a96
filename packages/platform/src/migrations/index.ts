import type { Migrations } from "../Database.ts"
import auditActor from "./2026112402_audit_actor.ts"
import platform from "./2026112101_platform.ts"

export const migrations: Migrations = { "2026112101_platform": platform, "2026112402_audit_actor": auditActor }
