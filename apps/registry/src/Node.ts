/** A registry node: what it is made of, from the bottom up. */
import { Agents, AgentsSql, Installs, migrations as catalogMigrations, Search, Versions } from "@quickagents/catalog"
import { Accounts, layer as IdentityLive, migrations as identityMigrations } from "@quickagents/identity"
import { memberships, migrations as orgsMigrations, Orgs } from "@quickagents/orgs"
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

/** What every capability needs. */
const Platform = Layer.mergeAll(
  Audit.Audit.layer,
  RateLimits.layer,
  Notifications.layer,
  Authority.layer,
  ObjectStoreLive,
  KeyServiceLive
).pipe(
  Layer.provideMerge(DatabaseLive),
  Layer.provideMerge(Layer.mergeAll(NodeServices.layer, NodeHttpClient.layerUndici))
)

const Identity = Layer.mergeAll(Orgs.layer).pipe(Layer.provideMerge(IdentityLive), Layer.provideMerge(memberships))

const Catalog = Layer.mergeAll(Versions.layer, Installs.layer, Search.layer).pipe(
  Layer.provideMerge(Agents.layer),
  Layer.provideMerge(Layer.mergeAll(AgentsSql.layer, ScanStarterLive))
)

const Scan = Layer.mergeAll(SigningKeys.layer, JudgeLive)

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
