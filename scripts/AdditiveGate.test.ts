import { describe, expect, it } from "vitest"
import { takenBack } from "./AdditiveGate.ts"

const document = () => ({
  openapi: "3.1.0",
  paths: {
    "/runs": {
      post: {
        operationId: "runs.create",
        security: [{ session: [] as Array<string> }, { token: ["run:write"] }],
        parameters: [
          {
            name: "limit",
            in: "query",
            required: false,
            schema: { type: "integer", maximum: 100 }
          }
        ] as Array<Record<string, unknown>>,
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/CreateRun" } } }
        },
        responses: {
          "201": {
            description: "Run",
            headers: { location: { required: true, schema: { type: "string" } } } as Record<string, unknown>,
            content: { "application/json": { schema: { $ref: "#/components/schemas/Run" } } }
          },
          "409": {
            description: "Conflict",
            content: { "application/problem+json": { schema: { anyOf: [{ $ref: "#/components/schemas/RunActive" }] } } }
          }
        } as Record<string, unknown>
      }
    },
    "/runs/{id}": { get: { operationId: "runs.get", security: [], parameters: [], responses: {} } }
  } as Record<string, Record<string, any>>,
  components: {
    schemas: {
      CreateRun: {
        type: "object",
        properties: {
          ref: { type: "string", maxLength: 100 },
          mode: { type: "string", enum: ["autonomous", "interactive"] }
        },
        required: ["ref"]
      },
      Run: {
        type: "object",
        properties: {
          id: { type: "string", pattern: "^run_" },
          credits: { type: "number" },
          outcome: { type: "string", enum: ["succeeded", "failed"] },
          error: { anyOf: [{ type: "string" }, { type: "null" }] },
          parent: { $ref: "#/components/schemas/Run" },
          tags: { type: "array", items: { type: "string" } }
        },
        required: ["id", "credits", "outcome"]
      },
      RunActive: {
        type: "object",
        properties: { type: { type: "string", enum: ["/problems/run-active"] } },
        required: ["type"]
      },
      RunPaused: {
        type: "object",
        properties: { type: { type: "string", enum: ["/problems/run-paused"] } },
        required: ["type"]
      }
    } as Record<string, any>
  }
})

type Document = ReturnType<typeof document>
const changed = (change: (document: Document) => void) => {
  const after = document()
  change(after)
  // The documents are compared as they are stored: plain JSON.
  return takenBack(JSON.parse(JSON.stringify(document())), JSON.parse(JSON.stringify(after)))
}
const create = (document: Document) => document.paths["/runs"]["post"]
const schemas = (document: Document) => document.components.schemas

describe("the additive gate", () => {
  it("lets an unchanged document pass", () => {
    expect(changed(() => {})).toEqual([])
  })

  const refused: ReadonlyArray<readonly [string, (document: Document) => void, string]> = [
    ["a removed path", (d) => delete d.paths["/runs/{id}"], "GET /runs/{id}: the operation is removed"],
    ["a removed operation", (d) => delete d.paths["/runs"]["post"], "POST /runs: the operation is removed"],
    [
      "a renamed operation",
      (d) => (create(d).operationId = "runs.make"),
      "POST /runs: operationId runs.create is renamed"
    ],
    ["a removed response", (d) => delete create(d).responses["409"], "POST /runs: response 409 is removed"],
    [
      "a removed member of an answer",
      (d) => delete schemas(d)["Run"].properties.credits,
      "POST /runs 201 application/json.credits: the member is removed"
    ],
    [
      "a removed member of a request",
      (d) => delete schemas(d)["CreateRun"].properties.mode,
      "POST /runs body application/json.mode: the member is removed"
    ],
    [
      "a removed value of an answer",
      (d) => (schemas(d)["Run"].properties.outcome.enum = ["succeeded"]),
      'POST /runs 201 application/json.outcome: value "failed" is removed'
    ],
    [
      "a removed value of a request",
      (d) => (schemas(d)["CreateRun"].properties.mode.enum = ["autonomous"]),
      'POST /runs body application/json.mode: value "interactive" is removed'
    ],
    [
      "a narrowed type of an answer",
      (d) => (schemas(d)["Run"].properties.credits.type = "integer"),
      "POST /runs 201 application/json.credits: type number is now integer"
    ],
    [
      "a narrowed type of a request",
      (d) => (schemas(d)["CreateRun"].properties.ref.type = "integer"),
      "POST /runs body application/json.ref: type string is now integer"
    ],
    [
      "a lowered maximum of a request",
      (d) => (schemas(d)["CreateRun"].properties.ref.maxLength = 50),
      "POST /runs body application/json.ref: maxLength falls to 50"
    ],
    [
      "a new minimum of a request",
      (d) => (schemas(d)["CreateRun"].properties.ref.minLength = 3),
      "POST /runs body application/json.ref: minLength rises to 3"
    ],
    [
      "a new pattern of a request",
      (d) => (schemas(d)["CreateRun"].properties.ref.allOf = [{ pattern: "^a" }]),
      'POST /runs body application/json.ref: pattern is now "^a"'
    ],
    [
      "a pattern an answer no longer keeps",
      (d) => delete schemas(d)["Run"].properties.id.pattern,
      "POST /runs 201 application/json.id: pattern is no longer promised"
    ],
    [
      "a new required member of a request",
      (d) => {
        schemas(d)["CreateRun"].properties.task = { type: "string" }
        schemas(d)["CreateRun"].required.push("task")
      },
      "POST /runs body application/json.task: is now required"
    ],
    [
      "a new required parameter",
      (d) => create(d).parameters.push({ name: "mode", in: "query", required: true, schema: { type: "string" } }),
      "POST /runs: parameter query mode is now required"
    ],
    [
      "a parameter that becomes required",
      (d) => (create(d).parameters[0].required = true),
      "POST /runs: parameter query limit is now required"
    ],
    ["a removed parameter", (d) => create(d).parameters.pop(), "POST /runs: parameter query limit is removed"],
    [
      "a narrowed parameter",
      (d) => (create(d).parameters[0].schema.maximum = 50),
      "POST /runs query limit: maximum falls to 50"
    ],
    [
      "a member of an answer that may be missing",
      (d) => (schemas(d)["Run"].required = ["id", "credits"]),
      "POST /runs 201 application/json.outcome: is no longer always present"
    ],
    [
      "a member of an answer that may be null",
      (d) => (schemas(d)["Run"].properties.credits = { anyOf: [{ type: "number" }, { type: "null" }] }),
      "POST /runs 201 application/json.credits: may now also be null"
    ],
    [
      "an alternative that is gone",
      (d) => (schemas(d)["Run"].properties.error = { type: "string" }),
      "POST /runs 201 application/json.error: an alternative (null) is removed or narrowed"
    ],
    [
      "a narrowed list item",
      (d) => (schemas(d)["Run"].properties.tags.items.maxLength = 5),
      "POST /runs 201 application/json.tags[]: maxLength falls to 5"
    ],
    [
      "a removed header",
      (d) => (create(d).responses["201"].headers = {}),
      "POST /runs 201: header location is removed"
    ],
    [
      "another media type",
      (d) => (create(d).responses["201"].content = { "text/plain": { schema: { type: "string" } } }),
      "POST /runs 201: application/json is removed"
    ],
    ["a further scope", (d) => create(d).security[1].token.push("run:read"), "POST /runs: token is no longer enough"],
    [
      "a credential where none was asked",
      (d) => (d.paths["/runs/{id}"]["get"].security = [{ session: [] }]),
      "GET /runs/{id}: no credential is no longer enough"
    ]
  ]

  it.each(refused)("[VER-001] refuses %s", (_, change, sentence) => {
    expect(changed(change)).toEqual([sentence])
  })

  const allowed: ReadonlyArray<readonly [string, (document: Document) => void]> = [
    [
      "a new path",
      (d) => (d.paths["/hosts"] = { get: { operationId: "hosts.list", security: [], parameters: [], responses: {} } })
    ],
    ["a new optional member of a request", (d) => (schemas(d)["CreateRun"].properties.task = { type: "string" })],
    [
      "a new member of an answer",
      (d) => {
        schemas(d)["Run"].properties.kind = { type: "string" }
        schemas(d)["Run"].required.push("kind")
      }
    ],
    ["a new value", (d) => schemas(d)["Run"].properties.outcome.enum.push("cancelled")],
    [
      "a new optional parameter",
      (d) => create(d).parameters.push({ name: "q", in: "query", required: false, schema: { type: "string" } })
    ],
    ["a parameter that becomes optional", (d) => (schemas(d)["CreateRun"].required = [])],
    ["a raised maximum", (d) => (schemas(d)["CreateRun"].properties.ref.maxLength = 200)],
    ["a new response", (d) => (create(d).responses["402"] = { description: "Not enough credits" })],
    [
      "a new problem of a status",
      (d) =>
        create(d).responses["409"].content["application/problem+json"].schema.anyOf.push({
          $ref: "#/components/schemas/RunPaused"
        })
    ],
    ["a further credential", (d) => create(d).security.push({ job: [] })],
    ["a scope that is no longer asked", (d) => (create(d).security[1].token = [])],
    ["a new text or example", (d) => (schemas(d)["Run"].properties.id.description = "A hosted run")]
  ]

  it.each(allowed)("[VER-001] allows %s", (_, change) => {
    expect(changed(change)).toEqual([])
  })
})
