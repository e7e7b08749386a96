/**
 * What an account has installed: a version with the consent it was given, and
 * stars. Spec: Other records, Account install; Errors, registry core.
 */
import { Audit, Database, pageOf } from "@quickagents/platform"
import type { Page } from "@quickagents/platform"
import {
  Blocked,
  capabilityList,
  InstallConsentRequired,
  NotFound,
  VersionNotPublished,
  VersionQuarantined
} from "@quickagents/schema"
import type { Account, Install, Manifest, PutInstall, Severity, Validation, VersionStatus } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Agents } from "./Agents.ts"
import { affecting, AgentsSql } from "./AgentsSql.ts"
import type { PublishedAdvisory } from "./AgentsSql.ts"
import { versionMeant } from "./VersionRanges.ts"
import { warningsOf } from "./Versions.ts"

interface Row {
  readonly ref: string
  readonly readable: boolean
  readonly version: string
  readonly status: VersionStatus
  readonly scanStatus: "pending" | "scanned" | "skipped"
  readonly manifest: Manifest | null
  readonly signed: boolean
  readonly findingCounts: Record<typeof Severity.Type, number> | null
  readonly acceptedUnsigned: boolean
  readonly acceptedUnscanned: boolean
  readonly latestVersion: string | null
  readonly advisories: ReadonlyArray<PublishedAdvisory> | null
  readonly installedAt: Date
  readonly updatedAt: Date
  readonly total: number
}

const quarantineStates: Readonly<Record<VersionStatus, "none" | "quarantined" | "blocked" | "yanked">> = {
  scanning: "none",
  needs_review: "none",
  published: "none",
  quarantined: "quarantined",
  blocked: "blocked",
  yanked: "yanked"
}

const recordOf = (row: Row): Install =>
  row.readable
    ? {
        ref: row.ref,
        readable: true,
        installedVersion: row.version,
        capabilities: row.manifest?.capabilities ?? null,
        acceptedUnsigned: row.acceptedUnsigned,
        acceptedUnscanned: row.acceptedUnscanned,
        latestVersion: row.latestVersion,
        ...(row.scanStatus === "pending"
          ? {}
          : { verdict: row.scanStatus === "scanned" ? ("scanned" as const) : ("unscanned" as const) }),
        ...(row.scanStatus === "scanned" && row.findingCounts !== null ? { findingCounts: row.findingCounts } : {}),
        ...affecting(row.advisories, row.version),
        signed: row.signed,
        quarantineState: quarantineStates[row.status],
        warnings: warningsOf(row.status),
        installedAt: row.installedAt.toISOString(),
        updatedAt: row.updatedAt.toISOString()
      }
    : { ref: row.ref, readable: false }

export class Installs extends Context.Service<
  Installs,
  {
    readonly list: (
      actor: Account,
      page: { readonly offset?: number; readonly limit?: number }
    ) => Effect.Effect<Page<Install>>
    /** Installs or changes the version; everything that it may do must be accepted by name. */
    readonly put: (
      actor: Account,
      ns: string,
      name: string,
      request: PutInstall
    ) => Effect.Effect<
      Install,
      NotFound | VersionNotPublished | VersionQuarantined | Blocked | InstallConsentRequired | Validation
    >
    readonly remove: (actor: Account, ns: string, name: string) => Effect.Effect<void>
    readonly star: (actor: Account, ns: string, name: string) => Effect.Effect<void, NotFound>
    readonly unstar: (actor: Account, ns: string, name: string) => Effect.Effect<void>
  }
>()("catalog/Installs") {
  static readonly layer = Layer.effect(
    Installs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const agents = yield* Agents
      const rows = yield* AgentsSql
      const audit = yield* Audit.Audit
      const transaction = Database.transaction(sql)
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
      const note = (actor: Account, action: string, target: string, detail: Record<string, unknown>) =>
        audit.record({ actor: { type: "account", id: actor.accountId, handle: actor.handle }, action, target, detail })

      const select = (accountId: string, agentId: string | null, offset: number, limit: number) =>
        Effect.orDie(sql<Row>`
          SELECT CASE WHEN shown.readable THEN a.namespace || '/' || a.name ELSE ${rows.nameAt("i.updated_at")} END AS ref, shown.readable, v.version, v.status, v.scan_status, v.manifest,
            v.attestation IS NOT NULL AS signed, v.finding_counts, i.accepted_unsigned, i.accepted_unscanned, i.installed_at, i.updated_at,
            (SELECT version FROM versions l WHERE l.agent_id = a.id AND l.status = 'published' ORDER BY l.published_at DESC, l.id DESC LIMIT 1) AS latest_version,
            ${rows.advisories}, count(*) OVER ()::integer AS total
          FROM installs i JOIN agents a ON a.id = i.agent_id JOIN versions v ON v.id = i.version_id
            CROSS JOIN LATERAL (SELECT a.deleted_at IS NULL AND ${rows.readableBy(accountId)} AS readable) shown
          WHERE i.account_id = ${accountId} AND (${agentId}::text IS NULL OR i.agent_id = ${agentId})
          ORDER BY i.updated_at DESC, i.agent_id LIMIT ${limit} OFFSET ${offset}`)

      const installedCapabilities = (accountId: string, agentId: string) =>
        Effect.orDie(sql<{ manifest: Manifest | null }>`
          SELECT v.manifest FROM installs i JOIN versions v ON v.id = i.version_id WHERE i.account_id = ${accountId} AND i.agent_id = ${agentId}`).pipe(
          Effect.map(([row]) => (row === undefined ? null : capabilityList(row.manifest?.capabilities ?? {})))
        )

      return Installs.of({
        list: Effect.fnUntraced(function* (actor, asked) {
          const { page, rows } = yield* pageOf(asked, { max: 100, standard: 50 }, (offset, limit) =>
            select(actor.accountId, null, offset, limit)
          )
          return { items: rows.map(recordOf), ...page }
        }),
        put: Effect.fnUntraced(function* (actor, ns, name, request) {
          const { agent } = yield* agents.seen(actor, ns, name)
          const meant = yield* versionMeant(rows, ns, name, request.version, { pointer: "/version", where: "body" })
          const version = meant === undefined ? null : yield* Effect.orDie(rows.version(ns, name, meant))
          if (version === null) return yield* new NotFound({})
          if (version.status === "blocked") return yield* new Blocked({})
          if (version.status === "quarantined") return yield* new VersionQuarantined({})
          // An exact pin of a yanked version is somebody's choice; one that was never published is nobody's.
          if (version.status !== "published" && version.status !== "yanked") {
            return yield* new VersionNotPublished({ versionStatus: version.status })
          }
          const asked = capabilityList(version.manifest?.capabilities ?? {})
          const accepted = new Set(request.acceptCapabilities)
          const before = yield* installedCapabilities(actor.accountId, agent.id)
          const unsigned = !version.signed && request.acceptUnsigned !== true
          const unscanned = version.scanStatus !== "scanned" && request.acceptUnscanned !== true
          const missing = [
            ...asked.filter((capability) => !accepted.has(capability)),
            ...(unsigned ? ["unsigned"] : []),
            ...(unscanned ? ["unscanned"] : [])
          ]
          if (missing.length > 0) {
            return yield* new InstallConsentRequired({
              detail: `Accept what ${agent.namespace}/${agent.name}@${version.version} may do`,
              missing,
              widened: before === null ? [] : asked.filter((capability) => !before.includes(capability))
            })
          }
          const at = yield* now
          yield* transaction(
            Effect.gen(function* () {
              yield* Effect.orDie(sql`
                INSERT INTO installs ${sql.insert({
                  accountId: actor.accountId,
                  agentId: agent.id,
                  versionId: version.id,
                  acceptedUnsigned: request.acceptUnsigned === true && !version.signed,
                  acceptedUnscanned: request.acceptUnscanned === true && version.scanStatus !== "scanned",
                  installedAt: at,
                  updatedAt: at
                })}
                ON CONFLICT (account_id, agent_id) DO UPDATE SET version_id = excluded.version_id, accepted_unsigned = excluded.accepted_unsigned,
                  accepted_unscanned = excluded.accepted_unscanned, updated_at = excluded.updated_at`)
              if (before === null)
                yield* Effect.orDie(sql`INSERT INTO install_log (agent_id, at) VALUES (${agent.id}, ${at})`)
              yield* note(actor, "agent.install", `${agent.namespace}/${agent.name}@${version.version}`, {})
            })
          )
          return recordOf((yield* select(actor.accountId, agent.id, 0, 1))[0])
        }),
        remove: Effect.fnUntraced(function* (actor, ns, name) {
          yield* transaction(
            Effect.gen(function* () {
              const removed = yield* Effect.orDie(sql`
                DELETE FROM installs WHERE account_id = ${actor.accountId} AND agent_id = ${rows.idOf(ns, name)} RETURNING 1`)
              if (removed.length > 0) yield* note(actor, "agent.uninstall", `${ns}/${name}`, {})
            })
          )
        }),
        star: Effect.fnUntraced(function* (actor, ns, name) {
          const { agent } = yield* agents.seen(actor, ns, name)
          const at = yield* now
          yield* transaction(
            Effect.gen(function* () {
              const starred = yield* Effect.orDie(
                sql`INSERT INTO agent_stars ${sql.insert({ agentId: agent.id, accountId: actor.accountId, at })} ON CONFLICT DO NOTHING RETURNING 1`
              )
              if (starred.length > 0) yield* note(actor, "agent.star", `${ns}/${name}`, {})
            })
          )
        }),
        unstar: (actor, ns, name) =>
          Effect.orDie(
            Effect.asVoid(
              sql`DELETE FROM agent_stars WHERE account_id = ${actor.accountId} AND agent_id = ${rows.idOf(ns, name)}`
            )
          )
      })
    })
  )
}
