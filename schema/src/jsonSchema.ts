/** The JSON Schema of `agent.yaml`, for editors and for authors without our tools. */
import { Schema } from "effect"
import { Manifest } from "./Manifest.ts"

const dialect = "https://json-schema.org/draft/2020-12/schema"

/**
 * JSON Schema 2020-12 of a manifest, major 2. Unknown members are refused here,
 * so that an editor underlines a misspelt one.
 */
export const manifestJsonSchema = (): Schema.JsonObject => {
  const { schema, definitions } = Schema.toJsonSchemaDocument(Manifest, { onExcessProperty: "error" })
  const { Manifest: root, ...others } = definitions
  return JSON.parse(JSON.stringify({ $schema: dialect, ...(root ?? schema), $defs: others }))
}
