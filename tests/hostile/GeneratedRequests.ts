/**
 * Hostile requests over every route of the OpenAPI document, from a seed: wrong
 * types, sizes, encodings, ids, methods and headers. Every request that could
 * change something carries at least one thing that the contract refuses, so
 * that none of them may store a row.
 */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"

export interface Generated {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array<ArrayBuffer> | undefined
  readonly caller: "nobody" | "account" | "staff" | "wrong"
}

interface Operation {
  readonly method: string
  readonly path: string
  readonly query: ReadonlyArray<string>
  readonly bodyType: "json" | "form" | "bytes" | "none"
  readonly fields: ReadonlyArray<string>
}

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

/** mulberry32: small, seeded, good enough to vary requests. */
export const seededRandom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

const document = parse(readFileSync(fileURLToPath(new URL("../../schema/openapi.yaml", import.meta.url)), "utf8"))

const resolve = (schema: any): any =>
  schema?.$ref === undefined ? schema : resolve(document.components.schemas[schema.$ref.split("/").at(-1)])

export const operations: ReadonlyArray<Operation> = Object.entries<any>(document.paths).flatMap(([path, item]) =>
  ["get", "post", "put", "patch", "delete"].flatMap((method) => {
    const operation = item[method]
    if (operation === undefined) return []
    const content = operation.requestBody?.content ?? {}
    const json = resolve(content["application/json"]?.schema)
    return [
      {
        method: method.toUpperCase(),
        path,
        query: (operation.parameters ?? [])
          .filter((parameter: any) => parameter.in === "query")
          .map(({ name }: any) => name),
        bodyType:
          json !== undefined
            ? "json"
            : "multipart/form-data" in content
              ? "form"
              : Object.keys(content).length > 0
                ? "bytes"
                : "none",
        fields: Object.keys(json?.properties ?? {})
      } satisfies Operation
    ]
  })
)

const encode = (text: string) => new TextEncoder().encode(text)

export const generator = (seed: number) => {
  const random = seededRandom(seed)
  const below = (n: number) => Math.floor(random() * n)
  const pick = <A>(items: ReadonlyArray<A>): A => items[below(items.length)]

  const odd: ReadonlyArray<() => string> = [
    () => "",
    () => "..",
    () => "%00",
    () => "%2e%2e%2f",
    () => "a".repeat(below(5_000)),
    () => encodeURIComponent("naïve ☃ \u202e"),
    () => "%ff%fe",
    () => "-1",
    () => "1e309",
    () => encodeURIComponent("'; DROP TABLE runs; --"),
    () => `run_${"0".repeat(26)}`,
    () => "sha256:" + "0".repeat(64),
    () => "{}",
    () => encodeURIComponent("<script>")
  ]
  const value = (depth: number): Json => {
    switch (below(depth > 3 ? 7 : 9)) {
      case 0:
        return null
      case 1:
        return random() < 0.5
      case 2:
        return (random() - 0.5) * 10 ** below(300)
      case 3:
        return Number.MAX_SAFE_INTEGER + below(10)
      case 4:
        return "x".repeat(below(3_000))
      case 5:
        return "\u0000\ud800\u202e"
      case 6:
        return ""
      case 7:
        return Array.from({ length: below(30) }, () => value(depth + 1))
      default:
        return Object.fromEntries(
          Array.from({ length: below(6) }, () => [
            pick(["a", "__proto__", "constructor", "", "ref", "name"]),
            value(depth + 1)
          ])
        )
    }
  }
  const nested = (depth: number) => `${"[".repeat(depth)}${"]".repeat(depth)}`

  /** A body that no route takes: of another shape, or with every field of another type. */
  const jsonBody = (fields: ReadonlyArray<string>): Uint8Array<ArrayBuffer> => {
    switch (below(9)) {
      case 0:
        return encode("{")
      case 1:
        return encode("")
      case 2:
        return new Uint8Array(Array.from({ length: below(200) }, () => below(256)))
      case 3:
        return encode(nested(1 + below(20_000)))
      case 4:
        return encode(JSON.stringify("x".repeat(2 * 1024 * 1024)))
      case 5:
        return encode(JSON.stringify(value(0)) ?? "null").length < 3
          ? encode("[]")
          : encode(`[${JSON.stringify(value(0))}]`)
      default:
        // `{ wrong: true }` is the type of no field of the contract.
        return encode(
          JSON.stringify(
            Object.fromEntries([...fields, "extra"].map((field) => [field, { wrong: true, more: value(1) }]))
          )
        )
    }
  }

  return (): Generated => {
    const operation = pick(operations)
    const path = operation.path.replaceAll(/\{[^}]+\}/gu, () => (random() < 0.3 ? "missing" : pick(odd)()) || "x")
    const query = operation.query.filter(() => random() < 0.7).map((name) => `${name}=${pick(odd)()}`)
    if (random() < 0.2) query.push(`${pick(odd)()}=${pick(odd)()}`)
    const method =
      random() < 0.1 ? pick(["PUT", "DELETE", "PATCH", "POST", "OPTIONS", "TRACE", "PROPFIND"]) : operation.method
    const hasBody = method !== "GET" && method !== "TRACE"
    const contentType =
      random() < 0.2
        ? pick([
            "text/plain",
            "application/xml",
            "multipart/form-data",
            "multipart/form-data; boundary=",
            "application/json; charset=utf-16",
            ""
          ])
        : operation.bodyType === "form"
          ? "multipart/form-data; boundary=b"
          : operation.bodyType === "bytes"
            ? "application/octet-stream"
            : "application/json"
    const body = !hasBody
      ? undefined
      : contentType.startsWith("multipart")
        ? encode(
            pick([
              "",
              "--b--",
              "--b\r\n\r\n--b--",
              '--b\r\ncontent-disposition: form-data; name="archive"\r\n\r\nx\r\n--b--',
              '--b\r\ncontent-disposition: form-data; name="archive"; filename="a.tgz"\r\n\r\nnot gzip\r\n--b--'
            ])
          )
        : jsonBody(operation.fields)
    // An upload's body is free; its name must not be: without one it is refused.
    const uploads = operation.bodyType === "bytes"
    const search = uploads ? [`name=${pick(["..", "%2Fetc%2Fpasswd", "a%00b", "a%2F%2Fb", ""])}`] : query
    return {
      method,
      path: search.length === 0 ? path : `${path}?${search.join("&")}`,
      headers: {
        ...(contentType === "" || !hasBody ? {} : { "content-type": contentType }),
        ...(random() < 0.2
          ? { "idempotency-key": pick(["", "k".repeat(256), "k", "☃".normalize() === "" ? "" : "%"]) }
          : {}),
        ...(random() < 0.1 ? { "last-event-id": pick(["x", "-1", "1e99"]) } : {}),
        ...(random() < 0.1 ? { accept: pick(["text/html", "application/xml", "*/*;q=0"]) } : {}),
        ...(random() < 0.05 ? { cookie: pick(["session=x", "session=", "a".repeat(4_000)]) } : {}),
        ...(random() < 0.05 ? { "content-encoding": "gzip" } : {})
      },
      body,
      caller: pick(["nobody", "account", "account", "staff", "wrong"])
    }
  }
}
