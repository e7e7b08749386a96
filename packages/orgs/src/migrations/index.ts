import type { Database } from "@quickagents/platform"
import orgs from "./2026112120_orgs.ts"
import organizations from "./2026112230_organizations.ts"
import subscriptions from "./2026112290_subscriptions.ts"

export const migrations: Database.Migrations = {
  "2026112120_orgs": orgs,
  "2026112230_organizations": organizations,
  "2026112290_subscriptions": subscriptions
}
