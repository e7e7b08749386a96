/**
 * The public OpenAPI 3.1 document of an `HttpApi`.
 *
 * `OpenApi.fromApi` prints the contract as the server encodes it; here the
 * document gets what belongs to every operation (rate limits, the problems any
 * request can meet, security schemes) and loses what would bind clients to
 * details of the encoding.
 */
import { Schema } from "effect"
import { HttpApi, type HttpApiGroup, OpenApi } from "effect/http-api"
import { Internal, RateLimited, Validation } from "./Problems.ts"

type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject
type JsonObject = { readonly [key: string]: Json }

type Operation = JsonObject & {
  readonly operationId: string
  readonly tags: ReadonlyArray<string>
  readonly parameters: ReadonlyArray<JsonObject>
  readonly responses: { readonly [status: string]: JsonObject }
}

/** A JSON-compatible OpenAPI 3.1 document. */
export type OpenApiDocument = JsonObject & {
  readonly openapi: "3.1.0"
  readonly info: JsonObject
  readonly tags: ReadonlyArray<JsonObject>
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly [kind: string]: JsonObject }
}

const problemJson = "application/problem+json"

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isArray = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

const text = (value: Json | undefined) => (typeof value === "string" ? value : "")

const mapValues = <A, B>(record: { readonly [key: string]: A }, f: (value: A, key: string) => B) =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, f(value, key)]))

/** Rebuilds a value bottom-up; `f` sees every object after its members. */
const rebuild = (value: Json, f: (object: JsonObject) => JsonObject): Json => {
  if (isArray(value)) return value.map((item) => rebuild(item, f))
  return isObject(value) ? f(mapValues(value, (member) => rebuild(member, f))) : value
}

const schemaPrefix = "#/components/schemas/"

/** What any request can meet, whatever its endpoint declares. */
const problems = [
  { status: "422", name: "Validation", description: "The request is not valid", extraHeaders: [] },
  { status: "429", name: "RateLimited", description: "Too many requests", extraHeaders: ["Retry-After"] },
  { status: "500", name: "Internal", description: "Internal error", extraHeaders: [] }
] as const

const headers: JsonObject = {
  "RateLimit-Limit": {
    description: "Requests that the bucket holds",
    required: true,
    schema: { type: "integer", minimum: 0, examples: [60] }
  },
  "RateLimit-Remaining": {
    description: "Requests left in the bucket",
    required: true,
    schema: { type: "integer", minimum: 0, examples: [59] }
  },
  "RateLimit-Reset": {
    description: "Seconds until the bucket is full again",
    required: true,
    schema: { type: "integer", minimum: 0, examples: [1] }
  },
  "Retry-After": {
    description: "Seconds to wait before the next attempt",
    required: true,
    schema: { type: "integer", minimum: 0, examples: [1] }
  }
}

const headerRefs = (names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const rateLimitHeaders = headerRefs(["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"])

const securitySchemes: JsonObject = {
  session: {
    type: "apiKey",
    in: "cookie",
    name: "__Host-session",
    description: "Browser session. Every change also needs the session's token in X-CSRF-Token."
  },
  token: {
    type: "http",
    scheme: "bearer",
    description: "Personal access token. Scopes are flat: none implies another."
  },
  enrolment: {
    type: "http",
    scheme: "Enrolment",
    description: "One-use enrolment token of a sandbox host: `Authorization: Enrolment <token>`."
  }
}

/** Components are named after the domain type, not after its encoded side (`RunEncoded` becomes `Run`). */
const renameEncoded = (document: JsonObject): JsonObject => {
  const { components } = document
  const schemas = isObject(components) && isObject(components["schemas"]) ? components["schemas"] : {}
  const renamed = new Map<string, string>()
  for (const name of Object.keys(schemas)) {
    if (!name.endsWith("Encoded")) continue
    const plain = name.slice(0, -"Encoded".length)
    const taken = schemas[plain]
    // An alias of the encoded side says nothing of its own and gives its name away.
    if (taken === undefined || (isObject(taken) && taken["$ref"] === schemaPrefix + name)) renamed.set(name, plain)
  }
  const aliases = new Set(renamed.values())
  const kept = Object.entries(schemas).filter(([name]) => !aliases.has(name))
  const withNames = {
    ...document,
    components: {
      ...(isObject(components) ? components : {}),
      schemas: Object.fromEntries(kept.map(([name, schema]) => [renamed.get(name) ?? name, schema]))
    }
  }
  return rebuild(withNames, (object) => {
    const ref = object["$ref"]
    const name = typeof ref === "string" ? renamed.get(ref.slice(schemaPrefix.length)) : undefined
    return name === undefined ? object : { ...object, $ref: schemaPrefix + name }
  }) as JsonObject
}

const withoutKey = (object: JsonObject, key: string, drop: (value: Json | undefined) => boolean): JsonObject => {
  if (!(key in object) || !drop(object[key])) return object
  const { [key]: _, ...rest } = object
  return rest
}

/** An additive API may answer with more members than a client knows. */
const openObjects = (value: Json) =>
  rebuild(value, (object) => withoutKey(object, "additionalProperties", (additional) => additional === false))

/** Names of the component schemas that `value` reaches. */
const reached = (value: Json, schemas: JsonObject): ReadonlySet<string> => {
  const names = new Set<string>()
  const walk = (value: Json) =>
    rebuild(value, (object) => {
      const ref = object["$ref"]
      if (typeof ref !== "string" || !ref.startsWith(schemaPrefix)) return object
      const name = ref.slice(schemaPrefix.length)
      const target = schemas[name]
      if (target !== undefined && !names.has(name)) {
        names.add(name)
        walk(target)
      }
      return object
    })
  walk(value)
  return names
}

/** The plain type of a number or boolean that travels as text in a path, query or header; otherwise nothing. */
const plainType = (schema: Json | undefined): JsonObject | undefined => {
  if (!isObject(schema)) return undefined
  if (schema["type"] === "integer" || schema["type"] === "number" || schema["type"] === "boolean") return schema
  const { anyOf } = schema
  // Optional members may add null, and numbers the texts NaN and Infinity: neither can be sent here.
  return isArray(anyOf) ? anyOf.map(plainType).find((member) => member !== undefined) : undefined
}

const parameterTypes = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
) => {
  const types = new Map<string, JsonObject>()
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => {
      const path = endpoint.path.replaceAll(/:([A-Za-z_]\w*)/gu, "{$1}")
      for (const [place, schema] of [
        ["path", endpoint.params],
        ["query", endpoint.query],
        ["header", endpoint.headers]
      ] as const) {
        if (schema === undefined) continue
        const { properties } = Schema.toJsonSchemaDocument(Schema.toType(schema)).schema as JsonObject
        for (const [name, property] of Object.entries(isObject(properties) ? properties : {})) {
          const type = plainType(property)
          if (type !== undefined) types.set(`${endpoint.method.toLowerCase()} ${path} ${place} ${name}`, type)
        }
      }
    }
  })
  return types
}

/** Adds a problem that the server can give beside those an endpoint declares for the same status. */
const withProblem = (response: JsonObject | undefined, name: string, description: string): JsonObject => {
  const own = isObject(response?.["content"]) ? response["content"][problemJson] : undefined
  if (response === undefined || !isObject(own) || !isObject(own["schema"]))
    return { $ref: `#/components/responses/${name}` }
  const alternatives = isArray(own["schema"]["anyOf"]) ? own["schema"]["anyOf"] : [own["schema"]]
  const others = alternatives.filter((schema) => !isObject(schema) || schema["$ref"] !== schemaPrefix + name)
  if (others.length === 0) return { $ref: `#/components/responses/${name}` }
  const texts = text(response["description"])
    .split(" | ")
    .filter((text) => text !== description)
  return {
    ...response,
    description: [...texts, description].join(" | "),
    content: { [problemJson]: { schema: { anyOf: [...others, { $ref: schemaPrefix + name }] } } }
  }
}

const finishOperation = (
  operation: Operation,
  typeOf: (place: string, name: string) => JsonObject | undefined
): Operation => {
  const parameters = operation.parameters.map((parameter) => {
    const type = typeOf(text(parameter["in"]), text(parameter["name"]))
    return type === undefined ? parameter : { ...parameter, schema: type }
  })
  const responses: Record<string, JsonObject> = { ...operation.responses }
  for (const { status, name, description } of problems) {
    responses[status] = withProblem(responses[status], name, description)
  }
  return {
    ...operation,
    parameters,
    responses: mapValues(responses, (response) =>
      "$ref" in response
        ? response
        : {
            ...(openObjects(response) as JsonObject),
            headers: { ...(isObject(response["headers"]) ? response["headers"] : {}), ...rateLimitHeaders }
          }
    )
  }
}

const refuseSilence = (document: OpenApiDocument) => {
  const silent = [
    ...document.tags.filter((tag) => !tag["description"]).map((tag) => `tag ${text(tag["name"])} has no description`),
    ...Object.values(document.paths)
      .flatMap((item) => Object.values(item))
      .filter((operation) => !operation["summary"])
      .map((operation) => `operation ${operation.operationId} has no summary`)
  ]
  if (silent.length > 0) throw new Error(`The contract is not documented: ${silent.join(", ")}`)
}

/**
 * The OpenAPI document of `api`, ready to be served and checked in.
 *
 * Throws an `Error` that names every operation without a summary and every
 * group without a description: a text made up from an id would help nobody.
 */
export const toOpenApi = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): OpenApiDocument => {
  const generated = OpenApi.fromApi(api.annotate(HttpApi.AdditionalSchemas, [Validation, RateLimited, Internal]))
  const raw = rebuild(renameEncoded(JSON.parse(JSON.stringify(generated))), (object) =>
    withoutKey(object, "x-effect-stream", () => true)
  ) as OpenApiDocument

  const types = parameterTypes(api)
  const paths = mapValues(raw.paths, (item, path) =>
    mapValues(item, (operation, method) =>
      finishOperation(operation, (place, name) => types.get(`${method} ${path} ${place} ${name}`))
    )
  )

  const responses = Object.fromEntries(
    problems.map(({ name, description, extraHeaders }) => [
      name,
      {
        description,
        headers: { ...rateLimitHeaders, ...headerRefs(extraHeaders) },
        content: { [problemJson]: { schema: { $ref: schemaPrefix + name } } }
      }
    ])
  )

  const schemas = raw.components["schemas"] ?? {}
  const answers = Object.values(paths).flatMap((item) => Object.values(item).map((operation) => operation.responses))
  const answered = reached([...answers, responses], schemas)
  const asked = reached(
    Object.values(paths).flatMap((item) => Object.values(item).map(({ responses: _, ...request }) => request)),
    schemas
  )
  const used = Object.entries(schemas).filter(([name]) => answered.has(name) || asked.has(name))

  const document: OpenApiDocument = {
    openapi: raw.openapi,
    info: { ...raw.info, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: "/", description: "The registry that serves this document" }],
    tags: raw.tags,
    paths,
    components: {
      schemas: Object.fromEntries(
        used.map(([name, schema]) => [name, answered.has(name) ? openObjects(schema) : schema])
      ),
      responses,
      headers,
      securitySchemes
    }
  }
  refuseSilence(document)
  return document
}
