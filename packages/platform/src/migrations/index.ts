import type { Migrations } from "../Database.ts"
import platform from "./2026112101_platform.ts"

export const migrations: Migrations = { "2026112101_platform": platform }
