/**
 * The whole REST contract. `CoreApi` is a registry without extensions; `Api`
 * adds hosted runs. The OpenAPI document and the typed clients are derived
 * from these values.
 */
import { HttpApi, OpenApi } from "effect/http-api"
import { AbuseReportsGroup } from "./http/AbuseReports.ts"
import { AdvisoriesGroup } from "./http/Advisories.ts"
import { AgentChangesGroup, AgentReadsGroup } from "./http/Agents.ts"
import { PlatformAuditGroup } from "./http/Audit.ts"
import { CreditsGroup } from "./http/Credits.ts"
import { DomainOrgGroup, DomainsGroup } from "./http/Domains.ts"
import { GrantsGroup } from "./http/Grants.ts"
import { HostEnrolGroup, StaffHostsGroup } from "./http/Hosts.ts"
import { AuthGroup, UserGroup } from "./http/Identity.ts"
import { InstallsGroup } from "./http/Installs.ts"
import { DependencyAlertsGroup, McpServersGroup } from "./http/McpServers.ts"
import { LogGroup } from "./http/Log.ts"
import { MetaGroup, WellKnownGroup } from "./http/Meta.ts"
import { OrgsGroup } from "./http/Orgs.ts"
import { PlatformGroup } from "./http/Platform.ts"
import { DisputesGroup, ReviewGroup } from "./http/Review.ts"
import { RescansGroup, RulesetReleasesGroup } from "./http/RulesetReleases.ts"
import { SearchGroup } from "./http/Search.ts"
import { TeamsGroup } from "./http/Teams.ts"
import { RunsGroup, RunsStatusGroup } from "./http/Runs.ts"

const annotations = OpenApi.annotations({
  title: "QuickAgents registry",
  version: "1.0.0",
  description: "A registry of QuickAgents, versioned AI-agent packages, with a publication scan gate and hosted runs."
})

export class CoreApi extends HttpApi.make("registry")
  .add(MetaGroup)
  .add(WellKnownGroup)
  .add(AuthGroup)
  .add(UserGroup)
  .add(OrgsGroup)
  .add(TeamsGroup)
  .add(DomainsGroup)
  .add(DomainOrgGroup)
  .add(SearchGroup)
  .add(AgentReadsGroup)
  .add(AgentChangesGroup)
  .add(LogGroup)
  .add(GrantsGroup)
  .add(InstallsGroup)
  .add(McpServersGroup)
  .add(DependencyAlertsGroup)
  .add(ReviewGroup)
  .add(DisputesGroup)
  .add(AdvisoriesGroup)
  .add(AbuseReportsGroup)
  .add(PlatformGroup)
  .add(RulesetReleasesGroup)
  .add(RescansGroup)
  .add(PlatformAuditGroup)
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotateMerge(annotations) {}

export class Api extends HttpApi.make("registry")
  .addHttpApi(CoreApi)
  .add(CreditsGroup)
  .add(RunsStatusGroup)
  .add(RunsGroup)
  .add(HostEnrolGroup)
  .add(StaffHostsGroup)
  .annotate(HttpApi.ParseOptions, { errors: "all" })
  .annotateMerge(annotations) {}
