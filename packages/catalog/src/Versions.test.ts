import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import * as Identity from "@quickagents/identity"
import { aPerson } from "@quickagents/identity/testing"
import { memberships, migrations as orgsMigrations, Orgs } from "@quickagents/orgs"
import {
  Audit,
  DirectoryObjectStore,
  migrations as platformMigrations,
  Notifications,
  ObjectStore,
  Settings
} from "@quickagents/platform"
import { layerDatabase } from "@quickagents/platform/testing"
import type { Account, VersionStatus } from "@quickagents/schema"
import { Clock, Deferred, Effect, Exit, Fiber, FileSystem, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import type { Grant } from "./AgentsPolicy.ts"
import { Agents, AgentsSql, migrations, ScanStarter, Versions } from "./index.ts"
import { archiveOf, digestOf, manifestOf } from "./testing/TestArchives.ts"

const settings: Settings.Values = {
  ...Settings.read({ environment: { DATABASE_URL: "postgres://test" } }),
  "orgs.staff": "the-staff",
  "limits.versionsPerDay": 4
}

/** Where a test may step in between two lines of the service. */
const between: {
  /** After an archive is stored, before its version is. */
  stored: Effect.Effect<void>
  /** Before a version is read by its id. */
  reread: Effect.Effect<unknown, unknown>
} = { stored: Effect.void, reread: Effect.void }

const Objects = Layer.effect(
  ObjectStore,
  Effect.map(ObjectStore, (store): ObjectStore["Service"] => ({
    ...store,
    put: (content, limits) => Effect.tap(store.put(content, limits), () => between.stored)
  }))
).pipe(
  Layer.provide(
    Layer.unwrap(
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        return DirectoryObjectStore.layer({ directory: yield* fs.makeTempDirectoryScoped() })
      })
    )
  )
)

const Rows = Layer.effect(
  AgentsSql,
  Effect.map(AgentsSql, (rows): AgentsSql["Service"] => ({
    ...rows,
    versionById: (id) =>
      Effect.andThen(
        Effect.suspend(() => Effect.ignore(between.reread)),
        rows.versionById(id)
      )
  }))
).pipe(Layer.provide(AgentsSql.layer))

const Live = Versions.layer.pipe(
  Layer.provideMerge(Agents.layer),
  Layer.provideMerge(Layer.mergeAll(Rows, Orgs.layer, Layer.succeed(ScanStarter, { start: () => Effect.void }))),
  Layer.provideMerge(Identity.layer),
  Layer.provideMerge(memberships),
  Layer.provideMerge(Layer.mergeAll(Audit.Audit.layer, Notifications.layer, Objects)),
  Layer.provideMerge(
    layerDatabase({ ...platformMigrations, ...Identity.migrations, ...orgsMigrations, ...migrations })
  ),
  Layer.provideMerge(Layer.succeed(Settings.Settings, settings)),
  Layer.provideMerge(NodeServices.layer)
)

/** A person with an agent of their own. */
const anAgent = Effect.fnUntraced(function* (
  handle: string,
  name: string,
  visibility: "public" | "private" = "public"
) {
  const actor = yield* aPerson(handle)
  const agent = yield* Effect.orDie((yield* Agents).create(actor, { namespace: handle, name, visibility }))
  return { actor, agent }
})
const granted = Effect.fnUntraced(function* (agentId: string, to: Account, level: Exclude<Grant, null>) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO agent_grants ${sql.insert({ agentId, accountId: to.accountId, level })}`
})

const submit = Effect.fnUntraced(function* (actor: Account, ns: string, name: string, archive: Uint8Array) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* fs.makeTempFileScoped()
  yield* fs.writeFile(path, archive)
  return yield* (yield* Versions).submit(actor, ns, name, path)
}, Effect.scoped)

/** What the end of a scan writes, without the scan. */
const conclude = Effect.fnUntraced(function* (
  id: string,
  ref: string,
  status: VersionStatus,
  manifest: boolean = true
) {
  const [name, version] = ref.split("@") as [string, string]
  const envelope = { payloadType: "test", payload: "e30=", signatures: [{ keyid: "k", sig: "s" }] }
  const findingCounts = { info: 0, low: 0, medium: 0, high: 0, critical: 0 }
  const at = new Date(yield* Clock.currentTimeMillis)
  return yield* (yield* AgentsSql).concludeScan(
    id,
    {
      status,
      scanStatus: "scanned",
      manifest: manifest ? manifestOf(name, version) : null,
      manifestSchemaVersion: 2,
      verdict: "findings",
      findingCounts,
      holding: [],
      report: {
        version: 1,
        ref,
        archive: digestOf(archiveOf(name, version)),
        manifest: null,
        verdict: "findings",
        stages: [],
        findingCounts,
        startedAt: at.toISOString(),
        finishedAt: at.toISOString()
      },
      reportEnvelope: envelope,
      attestation: manifest ? envelope : null
    },
    at
  )
})
const scanned = Effect.fnUntraced(function* (actor: Account, ref: string, to: VersionStatus, manifest: boolean = true) {
  const [path, version] = ref.split("@") as [string, string]
  const [ns, name] = path.split("/") as [string, string]
  const row = yield* submit(actor, ns, name, archiveOf(path, version))
  assert.isTrue(yield* conclude(row.id, ref, to, manifest))
  return row
})

const staff = (person: Account): Account => ({ ...person, staff: true })
const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.match({ onFailure: ({ _tag }) => _tag, onSuccess: () => "done" }))

layer(Live, { timeout: "30 seconds", excludeTestServices: true })("a submission", (it) => {
  it.effect("that is refused after its archive was stored leaves no archive behind", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("twin", "bot")
      const objects = yield* ObjectStore
      const both = yield* Deferred.make<void>()
      let arrived = 0
      between.stored = Effect.suspend(() =>
        (++arrived === 2 ? Deferred.succeed(both, undefined) : Effect.void).pipe(Effect.andThen(Deferred.await(both)))
      )
      const archives = ["one", "other"].map((text) => archiveOf("twin/bot", "1.0.0", text))
      const answers = yield* Effect.all(
        archives.map((archive) => tagOf(submit(actor, "twin", "bot", archive))),
        { concurrency: "unbounded" }
      )
      between.stored = Effect.void
      assert.deepStrictEqual(answers.toSorted(), ["VersionExists", "done"])
      const kept = yield* Effect.all(archives.map((archive) => objects.has(digestOf(archive))))
      assert.deepStrictEqual(
        kept,
        answers.map((answer) => answer === "done")
      )
    })
  )

  it.effect("of the same bytes twice keeps the archive of the one that was taken", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("same", "bot")
      const archive = archiveOf("same/bot", "1.0.0")
      const both = yield* Deferred.make<void>()
      let arrived = 0
      between.stored = Effect.suspend(() =>
        (++arrived === 2 ? Deferred.succeed(both, undefined) : Effect.void).pipe(Effect.andThen(Deferred.await(both)))
      )
      const answers = yield* Effect.all(
        [1, 2].map(() => tagOf(submit(actor, "same", "bot", archive))),
        { concurrency: "unbounded" }
      )
      between.stored = Effect.void
      assert.deepStrictEqual(answers.toSorted(), ["VersionExists", "done"])
      assert.isTrue(yield* (yield* ObjectStore).has(digestOf(archive)))
    })
  )

  it.effect("stores its archive again when a refused one of the same bytes took it away", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("gone", "bot")
      const objects = yield* ObjectStore
      const archive = archiveOf("gone/bot", "1.0.0")
      let once = true
      between.stored = Effect.suspend(() => {
        if (!once) return Effect.void
        once = false
        return Effect.orDie(objects.remove(digestOf(archive)))
      })
      yield* submit(actor, "gone", "bot", archive)
      between.stored = Effect.void
      assert.isTrue(yield* objects.has(digestOf(archive)))
    })
  )

  it.effect("takes the archive's bytes as they are: what is read by digest is what was sent", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("bytes", "bot")
      const archive = archiveOf("bytes/bot", "1.0.0")
      const row = yield* scanned(actor, "bytes/bot@1.0.0", "published")
      const { bytes, content } = yield* (yield* Versions).archive(null, "bytes", "bot", row.archive.digest)
      const read = Buffer.concat(yield* Stream.runCollect(content))
      assert.strictEqual(bytes, archive.length)
      assert.isTrue(read.equals(archive))
    })
  )
})

layer(Live, { timeout: "30 seconds", excludeTestServices: true })("the events of a version", (it) => {
  const readAll = Effect.fnUntraced(function* (actor: Account, ns: string, after: number) {
    const events = yield* (yield* Versions).events(actor, ns, "bot", "1.0.0", after)
    const read = yield* Stream.runCollect(events)
    return read.map(
      ({ data, event, id }) => `${id} ${event} ${(JSON.parse(data) as { status?: string }).status ?? "-"}`
    )
  })

  it.effect("hold its last state before done, though it came between two looks", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("race", "bot")
      const row = yield* submit(actor, "race", "bot", archiveOf("race/bot", "1.0.0"))
      const services = yield* Effect.context<AgentsSql>()
      // The stream has looked and found nothing; the scan ends now; the stream asks whether it has.
      between.reread = Effect.provideContext(conclude(row.id, "race/bot@1.0.0", "published"), services)
      const read = yield* readAll(actor, "race", 1)
      between.reread = Effect.void
      assert.deepStrictEqual(read, ["2 status published", "2 done -"])
    })
  )

  it.effect("[SCAN-011] a decision of a reviewer follows the scan's end: a stream that is resumed tells it", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("later", "bot")
      const reviewer = staff(yield* aPerson("later-staff"))
      yield* scanned(actor, "later/bot@1.0.0", "needs_review")
      assert.deepStrictEqual(yield* readAll(actor, "later", 0), [
        "1 status scanning",
        "2 status needs_review",
        "2 done -"
      ])
      yield* (yield* Versions).review(reviewer, "later", "bot", "1.0.0", "publish", "Fine.")
      assert.deepStrictEqual(yield* readAll(actor, "later", 2), ["3 status published", "3 done -"])
      assert.deepStrictEqual(yield* readAll(actor, "later", 0), [
        "1 status scanning",
        "2 status needs_review",
        "3 status published",
        "3 done -"
      ])
    })
  )

  it.effect("after a number that no event has are just done", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("far", "bot")
      yield* scanned(actor, "far/bot@1.0.0", "published")
      for (const after of [2 ** 31, Number.MAX_SAFE_INTEGER])
        assert.deepStrictEqual(yield* readAll(actor, "far", after), [`${2 ** 31 - 1} done -`])
      assert.lengthOf(yield* readAll(actor, "far", -5), 3)
    })
  )

  it.effect("of a scan are refused once the version is decided", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("over", "bot")
      const row = yield* scanned(actor, "over/bot@1.0.0", "needs_review")
      const rows = yield* AgentsSql
      assert.isFalse(
        yield* rows.addEvent(row.id, "stage", { stage: "S9", name: "review", status: "running" }, new Date(0))
      )
      assert.lengthOf(yield* rows.events(row.id, 2), 0)
    })
  )

  it.effect("a stream that nobody reads on ends with its reader", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("left", "bot")
      yield* submit(actor, "left", "bot", archiveOf("left/bot", "1.0.0"))
      const first = yield* Deferred.make<void>()
      const events = yield* (yield* Versions).events(actor, "left", "bot", "1.0.0", 0)
      const reader = yield* Effect.forkChild(Stream.runForEach(events, () => Deferred.succeed(first, undefined)))
      yield* Deferred.await(first)
      assert.isTrue(Exit.isFailure(yield* Effect.andThen(Fiber.interrupt(reader), Fiber.await(reader))))
    })
  )
})

layer(Live, { timeout: "30 seconds", excludeTestServices: true })("a version", (it) => {
  it.effect("without an attestation is not published by a reviewer", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("bare", "bot")
      const reviewer = staff(yield* aPerson("bare-staff"))
      yield* scanned(actor, "bare/bot@1.0.0", "needs_review", false)
      const versions = yield* Versions
      const refused = yield* Effect.flip(versions.review(reviewer, "bare", "bot", "1.0.0", "publish", "Fine."))
      assert.strictEqual(refused._tag, "VersionNotPublished")
      assert.strictEqual((yield* versions.review(reviewer, "bare", "bot", "1.0.0", "block", "No.")).status, "blocked")
    })
  )

  it.effect(
    "gives its attestation out only when it was published: with it, it would pass for published elsewhere",
    () =>
      Effect.gen(function* () {
        const { actor } = yield* anAgent("early", "bot")
        const reviewer = staff(yield* aPerson("early-staff"))
        yield* scanned(actor, "early/bot@1.0.0", "needs_review")
        const versions = yield* Versions
        const attestation = tagOf(versions.attestation(actor, "early", "bot", "1.0.0"))
        assert.strictEqual(yield* attestation, "ReportNotReady")
        assert.strictEqual(yield* tagOf(versions.report(actor, "early", "bot", "1.0.0")), "done")
        yield* versions.review(reviewer, "early", "bot", "1.0.0", "publish", "Fine.")
        assert.strictEqual(yield* attestation, "done")
        yield* scanned(actor, "early/bot@1.0.1", "needs_review")
        yield* versions.review(reviewer, "early", "bot", "1.0.1", "block", "No.")
        assert.strictEqual(yield* tagOf(versions.attestation(actor, "early", "bot", "1.0.1")), "ReportNotReady")
      })
  )

  it.effect("that was yanked before its quarantine is yanked after it", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("quar", "bot")
      const moderator = staff(yield* aPerson("quar-staff"))
      yield* scanned(actor, "quar/bot@1.0.0", "published")
      const versions = yield* Versions
      const decide = (what: "quarantine" | "release") =>
        Effect.map(versions.moderate(moderator, "quar", "bot", "1.0.0", what, "Reported."), ({ status }) => status)
      yield* decide("quarantine")
      assert.strictEqual(yield* decide("release"), "published")
      yield* versions.yank(actor, "quar", "bot", "1.0.0")
      yield* decide("quarantine")
      assert.strictEqual(yield* decide("release"), "yanked")
      assert.strictEqual(yield* tagOf(versions.resolve("quar/bot", actor)), "NotFound")
    })
  )

  it.effect("neither goes nor changes in what its scan found", () =>
    Effect.gen(function* () {
      const { actor } = yield* anAgent("stay", "bot")
      const { id } = yield* scanned(actor, "stay/bot@1.0.0", "published")
      const sql = yield* SqlClient.SqlClient
      const refused = (statement: Effect.Effect<unknown, { readonly reason: { readonly cause: unknown } }>) =>
        Effect.map(Effect.flip(statement), ({ reason }) => String(reason.cause))
      assert.match(
        yield* refused(
          sql`DELETE FROM version_events WHERE version_id = ${id}`.pipe(
            Effect.andThen(sql`DELETE FROM versions WHERE id = ${id}`)
          )
        ),
        /never deleted/u
      )
      for (const change of [sql`manifest = '{}'`, sql`report = '{}'`, sql`report_envelope = NULL`]) {
        assert.match(
          yield* refused(sql`UPDATE versions SET ${change} WHERE id = ${id}`),
          /what a scan found is immutable/u
        )
      }
      // A countersignature may be added to its attestation.
      yield* sql`UPDATE versions SET attestation = jsonb_set(attestation, '{signatures,1}', '{"keyid": "new", "sig": "s"}') WHERE id = ${id}`
    })
  )
})

layer(Live, { timeout: "30 seconds", excludeTestServices: true })("grants", (it) => {
  it.effect("read, write and manage each allow what the one before does, and one thing more", () =>
    Effect.gen(function* () {
      const { actor: owner, agent } = yield* anAgent("give", "bot", "private")
      yield* scanned(owner, "give/bot@1.0.0", "published")
      const versions = yield* Versions
      const agents = yield* Agents
      const may = Effect.fnUntraced(function* (person: Account, version: string) {
        return {
          read: yield* tagOf(versions.get(person, "give", "bot", "1.0.0")),
          run: yield* tagOf(versions.resolve("give/bot", person)),
          publish: yield* tagOf(submit(person, "give", "bot", archiveOf("give/bot", version))),
          manage: yield* tagOf(agents.patch(person, "give", "bot", { description: "Better." }))
        }
      })
      const [stranger, reader, writer, manager] = yield* Effect.all(
        ["give-no", "give-read", "give-write", "give-manage"].map(aPerson)
      )
      yield* granted(agent.id, reader, "read")
      yield* granted(agent.id, writer, "write")
      yield* granted(agent.id, manager, "manage")
      assert.deepStrictEqual(yield* may(stranger, "2.0.0"), {
        read: "NotFound",
        run: "NotFound",
        publish: "NotFound",
        manage: "NotFound"
      })
      assert.deepStrictEqual(yield* may(reader, "2.0.0"), {
        read: "done",
        run: "done",
        publish: "NotFound",
        manage: "NotFound"
      })
      assert.deepStrictEqual(yield* may(writer, "2.0.0"), {
        read: "done",
        run: "done",
        publish: "done",
        manage: "NotFound"
      })
      assert.deepStrictEqual(yield* may(manager, "3.0.0"), {
        read: "done",
        run: "done",
        publish: "done",
        manage: "done"
      })
      // A token without agent:read reads nothing private, whoever it is of; what it may change is said by its other scopes.
      const token: Account = { ...manager, scopes: new Set(["agent:publish", "agent:manage", "run:write"] as const) }
      assert.deepStrictEqual(yield* may(token, "4.0.0"), {
        read: "NotFound",
        run: "NotFound",
        publish: "done",
        manage: "done"
      })
    })
  )

  it.effect("give a plain member of the organization more than members have", () =>
    Effect.gen(function* () {
      const owner = yield* aPerson("org-owner")
      yield* (yield* Orgs).create(owner, { handle: "org-of" })
      const member = yield* aPerson("org-member")
      yield* (yield* Orgs).putMember(owner, "org-of", "org-member", "member")
      const agents = yield* Agents
      const agent = yield* agents.create(owner, { namespace: "org-of", name: "bot" })
      const patch = tagOf(agents.patch(member, "org-of", "bot", { description: "Better." }))
      assert.strictEqual(yield* patch, "NotFound")
      yield* granted(agent.id, member, "manage")
      assert.strictEqual(yield* patch, "done")
    })
  )
})

layer(Live, { timeout: "30 seconds", excludeTestServices: true })("a list", (it) => {
  it.effect("has one order whatever the page, counts what it leaves out, and finds signs as they are", () =>
    Effect.gen(function* () {
      const owner = yield* aPerson("many")
      const agents = yield* Agents
      const descriptions = ["100% sure", "100 of them", "a_b", "aXb", "back\\slash"]
      yield* Effect.forEach(descriptions, (description, n) =>
        agents.create(owner, { namespace: "many", name: `bot-${n}`, description })
      )
      // Made at one moment: the time alone would not order them.
      const sql = yield* SqlClient.SqlClient
      yield* sql`UPDATE agents SET created_at = '2026-01-01' WHERE namespace = 'many'`
      const names = (filter: Parameters<typeof agents.list>[1]) =>
        Effect.map(agents.list(null, { namespace: "many", ...filter }), ({ items }) => items.map(({ name }) => name))
      for (const sort of ["newest", "name"] as const) {
        const whole = yield* names({ sort })
        const pages = yield* Effect.all([0, 2, 4].map((offset) => names({ sort, offset, limit: 2 })))
        assert.deepStrictEqual(pages.flat(), whole)
        assert.lengthOf(new Set(whole), 5)
      }
      assert.strictEqual((yield* agents.list(null, { namespace: "many", offset: 3, limit: 1 })).total, 5)
      assert.strictEqual((yield* agents.list(null, { namespace: "many", offset: 50 })).total, 5)
      const found = (q: string) =>
        Effect.map(agents.list(null, { namespace: "many", q }), ({ items }) =>
          items.map(({ description }) => description)
        )
      assert.deepStrictEqual(yield* found("100%"), ["100% sure"])
      assert.deepStrictEqual(yield* found("A_B"), ["a_b"])
      assert.deepStrictEqual(yield* found("\\"), ["back\\slash"])
      assert.lengthOf(yield* found("many/bot"), 5)
    })
  )
})
