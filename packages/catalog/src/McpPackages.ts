/** What is known of the packages that agents' MCP servers start from. Spec: Registry core routes. */
import { clamp, clampOffset, NotFound } from "@quickagents/schema"
import type { Account, DependencyAlert, McpPackageScan } from "@quickagents/schema"
import { Context, Effect, Layer } from "effect"
import type { AlertRow, McpPackage } from "./McpPackagesSql.ts"
import { McpPackagesSql } from "./McpPackagesSql.ts"

const readsPrivate = ({ scopes }: Account) => scopes === "all" || scopes.has("agent:read")

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
    ) => Effect.Effect<{
      readonly items: ReadonlyArray<DependencyAlert>
      readonly total: number
      readonly offset: number
      readonly limit: number
    }>
  }
>()("catalog/McpPackages") {
  static readonly layer = Layer.effect(
    McpPackages,
    Effect.gen(function* () {
      const rows = yield* McpPackagesSql
      return McpPackages.of({
        lastCheck: Effect.fnUntraced(function* (viewer, pkg) {
          const known = yield* Effect.orDie(
            rows.lastCheck(pkg, viewer?.accountId ?? null, viewer !== null && readsPrivate(viewer))
          )
          if (known === null) return yield* new NotFound({})
          return {
            ecosystem: known.ecosystem,
            package: known.name,
            version: known.version,
            checkedAt: known.checkedAt?.toISOString() ?? null,
            vulnerabilities: known.vulnerabilities
          }
        }),
        alerts: Effect.fnUntraced(function* (actor, page) {
          const [offset, limit] = [clampOffset(page.offset), clamp(page.limit, 100, 50)]
          const of = (offset: number, limit: number) =>
            Effect.orDie(rows.openAlerts(actor.accountId, readsPrivate(actor), offset, limit))
          const found = yield* of(offset, limit)
          // A page past the end has no row that could tell the total.
          const [counted] = found.length > 0 || offset === 0 ? found : yield* of(0, 1)
          return { items: found.map(alertRecord), total: counted?.total ?? 0, offset, limit }
        })
      })
    })
  ).pipe(Layer.provide(McpPackagesSql.layer))
}
