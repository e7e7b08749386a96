import { NodeServices } from "@effect/platform-node"
import { assert, layer } from "@effect/vitest"
import * as Identity from "@quickagents/identity"
import { memberships, migrations as orgsMigrations, Orgs } from "@quickagents/orgs"
import {
  Audit,
  DirectoryObjectStore,
  migrations as platformMigrations,
  RateLimits,
  Settings
} from "@quickagents/platform"
import { layerDatabase } from "@quickagents/platform/testing"
import { Effect, Exit, FileSystem, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Agents, AgentsSql, migrations } from "../index.ts"
import { GitAdmission } from "./GitAdmission.ts"

/** As a deployment has them that sets nothing. */
const Standard = Layer.succeed(Settings.Settings, Settings.read({ environment: { DATABASE_URL: "postgres://test" } }))

const Objects = Layer.unwrap(
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    return DirectoryObjectStore.layer({ directory: yield* fs.makeTempDirectoryScoped() })
  })
)

const Live = GitAdmission.layer.pipe(
  Layer.provide(Agents.layer),
  Layer.provide(Layer.mergeAll(AgentsSql.layer, Orgs.layer)),
  Layer.provide(Identity.layer),
  Layer.provide(memberships),
  Layer.provide(Layer.mergeAll(Audit.Audit.layer, RateLimits.layer, Objects)),
  Layer.provide(layerDatabase({ ...platformMigrations, ...Identity.migrations, ...orgsMigrations, ...migrations })),
  Layer.provide(Standard),
  Layer.provide(NodeServices.layer)
)

layer(Live)("git's limits", (it) => {
  it.effect(
    "[GIT-002] are 60 pushes an hour to a repository, 20 requests at once of an address, 4 of a repository and 32 of the process, 60 SSH keys offered in a minute",
    () =>
      Effect.gen(function* () {
        const admission = yield* GitAdmission
        const times = <E>(count: number, effect: Effect.Effect<unknown, E>) =>
          Effect.map(Effect.all(Array.from({ length: count }, () => Effect.exit(effect))), (exits) => [
            exits.filter(Exit.isSuccess).length,
            exits.length
          ])
        assert.deepStrictEqual(yield* times(61, admission.countPush("agt_1")), [60, 61])
        assert.deepStrictEqual(yield* times(1, admission.countPush("agt_2")), [1, 1])
        yield* TestClock.adjust("59 minutes")
        assert.deepStrictEqual(yield* times(1, admission.countPush("agt_1")), [0, 1])
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(yield* times(1, admission.countPush("agt_1")), [1, 1])

        const offers = (address: string, count: number) =>
          Effect.map(
            Effect.all(Array.from({ length: count }, () => admission.countKeyOffer(address))),
            (answers) => answers.filter((allowed) => allowed).length
          )
        assert.strictEqual(yield* offers("192.0.2.1", 61), 60)
        assert.strictEqual(yield* offers("192.0.2.2", 1), 1)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* offers("192.0.2.1", 1), 1)

        // Each of these keeps its place until the end.
        const scope = yield* Scope.make()
        const enter = (address: string, repository: string) =>
          Effect.map(
            Effect.exit(Effect.provideService(admission.enter(address, repository), Scope.Scope, scope)),
            Exit.isSuccess
          )
        const entered: Array<boolean> = []
        for (let place = 0; place < 5; place++) entered.push(yield* enter(`192.0.2.${place}`, "popular"))
        assert.deepStrictEqual(entered, [true, true, true, true, false])
        for (let place = 0; place < 20; place++) assert.isTrue(yield* enter("192.0.2.9", `of-one-address-${place}`))
        assert.isFalse(yield* enter("192.0.2.9", "one-more"))
        for (let place = 0; place < 8; place++) assert.isTrue(yield* enter(`198.51.100.${place}`, `other-${place}`))
        assert.isFalse(yield* enter("203.0.113.1", "past-32"))
        yield* Scope.close(scope, Exit.void)
        assert.isTrue(yield* enter("192.0.2.9", "popular"))
      })
  )
})
