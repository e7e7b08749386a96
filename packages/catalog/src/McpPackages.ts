/** What is known of the packages that agents' MCP servers start from. Spec: Registry core routes. */
import { pageOf } from "@quickagents/platform"
import type { Page } from "@quickagents/platform"
import { NotFound } from "@quickagents/schema"
import type { Account, DependencyAlert, McpPackageScan } from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import { readerOf } from "./AgentsPolicy.ts"
import type { AlertRow, McpPackage } from "./McpPackagesSql.ts"
import { McpPackagesSql } from "./McpPackagesSql.ts"

const alertRecord = (row: AlertRow): DependencyAlert => ({
  id: row.id,
  namespace: row.namespace,
  name: row.name,
  version: row.version,
  package: { ecosystem: row.ecosystem, name: row.package, version: row.packageVersion },
  vulnerability: { id: row.vulnerability, severity: row.severity },
  openedAt: row.openedAt.toISOString()
})

export class McpPackages extends Context.Service<
  McpPackages,
  {
    /** `NotFound` also when only agents that the viewer may not read declare it. */
    readonly lastCheck: (viewer: Account | null, pkg: McpPackage) => Effect.Effect<McpPackageScan, NotFound>
    /** Open alerts on versions that the actor submitted, of agents that it may still read; of private ones only with `agent:read`. */
    readonly alerts: (
      actor: Account,
      page: { readonly offset?: number; readonly limit?: number }
    ) => Effect.Effect<Page<DependencyAlert>>
  }
>()("catalog/McpPackages") {
  static readonly layer = Layer.effect(
    McpPackages,
    Effect.gen(function* () {
      const rows = yield* McpPackagesSql
      return McpPackages.of({
        lastCheck: Effect.fnUntraced(function* (viewer, pkg) {
          const { accountId, privateToo } = readerOf(viewer)
          const known = yield* Effect.orDie(rows.lastCheck(pkg, accountId, privateToo))
          if (known === null) return yield* new NotFound({})
          return {
            ecosystem: known.ecosystem,
            package: known.name,
            version: known.version,
            checkedAt: known.checkedAt?.toISOString() ?? null,
            vulnerabilities: known.vulnerabilities
          }
        }),
        alerts: Effect.fnUntraced(function* (actor, asked) {
          const { page, rows: found } = yield* pageOf(asked, { max: 100, standard: 50 }, (offset, limit) =>
            Effect.orDie(rows.openAlerts(actor.accountId, readerOf(actor).privateToo, offset, limit))
          )
          return { items: found.map(alertRecord), ...page }
        })
      })
    })
  ).pipe(Layer.provide(McpPackagesSql.layer))
}
