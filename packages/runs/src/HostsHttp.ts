/** Handlers of host enrolment and of the staff routes on hosts and the model. */
import { Actor, Api, EnrolmentToken } from "@quickagents/schema"
import { Audit } from "@quickagents/platform"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Hosts } from "./Hosts.ts"
import { RunModel } from "./RunModel.ts"

export const HostEnrolHttp = HttpApiBuilder.group(
  Api,
  "hostEnrol",
  Effect.fnUntraced(function* (handlers) {
    const hosts = yield* Hosts
    return handlers.handle("enrol", ({ payload }) =>
      Effect.flatMap(EnrolmentToken, ({ token }) => hosts.enrol(token, payload))
    )
  })
)

export const StaffHostsHttp = HttpApiBuilder.group(
  Api,
  "staffHosts",
  Effect.fnUntraced(function* (handlers) {
    const hosts = yield* Hosts
    const model = yield* RunModel
    const audit = yield* Audit.Audit
    const recordModel = (action: string, detail: Record<string, unknown>) =>
      Effect.flatMap(Actor, (actor) =>
        audit.record({
          actor: { type: "account", id: actor.accountId, handle: actor.handle },
          action,
          target: "run-model",
          detail
        })
      )
    return handlers
      .handle("hosts", () => Effect.map(hosts.list, (items) => ({ items })))
      .handle("enrolments", () => Effect.map(hosts.enrolments, (items) => ({ items })))
      .handle("createEnrolment", ({ payload }) =>
        Effect.flatMap(Actor, (actor) => hosts.createEnrolment(actor, payload))
      )
      .handle("revokeEnrolment", ({ params }) =>
        Effect.flatMap(Actor, (actor) => hosts.revokeEnrolment(actor, params.enrolment))
      )
      .handle("retire", ({ params }) => Effect.flatMap(Actor, (actor) => hosts.retire(actor, params.host)))
      .handle("model", () => model.show)
      .handle("putModel", ({ payload }) =>
        Effect.tap(model.put(payload), (shown) =>
          recordModel("run.model_set", { provider: shown.provider, model: shown.model })
        )
      )
      .handle("deleteModel", () => Effect.andThen(model.reset, recordModel("run.model_reset", {})))
  })
)
