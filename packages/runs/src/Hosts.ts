/** Enrolment and retirement of sandbox hosts. Spec: Endpoints, Hosted runs; Authentication. */
import { Audit, Authority, Database, newId, randomToken, Settings } from "@quickagents/platform"
import { SigningKeys } from "@quickagents/scan"
import {
  EnrolmentInvalid,
  EnrolmentNotOpen,
  HostRetired,
  invalidField,
  NotFound,
  registryUri
} from "@quickagents/schema"
import type { Account, CreateEnrolment, Enrol, Enrolled, Enrolment, Host, Validation } from "@quickagents/schema"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import type { EnrolmentRow, HostRow } from "./HostsSql.ts"
import { HostsSql } from "./HostsSql.ts"

const tokenBytes = 32
const standardSeconds = 3_600
const hashOf = (token: string) => new Uint8Array(createHash("sha256").update(token).digest())

export const hostRecord = (row: HostRow, staleSince: Date): Host => ({
  id: row.id,
  name: row.name,
  address: row.address,
  capacity: row.capacity,
  usedSlots: row.usedSlots,
  features: row.features,
  state:
    row.retiredAt !== null
      ? "retired"
      : row.seenAt === null || row.seenAt < staleSince
        ? "silent"
        : row.draining
          ? "draining"
          : "online",
  version: row.version,
  enrolledAt: row.enrolledAt.toISOString(),
  seenAt: row.seenAt?.toISOString() ?? null,
  certificateExpiresAt: row.certificateExpiresAt?.toISOString() ?? null,
  retiredAt: row.retiredAt?.toISOString() ?? null
})

const enrolmentRecord = (row: EnrolmentRow, now: Date): Enrolment => ({
  id: row.id,
  name: row.name,
  state: row.usedAt !== null ? "used" : row.revokedAt !== null ? "revoked" : row.expiresAt <= now ? "expired" : "open",
  createdAt: row.createdAt.toISOString(),
  expiresAt: row.expiresAt.toISOString(),
  hostId: row.hostId
})

export class Hosts extends Context.Service<
  Hosts,
  {
    readonly list: Effect.Effect<ReadonlyArray<Host>>
    readonly enrolments: Effect.Effect<ReadonlyArray<Enrolment>>
    /** The token is shown once and stored as a hash. */
    readonly createEnrolment: (
      actor: Account,
      request: typeof CreateEnrolment.Type
    ) => Effect.Effect<Enrolment & { readonly token: string }>
    readonly revokeEnrolment: (actor: Account, id: string) => Effect.Effect<Enrolment, NotFound | EnrolmentNotOpen>
    readonly enrol: (
      token: string,
      request: typeof Enrol.Type
    ) => Effect.Effect<typeof Enrolled.Type, EnrolmentInvalid | EnrolmentNotOpen | Validation>
    /** For good. Its runs are closed by the stale sweep. */
    readonly retire: (actor: Account, id: string) => Effect.Effect<Host, NotFound | HostRetired>
    /** Hosts taking runs now. */
    readonly online: Effect.Effect<number>
  }
>()("runs/Hosts") {
  static readonly layer = Layer.effect(
    Hosts,
    Effect.gen(function* () {
      const rows = yield* HostsSql
      const sql = yield* SqlClient.SqlClient
      const audit = yield* Audit.Audit
      const authority = yield* Authority
      const keys = yield* SigningKeys
      const settings = yield* Settings.Settings
      const now = Effect.map(Clock.currentTimeMillis, (millis) => new Date(millis))
      const staleSince = Effect.map(now, (at) => new Date(at.getTime() - settings["runs.stale"]))
      const inTransaction = Database.transaction(sql)
      const record = (actor: Account, action: string, target: string, detail?: Record<string, unknown>) =>
        audit.record({ actor: { type: "account", id: actor.accountId, handle: actor.handle }, action, target, detail })
      return Hosts.of({
        list: Effect.gen(function* () {
          const since = yield* staleSince
          return (yield* Effect.orDie(rows.list)).map((row) => hostRecord(row, since))
        }),
        enrolments: Effect.gen(function* () {
          const at = yield* now
          return (yield* Effect.orDie(rows.enrolments)).map((row) => enrolmentRecord(row, at))
        }),
        createEnrolment: Effect.fnUntraced(function* (actor, request) {
          const at = yield* now
          const token = `qae_${yield* randomToken(tokenBytes)}`
          const row = yield* inTransaction(
            Effect.gen(function* () {
              const made = yield* Effect.orDie(
                rows.insertEnrolment({
                  id: yield* newId("enr"),
                  name: request.name,
                  tokenHash: hashOf(token),
                  createdAt: at,
                  expiresAt: new Date(at.getTime() + (request.expiresInSeconds ?? standardSeconds) * 1000)
                })
              )
              yield* record(actor, "host.enrolment_create", made.id, { name: request.name })
              return made
            })
          )
          return { ...enrolmentRecord(row, at), token }
        }),
        revokeEnrolment: Effect.fnUntraced(function* (actor, id) {
          const at = yield* now
          const row = yield* inTransaction(
            Effect.gen(function* () {
              const revoked = yield* Effect.orDie(rows.revoke(id, at))
              if (revoked !== null) yield* record(actor, "host.enrolment_revoke", id)
              return revoked
            })
          )
          if (row !== null) return enrolmentRecord(row, at)
          return (yield* Effect.orDie(rows.enrolmentById(id))) === null
            ? yield* new NotFound({})
            : yield* new EnrolmentNotOpen({ detail: "The enrolment was used or revoked before" })
        }),
        enrol: Effect.fnUntraced(function* (token, request) {
          const at = yield* now
          const enrolment = yield* Effect.orDie(rows.enrolmentByToken(hashOf(token)))
          if (enrolment === null) return yield* new EnrolmentInvalid({})
          if (enrolmentRecord(enrolment, at).state !== "open") return yield* new EnrolmentNotOpen({})
          const hostId = yield* newId("host")
          const { certificate, expiresAt } = yield* authority
            .signHost(request.csr, hostId, request.address)
            .pipe(Effect.catchTag("CertificateInvalid", ({ reason }) => invalidField("/csr", reason)))
          const enrolled = yield* inTransaction(
            Effect.gen(function* () {
              const done = yield* Effect.orDie(
                rows.enrol(
                  enrolment.id,
                  {
                    id: hostId,
                    name: enrolment.name,
                    address: request.address,
                    capacity: request.capacity,
                    features: request.features,
                    certificateExpiresAt: expiresAt
                  },
                  at
                )
              )
              if (done)
                yield* audit.record({
                  actor: { type: "host", id: hostId },
                  action: "host.enrol",
                  target: hostId,
                  detail: { name: enrolment.name }
                })
              return done
            })
          )
          if (!enrolled) return yield* new EnrolmentNotOpen({})
          return {
            hostId,
            certificate,
            caChain: authority.caCertificate,
            registryName: registryUri,
            signingKeys: (yield* keys.list).map(({ keyId, publicKey }) => ({ keyId, publicKey }))
          }
        }),
        retire: Effect.fnUntraced(function* (actor, id) {
          const at = yield* now
          const row = yield* inTransaction(
            Effect.gen(function* () {
              const retired = yield* Effect.orDie(rows.retire(id, at))
              if (retired !== null) yield* record(actor, "host.retire", id)
              return retired
            })
          )
          if (row !== null) return hostRecord(row, yield* staleSince)
          return (yield* Effect.orDie(rows.byId(id))) === null ? yield* new NotFound({}) : yield* new HostRetired({})
        }),
        online: Effect.flatMap(staleSince, (since) => Effect.orDie(rows.online(since)))
      })
    })
  )
}
