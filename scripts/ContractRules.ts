/** What every operation of the contract has to say, beyond what an OpenAPI linter asks. Spec: Versioning 2. */
import { isObject, type Json, type JsonObject, list, object, resolve, text, texts } from "./Json.ts"

/** Whether at least one example stands anywhere in the tree of a schema. */
const exemplified = (document: JsonObject, value: Json | undefined, seen: Set<string> = new Set()): boolean => {
  if (Array.isArray(value)) return value.some((item) => exemplified(document, item, seen))
  if (!isObject(value)) return false
  const ref = value["$ref"]
  if (typeof ref === "string") {
    if (seen.has(ref)) return false
    seen.add(ref)
    return exemplified(document, resolve(document, value), seen)
  }
  if (list(value["examples"]).length > 0 || isObject(value["examples"]) || value["example"] !== undefined) return true
  return Object.values(value).some((member) => exemplified(document, member, seen))
}

const isProblem = (status: string) => status.startsWith("4") || status.startsWith("5")

/** What takes something back is done also when there was nothing: these never answer 404. */
const alwaysAnswered = new Set(["installs.remove", "installs.unstar"])

const operationFaults = (document: JsonObject, path: string, operation: JsonObject): ReadonlyArray<string> => {
  const responses = object(operation["responses"])
  const faults: Array<string> = []
  const missing = (status: string, because: string) => {
    if (responses[status] === undefined) faults.push(`${because}, but ${status} is not documented`)
  }

  if (!operation["summary"]) faults.push("has no summary")
  const described = new Set(
    list(document["tags"])
      .map(object)
      .filter((tag) => tag["description"])
      .map((tag) => text(tag["name"]))
  )
  const tags = texts(operation["tags"])
  if (tags.length === 0) faults.push("has no tag")
  for (const tag of tags) if (!described.has(tag)) faults.push(`tag ${tag} has no description`)

  const security = operation["security"]
  if (!Array.isArray(security)) faults.push("does not state its security; an empty list means public")
  if (list(security).length > 0) {
    missing("401", "takes credentials")
    missing("403", "takes credentials")
  } else if (responses["401"] !== undefined) faults.push("answers 401, but states that it is public")
  const schemes = object(object(document["components"])["securitySchemes"])
  for (const scheme of list(security).flatMap((requirement) => Object.keys(object(requirement)))) {
    if (schemes[scheme] === undefined) faults.push(`security scheme ${scheme} is not defined`)
  }

  if (path.includes("{") && !alwaysAnswered.has(text(operation["operationId"]))) missing("404", "has path parameters")
  missing("429", "is rate limited")
  missing("500", "can fail")

  const bodies: Array<readonly [string, JsonObject]> = [["request", resolve(document, operation["requestBody"])]]
  for (const [status, response] of Object.entries(responses)) {
    const resolved = resolve(document, response)
    if (!isProblem(status)) bodies.push([status, resolved])
    else if (object(resolved["content"])["application/problem+json"] === undefined) {
      faults.push(`${status} is not application/problem+json`)
    }
  }
  for (const [name, body] of bodies) {
    const media = object(body["content"])["application/json"]
    if (media !== undefined && !exemplified(document, media)) faults.push(`${name} body has no example`)
  }
  return faults
}

/** What the document leaves unsaid, one sentence each. `document` is an OpenAPI 3.1 document as plain JSON. */
export const contractFaults = (document: JsonObject): ReadonlyArray<string> => [
  ...Object.entries(object(document["paths"])).flatMap(([path, item]) =>
    Object.entries(object(item)).flatMap(([method, operation]) =>
      operationFaults(document, path, object(operation)).map((fault) => `${method.toUpperCase()} ${path}: ${fault}`)
    )
  ),
  ...Object.keys(object(object(document["components"])["schemas"]))
    .filter((name) => /_\d+$/u.test(name))
    .map((name) => `component ${name}: two schemas share one identifier`)
]

/** Members of a JSON Schema that an editor could not explain, as JSON-path-like names. */
export const undescribedMembers = (schema: JsonObject): ReadonlyArray<string> => {
  const walk = (value: Json | undefined, at: string): ReadonlyArray<string> => [
    ...Object.entries(object(object(value)["properties"])).flatMap(([name, member]) => {
      const described = object(resolve(schema, member))["description"] ?? object(member)["description"]
      return [...(described === undefined ? [`${at}${name}`] : []), ...walk(member, `${at}${name}.`)]
    }),
    ...Object.entries(object(object(value)["$defs"])).flatMap(([name, member]) => walk(member, `${name}.`)),
    ...(isObject(object(value)["items"]) ? walk(object(value)["items"], at) : [])
  ]
  return walk(schema, "")
}
