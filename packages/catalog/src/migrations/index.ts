import type { Database } from "@quickagents/platform"
import catalog from "./2026112130_catalog.ts"
import govern from "./2026112240_govern.ts"
import lifecycle from "./2026112160_lifecycle.ts"
import mcpPackages from "./2026112245_mcp_packages.ts"
import search from "./2026112170_search.ts"
import reading from "./2026112281_reading.ts"
import searchNarrow from "./2026112400_search_narrow.ts"
import searchStems from "./2026112403_search_stems.ts"
import searchFacets from "./2026112270_search_facets.ts"
import forks from "./2026112220_forks.ts"
import teamGrants from "./2026112232_team_grants.ts"

export const migrations: Database.Migrations = {
  "2026112130_catalog": catalog,
  "2026112160_lifecycle": lifecycle,
  "2026112170_search": search,
  "2026112220_forks": forks,
  "2026112232_team_grants": teamGrants,
  "2026112240_govern": govern,
  "2026112245_mcp_packages": mcpPackages,
  "2026112270_search_facets": searchFacets,
  "2026112281_reading": reading,
  "2026112400_search_narrow": searchNarrow,
  "2026112403_search_stems": searchStems
}
