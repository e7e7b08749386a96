/**
 * Run once, on a new database, after its migrations: the people of a development
 * stack, the staff organization and a customer's. Through the services that own
 * them; everything else is done over HTTP as anyone does it.
 */
import { Accounts, layer as identity } from "@quickagents/identity"
import { memberships, Orgs } from "@quickagents/orgs"
import { Audit, Database, Settings } from "@quickagents/platform"
import { Effect, Layer, Redacted } from "effect"
import { ada, customerOrg, people, sam, staffOrg } from "./DevelopmentPeople.ts"

const seed = Effect.gen(function* () {
  const accounts = yield* Accounts
  const orgs = yield* Orgs
  const settings = yield* Settings.Settings
  const ids = new Map<string, string>()
  for (const { email, handle, name } of people) {
    const account = yield* accounts.ensure({
      subject: `${settings["auth.oidc.id"]}:${handle}`,
      email,
      emailVerified: true,
      handle,
      displayName: name
    })
    ids.set(handle, account.id)
  }
  yield* orgs.ensure({ handle: staffOrg, displayName: "Platform staff", ownerId: ids.get(sam.handle)! })
  yield* orgs.ensure({ handle: customerOrg, displayName: "Acme", ownerId: ids.get(ada.handle)! })
})

const settings = Settings.fromEnvironment(process.env)

const services = Orgs.layer.pipe(
  Layer.provideMerge(identity),
  Layer.provideMerge(memberships),
  Layer.provideMerge(Audit.Audit.layer),
  Layer.provideMerge(Layer.succeed(Settings.Settings, settings)),
  Layer.provideMerge(
    Database.layerClient({ url: Redacted.make(settings["database.url"]), maxConnections: 2, applicationName: "seed" })
  )
)

await Effect.runPromise(Effect.provide(seed, services))
