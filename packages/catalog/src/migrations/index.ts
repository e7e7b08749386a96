import type { Database } from "@quickagents/platform"
import catalog from "./2026112130_catalog.ts"
import lifecycle from "./2026112160_lifecycle.ts"
import search from "./2026112170_search.ts"
import searchFacets from "./2026112270_search_facets.ts"

export const migrations: Database.Migrations = {
  "2026112130_catalog": catalog,
  "2026112160_lifecycle": lifecycle,
  "2026112170_search": search,
  "2026112270_search_facets": searchFacets
}
