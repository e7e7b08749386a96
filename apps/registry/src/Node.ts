/** A registry node: what it is made of, from the bottom up. */
import {
  AbuseReports,
  AdmissionServiceLive,
  Advisories,
  Agents,
  AgentsSql,
  Forks,
  Grants,
  Installs,
  migrations as catalogMigrations,
  Reviews,
  ReviewsSql,
  Search,
  Transfers,
  Versions
} from "@quickagents/catalog"
import {
  Accounts,
  emailVerification,
  layer as IdentityLive,
  migrations as identityMigrations
} from "@quickagents/identity"
import { Domains, memberships, migrations as orgsMigrations, OrgLife, Orgs, Teams } from "@quickagents/orgs"
import {
  Audit,
  Authority,
  Database,
  migrations as platformMigrations,
  Notifications,
  RateLimits,
  Settings
} from "@quickagents/platform"
import {
  HostEntityLive,
  HostKeeper,
  Hosts,
  HostsSql,
  HostTransport,
  Ledger,
  LedgerEntityLive,
  LedgerSql,
  migrations as runsMigrations,
  RunEntityLive,
  RunModel,
  Runs,
  RunsSql
} from "@quickagents/runs"
import {
  JudgeLive,
  LogSql,
  migrations as scanMigrations,
  RulesetReleases,
  RulesetReleasesSql,
  ScanEntityLive,
  ScanStarterLive,
  SigningKeys,
  TransparencyLog
} from "@quickagents/scan"
import { NodeHttpClient, NodeServices } from "@effect/platform-node"
import { Effect, Layer, Redacted } from "effect"
import { ClusterLive } from "./Cluster.ts"
import { HttpLive } from "./Http.ts"
import { CoreJobs, RunJobs } from "./Jobs.ts"
import { KeyServiceLive, ObjectStoreLive } from "./Storage.ts"

export const migrations: Database.Migrations = {
  ...platformMigrations,
  ...identityMigrations,
  ...orgsMigrations,
  ...catalogMigrations,
  ...scanMigrations,
  ...runsMigrations
}

const DatabaseLive = Layer.unwrap(
  Effect.map(Settings.Settings, (settings) =>
    Database.layer({
      url: Redacted.make(settings["database.url"]),
      maxConnections: settings["database.maxConnections"],
      applicationName: "registry",
      migrations
    })
  )
)

/**
 * Before the first entry: what a daily job makes is missing where nobody was there for a month, and a
 * month whose entries stand in no partition of their own could never be dropped.
 */
const AuditPartitions = Layer.effectDiscard(Audit.maintainAuditPartitions(0))

/** What every capability needs. */
const Platform = Layer.mergeAll(
  Audit.Audit.layer,
  RateLimits.layer,
  Notifications.layer,
  Authority.layer,
  ObjectStoreLive,
  KeyServiceLive
).pipe(
  Layer.provideMerge(AuditPartitions),
  Layer.provideMerge(DatabaseLive),
  Layer.provideMerge(Layer.mergeAll(NodeServices.layer, NodeHttpClient.layerUndici))
)

const Identity = Layer.mergeAll(Orgs.layer, OrgLife.layer, Teams.layer, Domains.layer, emailVerification).pipe(
  Layer.provideMerge(IdentityLive),
  Layer.provideMerge(memberships)
)

const Catalog = Layer.mergeAll(
  Reviews.layer,
  Installs.layer,
  Grants.layer,
  Search.layer,
  Advisories.layer,
  AbuseReports.layer,
  Forks.layer,
  Transfers.layer
).pipe(
  Layer.provideMerge(Layer.mergeAll(Versions.layer, ReviewsSql.layer)),
  Layer.provideMerge(Agents.layer),
  Layer.provideMerge(Layer.mergeAll(AgentsSql.layer, ScanStarterLive, AdmissionServiceLive))
)

const Scan = Layer.mergeAll(
  SigningKeys.layer,
  JudgeLive,
  Layer.provideMerge(RulesetReleases.layer, RulesetReleasesSql.layer)
)

const Log = TransparencyLog.layer.pipe(Layer.provideMerge(LogSql.layer))

const RunsServices = Layer.mergeAll(Runs.layer, Hosts.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Ledger.layer, RunModel.layer, HostTransport.layer)),
  Layer.provideMerge(Layer.mergeAll(RunsSql.layer, HostsSql.layer, LedgerSql.layer))
)

const Entities = Layer.mergeAll(ScanEntityLive, LedgerEntityLive, RunEntityLive, HostEntityLive)

/** The account of a sign-in provider is known by its id: another id would be other people. Spec: AUTH-026. */
const ProviderUnchanged = Layer.effectDiscard(Effect.flatMap(Accounts, (accounts) => accounts.assertProviderUnchanged))

/** Everything a node does: it serves, it takes its share of the entities, it runs its share of the jobs. */
export const RegistryNode = Layer.mergeAll(HttpLive, Entities, HostKeeper, CoreJobs, RunJobs, ProviderUnchanged).pipe(
  Layer.provide(RunsServices),
  Layer.provide(Log),
  Layer.provide(Catalog),
  Layer.provide(Scan),
  Layer.provide(ClusterLive),
  Layer.provide(Identity),
  Layer.provide(Platform)
)
