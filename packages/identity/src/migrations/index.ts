import type { Database } from "@quickagents/platform"
import identity from "./2026112110_identity.ts"
import sshKeys from "./2026112210_ssh_keys.ts"
import codes from "./2026112231_codes.ts"

export const migrations: Database.Migrations = {
  "2026112110_identity": identity,
  "2026112210_ssh_keys": sshKeys,
  "2026112231_codes": codes
}
