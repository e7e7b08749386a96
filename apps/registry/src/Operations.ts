/**
 * Routes beside the contract: liveness, readiness, metrics, the OpenAPI document
 * and a page for each problem slug. Spec: META-005; Errors.
 */
import * as Contract from "@quickagents/schema"
import { toOpenApi } from "@quickagents/schema/openapi"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import { Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { SqlClient } from "effect/sql"
import { stringify } from "yaml"

const text = (body: string, status = 200) => HttpServerResponse.text(body, { status })

const Health = HttpRouter.add("GET", "/healthz", Effect.succeed(text("ok\n")))

/** Ready when the database answers within a second. */
const Ready = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* router.add(
      "GET",
      "/readyz",
      sql`SELECT 1`.pipe(
        Effect.timeout("1 second"),
        Effect.match({
          onSuccess: () => text("ready\n"),
          onFailure: () =>
            HttpServerResponse.text("the database does not answer\n", { status: 503, contentType: "text/plain" })
        })
      )
    )
  })
)

interface ProblemPage {
  readonly slug: string
  readonly title: string
  readonly status: number
}

/** Read off the problem classes themselves, so that no slug is without its page. */
const problems: ReadonlyArray<ProblemPage> = Object.values(Contract).flatMap((value) => {
  if (typeof value !== "function" || !Schema.isSchema(value) || !("fields" in value)) return []
  const fields = value.fields as Readonly<Record<string, Schema.Top | undefined>>
  const literal = (name: string) => {
    const ast = fields[name]?.ast
    return ast?._tag === "Literal" ? ast.literal : undefined
  }
  const [type, title, status] = [literal("type"), literal("title"), literal("status")]
  return typeof type === "string" &&
    type.startsWith("/problems/") &&
    typeof title === "string" &&
    typeof status === "number"
    ? [{ slug: Contract.slugOf(type), title, status }]
    : []
})

const page = (title: string, body: string) =>
  HttpServerResponse.text(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><main><h1>${title}</h1>${body}</main></html>`,
    { contentType: "text/html; charset=utf-8" }
  )

const Problems = Layer.mergeAll(
  HttpRouter.add(
    "GET",
    "/problems",
    Effect.succeed(
      page(
        "Problems",
        `<ul>${problems.map(({ slug, title }) => `<li><a href="/problems/${slug}">${slug}</a>: ${title}</li>`).join("")}</ul>`
      )
    )
  ),
  ...problems.map(({ slug, status, title }) =>
    HttpRouter.add(
      "GET",
      `/problems/${slug}`,
      Effect.succeed(
        page(
          title,
          `<p>Problem <code>${slug}</code>, HTTP status ${status}. The answer's <code>detail</code> says what happened in this case.</p>`
        )
      )
    )
  )
)

/** `/openapi.yaml` and `/openapi.json`, as checked in. */
const document = <Id extends string, Groups extends HttpApiGroup.Constraint>(api: HttpApi.HttpApi<Id, Groups>) =>
  Layer.unwrap(
    Effect.sync(() => {
      const openapi = toOpenApi(api)
      const yaml = stringify(openapi, { aliasDuplicateObjects: false })
      return Layer.mergeAll(
        HttpRouter.add(
          "GET",
          "/openapi.yaml",
          Effect.succeed(HttpServerResponse.text(yaml, { contentType: "application/yaml" }))
        ),
        HttpRouter.add("GET", "/openapi.json", Effect.succeed(HttpServerResponse.jsonUnsafe(openapi)))
      )
    })
  )

export const operations = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
) => Layer.mergeAll(Health, Ready, Problems, document(api), PrometheusMetrics.layerHttp())
