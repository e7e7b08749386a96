import { describe, expect, it } from "vitest"
import { contractFaults, undescribedMembers } from "./ContractRules.ts"

const problem = { description: "Problem", content: { "application/problem+json": { schema: { type: "object" } } } }
const operation = {
  summary: "Read a run",
  tags: ["Runs"],
  security: [{ session: [] }],
  responses: {
    "200": { description: "Run", content: { "application/json": { schema: { $ref: "#/components/schemas/Run" } } } },
    "401": problem,
    "403": problem,
    "404": problem,
    "429": problem,
    "500": { $ref: "#/components/responses/Internal" }
  }
}
const document = (changes: object, components: object = {}, path = "/runs/{id}") => ({
  tags: [{ name: "Runs", description: "Hosted runs" }, { name: "Silent" }],
  paths: { [path]: { get: JSON.parse(JSON.stringify({ ...operation, ...changes })) } },
  components: {
    schemas: { Run: { type: "object", properties: { id: { type: "string", examples: ["run_1"] } } }, ...components },
    responses: { Internal: problem },
    securitySchemes: { session: { type: "apiKey" } }
  }
})

const without = (status: string) => ({
  responses: Object.fromEntries(Object.entries(operation.responses).filter(([name]) => name !== status))
})

describe("an operation of the contract", () => {
  it("passes when it says everything", () => {
    expect(contractFaults(document({}))).toEqual([])
    expect(contractFaults(document({ security: [], ...without("401") }))).toEqual([])
  })

  const faults: ReadonlyArray<readonly [string, ReturnType<typeof document>, string]> = [
    ["a missing summary", document({ summary: undefined }), "has no summary"],
    ["a tag without description", document({ tags: ["Silent"] }), "tag Silent has no description"],
    [
      "unstated security",
      document({ security: undefined, ...without("401") }),
      "does not state its security; an empty list means public"
    ],
    ["an undefined scheme", document({ security: [{ job: [] }] }), "security scheme job is not defined"],
    ["credentials without 401", document(without("401")), "takes credentials, but 401 is not documented"],
    ["credentials without 403", document(without("403")), "takes credentials, but 403 is not documented"],
    ["401 of a public operation", document({ security: [] }), "answers 401, but states that it is public"],
    ["path parameters without 404", document(without("404")), "has path parameters, but 404 is not documented"],
    ["no answer to too many requests", document(without("429")), "is rate limited, but 429 is not documented"],
    [
      "a problem of another type",
      document({ responses: { ...operation.responses, "403": { description: "No" } } }),
      "403 is not application/problem+json"
    ],
    [
      "an answer without example",
      document({}, { Run: { type: "object", properties: { id: { type: "string" } } } }),
      "200 body has no example"
    ],
    [
      "a request without example",
      document({ requestBody: { content: { "application/json": { schema: { type: "string" } } } } }),
      "request body has no example"
    ]
  ]

  it.each(faults)("is refused for %s", (_, document, fault) => {
    expect(contractFaults(document)).toEqual([`GET /runs/{id}: ${fault}`])
  })

  it("needs an example in a recursive schema too", () => {
    const recursive = { Run: { type: "object", properties: { parent: { $ref: "#/components/schemas/Run" } } } }
    expect(contractFaults(document({}, recursive))).toEqual(["GET /runs/{id}: 200 body has no example"])
  })

  it("is refused when two schemas share one identifier", () => {
    expect(contractFaults(document({}, { Run_1: { type: "string" } }))).toEqual([
      "component Run_1: two schemas share one identifier"
    ])
  })
})

describe("a JSON Schema for editors", () => {
  it("names the members that nobody explains", () => {
    const schema = {
      properties: {
        name: { type: "string", description: "Name" },
        budgets: { type: "object", description: "Limits", properties: { turns: { type: "integer" } } },
        grants: { $ref: "#/$defs/Grants" },
        list: { type: "array", items: { properties: { id: { type: "string" } } } }
      },
      $defs: { Grants: { description: "Grants", properties: { read: { type: "array" } } } }
    }
    expect(undescribedMembers(schema)).toEqual(["budgets.turns", "list", "list.id", "Grants.read"])
  })
})
