import canonicalize from "canonicalize"

/** RFC 8785. `value` must be JSON data: `undefined` at the top is a bug of the caller. */
export const canonicalJson = (value: unknown): string => {
  const json = canonicalize(value)
  if (json === undefined) throw new TypeError("not a JSON value")
  return json
}
