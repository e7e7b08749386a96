/**
 * The API is additive: what a published OpenAPI document promises is neither
 * removed nor narrowed. Spec: Versioning 1.
 *
 * The comparison is between what is written, not between what a client can
 * bear: a tightened bound is refused in an answer as in a request.
 */
import { isObject, type Json, type JsonObject, list, object, resolve, text, texts } from "./Json.ts"

/** A request is written by clients, an answer is read by them. */
type Side = "request" | "answer"

const methods = ["get", "put", "post", "delete", "options", "head", "patch", "trace"]

const lowerBounds = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]
const upperBounds = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]
const verbatim = ["pattern", "format", "multipleOf", "uniqueItems", "contentEncoding"]

/** A schema and the members of its `allOf`, each of which holds. */
const parts = (document: JsonObject, value: Json | undefined): ReadonlyArray<JsonObject> => {
  const schema = resolve(document, value)
  return [schema, ...list(schema["allOf"]).flatMap((part) => parts(document, part))]
}

/** The alternatives of a schema: members of `anyOf` and `oneOf`, and each type of a list of types. */
const alternatives = (document: JsonObject, value: Json | undefined): ReadonlyArray<JsonObject> => {
  const schema = resolve(document, value)
  const union = [...list(schema["anyOf"]), ...list(schema["oneOf"])]
  if (union.length > 0) return union.flatMap((member) => alternatives(document, member))
  return Array.isArray(schema["type"]) ? schema["type"].map((type) => ({ ...schema, type })) : [schema]
}

const kind = (schema: JsonObject): string => {
  const type = schema["type"]
  return typeof type === "string" ? type : "any"
}

class Comparison {
  readonly before: JsonObject
  readonly after: JsonObject
  private readonly compared = new Set<string>()

  constructor(before: JsonObject, after: JsonObject) {
    this.before = before
    this.after = after
  }

  schema(before: Json | undefined, after: Json | undefined, side: Side, at: string): ReadonlyArray<string> {
    const refs = [object(before)["$ref"], object(after)["$ref"]]
    if (refs.every((ref) => typeof ref === "string")) {
      const pair = `${refs.join(" ")} ${side}`
      // A recursive schema is judged once; whoever began the judgement reports it.
      if (this.compared.has(pair)) return []
      this.compared.add(pair)
      const found = this.union(before, after, side, at)
      this.compared.delete(pair)
      return found
    }
    return this.union(before, after, side, at)
  }

  private union(before: Json | undefined, after: Json | undefined, side: Side, at: string): ReadonlyArray<string> {
    const olds = alternatives(this.before, before)
    const news = alternatives(this.after, after)
    const lost = olds.flatMap((old) => {
      const attempts = news.map((candidate) => this.alternative(old, candidate, side, at))
      const closest = attempts.reduce((best, next) => (next.length < best.length ? next : best), attempts[0] ?? [])
      if (closest.length === 0) return []
      const related = olds.length === 1 && news.length === 1
      return related || news.filter((candidate) => kind(candidate) === kind(old)).length === 1
        ? closest
        : [`${at}: an alternative (${describe(old)}) is removed or narrowed`]
    })
    if (side === "request") return lost
    const kinds = new Set(olds.map(kind))
    const gained = news
      .map(kind)
      .filter((name) => !kinds.has(name) && !kinds.has("any") && !(name === "integer" && kinds.has("number")))
    return [...lost, ...(lost.length > 0 ? [] : gained.map((name) => `${at}: may now also be ${name}`))]
  }

  private alternative(old: JsonObject, candidate: JsonObject, side: Side, at: string): ReadonlyArray<string> {
    const olds = parts(this.before, old)
    const news = parts(this.after, candidate)
    const first = (schemas: ReadonlyArray<JsonObject>, key: string) =>
      schemas.map((schema) => schema[key]).find((value) => value !== undefined)
    const numbers = (schemas: ReadonlyArray<JsonObject>, key: string) =>
      schemas.map((schema) => schema[key]).filter((value) => typeof value === "number")
    const found: Array<string> = []

    const [oldKind, newKind] = [first(olds, "type") ?? "any", first(news, "type") ?? "any"]
    const wider = newKind === "any" || (oldKind === "integer" && newKind === "number")
    if (oldKind !== newKind && !(wider && side === "request")) {
      return [`${at}: type ${text(oldKind)} is now ${text(newKind)}`]
    }

    const [oldValues, newValues] = [values(olds), values(news)]
    if (newValues !== undefined) {
      if (oldValues === undefined) found.push(`${at}: only ${[...newValues].join(", ")} remain`)
      else for (const value of oldValues) if (!newValues.has(value)) found.push(`${at}: value ${value} is removed`)
    }

    for (const key of lowerBounds) {
      const [had, has] = [Math.max(...numbers(olds, key)), Math.max(...numbers(news, key))]
      if (has > had) found.push(`${at}: ${key} rises to ${has}`)
    }
    for (const key of upperBounds) {
      const [had, has] = [Math.min(...numbers(olds, key)), Math.min(...numbers(news, key))]
      if (has < had) found.push(`${at}: ${key} falls to ${has}`)
    }
    for (const key of verbatim) {
      const kept = new Set(olds.map((schema) => JSON.stringify(schema[key])))
      for (const schema of news) {
        if (schema[key] !== undefined && schema[key] !== false && !kept.has(JSON.stringify(schema[key]))) {
          found.push(`${at}: ${key} is now ${JSON.stringify(schema[key])}`)
        }
      }
      if (side === "answer" && first(olds, key) !== undefined && first(news, key) === undefined) {
        found.push(`${at}: ${key} is no longer promised`)
      }
    }

    const [oldMembers, newMembers] = [members(olds), members(news)]
    const [oldRequired, newRequired] = [required(olds), required(news)]
    for (const [name, member] of oldMembers) {
      const there = newMembers.get(name)
      if (there === undefined) found.push(`${at}.${name}: the member is removed`)
      else found.push(...this.schema(member, there, side, `${at}.${name}`))
    }
    if (side === "request") {
      for (const name of newRequired) if (!oldRequired.has(name)) found.push(`${at}.${name}: is now required`)
    } else {
      for (const name of oldRequired) {
        if (newMembers.has(name) && !newRequired.has(name)) found.push(`${at}.${name}: is no longer always present`)
      }
    }

    const [oldItems, newItems] = [first(olds, "items"), first(news, "items")]
    if (newItems !== undefined) found.push(...this.schema(oldItems, newItems, side, `${at}[]`))
    const [oldRest, newRest] = [first(olds, "additionalProperties"), first(news, "additionalProperties")]
    if (newRest === false && oldRest !== false) found.push(`${at}: other members are now refused`)
    if (isObject(oldRest) && isObject(newRest)) found.push(...this.schema(oldRest, newRest, side, `${at}{}`))
    return found
  }

  parameters(before: JsonObject, after: JsonObject, at: string): ReadonlyArray<string> {
    const index = (document: JsonObject, operation: JsonObject) =>
      new Map(
        list(operation["parameters"]).map((parameter) => {
          const resolved = resolve(document, parameter)
          return [`${text(resolved["in"])} ${text(resolved["name"])}`, resolved] as const
        })
      )
    const [olds, news] = [index(this.before, before), index(this.after, after)]
    const found: Array<string> = []
    for (const [name, old] of olds) {
      const now = news.get(name)
      if (now === undefined) found.push(`${at}: parameter ${name} is removed`)
      else found.push(...this.schema(old["schema"], now["schema"], "request", `${at} ${name}`))
    }
    for (const [name, now] of news) {
      if (now["required"] === true && olds.get(name)?.["required"] !== true) {
        found.push(`${at}: parameter ${name} is now required`)
      }
    }
    return found
  }

  content(before: Json | undefined, after: Json | undefined, side: Side, at: string): ReadonlyArray<string> {
    return Object.entries(object(before)).flatMap(([mediaType, old]) => {
      const now = object(after)[mediaType]
      if (now === undefined) return [`${at}: ${mediaType} is removed`]
      return this.schema(object(old)["schema"], object(now)["schema"], side, `${at} ${mediaType}`)
    })
  }

  body(before: JsonObject, after: JsonObject, at: string): ReadonlyArray<string> {
    const [old, now] = [resolve(this.before, before["requestBody"]), resolve(this.after, after["requestBody"])]
    const asked = now["required"] === true && old["required"] !== true
    return [
      ...(asked ? [`${at}: a body is now required`] : []),
      ...this.content(old["content"], now["content"], "request", `${at} body`)
    ]
  }

  responses(before: JsonObject, after: JsonObject, at: string): ReadonlyArray<string> {
    return Object.entries(object(before["responses"])).flatMap(([status, response]) => {
      const there = object(after["responses"])[status]
      if (there === undefined) return [`${at}: response ${status} is removed`]
      const [old, now] = [resolve(this.before, response), resolve(this.after, there)]
      const headers = Object.entries(object(old["headers"])).flatMap(([name, header]) => {
        const found = object(now["headers"])[name]
        const [oldHeader, newHeader] = [resolve(this.before, header), resolve(this.after, found)]
        if (found === undefined) return [`${at} ${status}: header ${name} is removed`]
        return [
          ...(oldHeader["required"] === true && newHeader["required"] !== true
            ? [`${at} ${status}: header ${name} is no longer always sent`]
            : []),
          ...this.schema(oldHeader["schema"], newHeader["schema"], "answer", `${at} ${status} header ${name}`)
        ]
      })
      return [...headers, ...this.content(old["content"], now["content"], "answer", `${at} ${status}`)]
    })
  }

  /** Each credential that was enough is still enough: some new requirement asks for no more schemes and scopes. */
  security(before: JsonObject, after: JsonObject, at: string): ReadonlyArray<string> {
    const open: ReadonlyArray<Json> = [{}]
    const requirements = (operation: JsonObject) => {
      const stated = list(operation["security"])
      return (stated.length === 0 ? open : stated).map(object)
    }
    const enough = (old: JsonObject, now: JsonObject) =>
      Object.entries(now).every(
        ([scheme, scopes]) => scheme in old && texts(scopes).every((scope) => texts(old[scheme]).includes(scope))
      )
    return requirements(before)
      .filter((old) => !requirements(after).some((now) => enough(old, now)))
      .map((old) => `${at}: ${Object.keys(old).join(" and ") || "no credential"} is no longer enough`)
  }

  operations(): ReadonlyArray<string> {
    return Object.entries(object(this.before["paths"])).flatMap(([path, item]) =>
      Object.entries(object(item))
        .filter(([method]) => methods.includes(method))
        .flatMap(([method, operation]) => {
          const at = `${method.toUpperCase()} ${path}`
          const there = object(object(this.after["paths"])[path])[method]
          if (there === undefined) return [`${at}: the operation is removed`]
          const [old, now] = [object(operation), object(there)]
          return [
            ...(old["operationId"] === now["operationId"]
              ? []
              : [`${at}: operationId ${text(old["operationId"])} is renamed`]),
            ...this.security(old, now, at),
            ...this.parameters(old, now, at),
            ...this.body(old, now, at),
            ...this.responses(old, now, at)
          ]
        })
    )
  }
}

const describe = (schema: JsonObject) => {
  const type = object(object(schema["properties"])["type"])["enum"]
  return texts(type).join(", ") || (schema["enum"] === undefined ? kind(schema) : texts(schema["enum"]).join(", "))
}

const values = (schemas: ReadonlyArray<JsonObject>): ReadonlySet<string> | undefined => {
  const sets = schemas.flatMap((schema) =>
    "const" in schema
      ? [[JSON.stringify(schema["const"])]]
      : Array.isArray(schema["enum"])
        ? [list(schema["enum"]).map((value) => JSON.stringify(value))]
        : []
  )
  return sets.length === 0
    ? undefined
    : new Set(sets.reduce((left, right) => left.filter((value) => right.includes(value))))
}

const members = (schemas: ReadonlyArray<JsonObject>) =>
  new Map(schemas.flatMap((schema) => Object.entries(object(schema["properties"]))))

const required = (schemas: ReadonlyArray<JsonObject>) => new Set(schemas.flatMap((schema) => texts(schema["required"])))

/**
 * What `after` takes back of what `before` promised, one sentence each; nothing
 * when the change is additive. Both are OpenAPI 3.1 documents as plain JSON.
 *
 * Refused: a removed path, operation, parameter, media type, response, header,
 * member or value; a narrowed type or bound; a new required parameter, body or
 * member of a request; a member of an answer that is no longer always there; a
 * credential that is no longer enough; a renamed operationId. New operations,
 * optional members, values and problems are additions.
 */
export const takenBack = (before: JsonObject, after: JsonObject): ReadonlyArray<string> => [
  ...new Set(new Comparison(before, after).operations())
]
