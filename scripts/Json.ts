/** Plain JSON, read without trust: what is missing or of another kind reads as empty. */
export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject
export type JsonObject = { readonly [key: string]: Json }

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

export const object = (value: Json | undefined): JsonObject => (isObject(value) ? value : {})

export const list = (value: Json | undefined): ReadonlyArray<Json> => (Array.isArray(value) ? value : [])

export const text = (value: Json | undefined): string =>
  typeof value === "string" ? value : JSON.stringify(value ?? null)

export const texts = (value: Json | undefined): ReadonlyArray<string> => list(value).map(text)

/** What a reference inside `document` (`#/components/...`) points to; a chain of references is followed to its end. */
export const resolve = (document: JsonObject, value: Json | undefined): JsonObject => {
  let current = object(value)
  const seen = new Set<string>()
  for (let ref = current["$ref"]; typeof ref === "string" && !seen.has(ref); ref = current["$ref"]) {
    seen.add(ref)
    const steps = ref.slice("#/".length).split("/")
    current = object(
      steps.reduce<Json | undefined>(
        (node, step) => object(node)[step.replaceAll("~1", "/").replaceAll("~0", "~")],
        document
      )
    )
  }
  return current
}
