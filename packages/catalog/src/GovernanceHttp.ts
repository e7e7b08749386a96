/** Handlers of the review, dispute, advisory and abuse-report routes. */
import { CoreApi } from "@quickagents/schema"
import { Effect, Layer, Stream } from "effect"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { AbuseReports } from "./AbuseReports.ts"
import { Advisories } from "./Advisories.ts"
import { asActor, asViewer } from "./Callers.ts"
import { Reviews } from "./Reviews.ts"

const ReviewHttp = HttpApiBuilder.group(
  CoreApi,
  "review",
  Effect.fnUntraced(function* (handlers) {
    const reviews = yield* Reviews
    return handlers
      .handle("queue", ({ query }) => asActor((actor) => reviews.queue(actor, query)))
      .handle("get", ({ params: { name, ns, version } }) => asActor((actor) => reviews.get(actor, ns, name, version)))
      .handle("archive", ({ params: { name, ns, version } }) =>
        asActor((actor) =>
          Effect.map(reviews.archive(actor, ns, name, version), ({ bytes, content }) =>
            HttpApiSchema.withHeaders({
              body: Stream.orDie(content),
              headers: { "cache-control": "private, no-store", "content-length": String(bytes) }
            })
          )
        )
      )
      .handle("claim", ({ params: { name, ns, version } }) =>
        asActor((actor) => reviews.claim(actor, ns, name, version))
      )
      .handle("unclaim", ({ params: { name, ns, version } }) =>
        asActor((actor) => reviews.unclaim(actor, ns, name, version))
      )
      .handle("decide", ({ params: { name, ns, version }, payload: { decision, reason } }) =>
        asActor((actor) => reviews.decide(actor, ns, name, version, decision, reason))
      )
  })
)

const DisputesHttp = HttpApiBuilder.group(
  CoreApi,
  "disputes",
  Effect.fnUntraced(function* (handlers) {
    const reviews = yield* Reviews
    return handlers
      .handle("held", ({ query }) => asActor((actor) => reviews.held(actor, query)))
      .handle("dispute", ({ params: { name, ns, version }, payload }) =>
        asActor((actor) => reviews.dispute(actor, ns, name, version, payload.reason))
      )
  })
)

const AdvisoriesHttp = HttpApiBuilder.group(
  CoreApi,
  "advisories",
  Effect.fnUntraced(function* (handlers) {
    const advisories = yield* Advisories
    return handlers
      .handle("list", ({ query }) => asViewer((viewer) => advisories.list(viewer, query)))
      .handle("get", ({ params }) => asViewer((viewer) => advisories.get(viewer, params.id)))
      .handle("create", ({ params, payload }) =>
        asActor((actor) => advisories.create(actor, params.ns, params.name, payload))
      )
      .handle("patch", ({ params, payload }) => asActor((actor) => advisories.patch(actor, params.id, payload)))
      .handle("publish", ({ params }) => asActor((actor) => advisories.publish(actor, params.id)))
      .handle("withdraw", ({ params, payload }) =>
        asActor((actor) => advisories.withdraw(actor, params.id, payload.reason))
      )
  })
)

const AbuseReportsHttp = HttpApiBuilder.group(
  CoreApi,
  "abuseReports",
  Effect.fnUntraced(function* (handlers) {
    const reports = yield* AbuseReports
    return handlers
      .handle("create", ({ params, payload }) =>
        asActor((actor) => reports.create(actor, params.ns, params.name, payload))
      )
      .handle("mine", ({ query }) => asActor((actor) => reports.mine(actor, query)))
      .handle("list", ({ query }) => reports.list(query))
      .handle("triage", ({ params, payload }) => asActor((actor) => reports.triage(actor, params.id, payload.reason)))
      .handle("resolve", ({ params, payload }) =>
        asActor((actor) => reports.resolve(actor, params.id, payload.resolution, payload.reason))
      )
  })
)

export const GovernanceHttp = Layer.mergeAll(ReviewHttp, DisputesHttp, AdvisoriesHttp, AbuseReportsHttp)
