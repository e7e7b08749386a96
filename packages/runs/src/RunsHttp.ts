/** Handlers of the hosted-run routes: decode, ask the service, answer. No rule lives here. */
import { Actor, Api, TooLarge, Viewer } from "@quickagents/schema"
import { Effect, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder, HttpApiSchema } from "effect/http-api"
import { Runs } from "./Runs.ts"
import { runsStatus } from "./RunsStatus.ts"

export const RunsStatusHttp = HttpApiBuilder.group(Api, "runsStatus", (handlers) =>
  handlers.handle("status", () => Effect.flatMap(Viewer, runsStatus))
)

export const RunsHttp = HttpApiBuilder.group(
  Api,
  "runs",
  Effect.fnUntraced(function* (handlers) {
    const runs = yield* Runs
    return handlers
      .handle("create", ({ headers, payload }) =>
        Effect.gen(function* () {
          const run = yield* runs.create(yield* Actor, payload, headers["idempotency-key"] ?? null)
          return HttpApiSchema.withHeaders({ body: run, headers: { location: `/api/v1/x/runs/${run.id}` } })
        })
      )
      .handle("list", () => Effect.flatMap(Actor, (actor) => Effect.map(runs.list(actor), (items) => ({ items }))))
      .handle("uploadInput", ({ payload, query }) =>
        Effect.flatMap(Actor, (actor) =>
          runs.uploadInput(
            actor,
            query.name,
            Stream.mapError(payload, () => new TooLarge({ detail: "An input has at most 10 MB" }))
          )
        )
      )
      .handle("get", ({ params }) =>
        // The most read route of all answers ready: `Run` encodes to itself, so there is nothing for an encoder to do.
        Effect.flatMap(Actor, (actor) =>
          Effect.map(runs.get(actor, params.id), (run) => HttpServerResponse.jsonUnsafe(run))
        )
      )
      .handle("events", ({ headers, params, query }) =>
        Effect.flatMap(Actor, (actor) => runs.events(actor, params.id, headers["last-event-id"] ?? query.after ?? 0))
      )
      .handle("output", ({ params }) =>
        Effect.gen(function* () {
          const { content } = yield* runs.output(yield* Actor, params.id, params.name)
          return HttpApiSchema.withHeaders({
            // A stored object that does not open ends the answer early: half an output never looks like a whole one.
            body: Stream.orDie(content),
            headers: {
              "cache-control": "private, no-store",
              "content-disposition": 'attachment; filename="output.tar"'
            }
          })
        })
      )
      .handle("cancel", ({ params }) => Effect.flatMap(Actor, (actor) => runs.cancel(actor, params.id)))
  })
)
