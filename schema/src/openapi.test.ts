import { Schema } from "effect"
import { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { describe, expect, it } from "vitest"
import { clampedLimit } from "./Ids.ts"
import { toOpenApi } from "./openapi.ts"
import { NotFound, VersionsPerDay } from "./Problems.ts"

const Thing = Schema.Struct({ id: Schema.String, at: Schema.DateTimeUtcFromString }).annotate({ identifier: "Thing" })
const Change = Schema.Struct({ id: Schema.String }).annotate({ identifier: "Change" })
const Event = Schema.Struct({ id: Schema.String, event: Schema.String, data: Schema.String })

const group = (summary: string | undefined, description: string | undefined) =>
  HttpApiGroup.make("things")
    .add(
      HttpApiEndpoint.get("list", "/things/:page", {
        params: { page: Schema.NumberFromString.check(Schema.isInt()) },
        query: { limit: Schema.optional(clampedLimit(50, 20)), deep: Schema.optionalKey(Schema.Boolean) },
        success: Thing,
        error: [NotFound, VersionsPerDay]
      }).annotateMerge(OpenApi.annotations({ summary })),
      HttpApiEndpoint.post("change", "/things", {
        payload: Change,
        success: HttpApiSchema.StreamSse({ events: Event })
      }).annotate(OpenApi.Summary, "Change a thing")
    )
    .annotateMerge(OpenApi.annotations({ description }))

const api = (summary?: string, description?: string) => HttpApi.make("api").add(group(summary, description))
const document = toOpenApi(api("List things", "Things"))
const list = document.paths["/things/{page}"]?.["get"]
const schemas = document.components["schemas"]

describe("the OpenAPI document", () => {
  it("is refused while an operation has no summary or a group no description", () => {
    expect(() => toOpenApi(api(undefined, "Things"))).toThrow("operation things.list has no summary")
    expect(() => toOpenApi(api("List things"))).toThrow("tag things has no description")
  })

  it("shows numbers and booleans of the address as what they are", () => {
    const types = list?.parameters.map(({ name, schema }) => [name, schema])
    expect(types).toEqual([
      ["page", expect.objectContaining({ type: "integer" })],
      ["limit", expect.objectContaining({ type: "integer", description: "1 to 50, clamped; default 20" })],
      ["deep", expect.objectContaining({ type: "boolean" })]
    ])
  })

  it("gives every operation the problems that any request can meet", () => {
    expect(document.paths["/things"]?.["post"]?.responses).toMatchObject({
      "422": { $ref: "#/components/responses/Validation" },
      "429": { $ref: "#/components/responses/RateLimited" },
      "500": { $ref: "#/components/responses/Internal" }
    })
  })

  it("adds a common problem to those an endpoint declares for the same status", () => {
    expect(list?.responses["429"]).toMatchObject({
      description: "No further version of this agent today | Too many requests",
      content: {
        "application/problem+json": {
          schema: {
            anyOf: [{ $ref: "#/components/schemas/VersionsPerDay" }, { $ref: "#/components/schemas/RateLimited" }]
          }
        }
      }
    })
  })

  it("sends rate-limit headers with every answer", () => {
    for (const status of ["200", "404", "429"]) {
      expect(list?.responses[status]?.["headers"]).toHaveProperty("RateLimit-Remaining")
    }
    expect(document.components["responses"]).toHaveProperty(["RateLimited", "headers", "Retry-After"])
  })

  it("names components after the domain type", () => {
    expect(Object.keys(schemas ?? {})).toEqual(expect.arrayContaining(["Thing", "Change", "NotFound", "Validation"]))
    expect(JSON.stringify(document)).not.toContain("Encoded")
  })

  it("leaves answers open for further members and requests closed", () => {
    expect(schemas?.["Thing"]).not.toHaveProperty("additionalProperties")
    expect(schemas?.["Change"]).toHaveProperty("additionalProperties", false)
  })

  it("does not show how a stream is encoded inside", () => {
    expect(JSON.stringify(document)).not.toContain("x-effect-stream")
    expect(document.paths["/things"]?.["post"]?.responses).toHaveProperty(["200", "content", "text/event-stream"])
  })
})
