/** Search over published agents, with facet counts. Spec: Registry core routes; Versioning 2. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Identified } from "../Callers.ts"
import { Handle } from "../Ids.ts"
import { pageQuery } from "../Page.ts"
import { Mode } from "../Manifest.ts"
import { Verdict } from "../ScanReport.ts"
import { access } from "../Scopes.ts"
import { Agent } from "./Agents.ts"

/** What a release really asks for: an empty list asks for nothing. */
export const CapabilityKind = Schema.Literals([
  "filesystem.read",
  "filesystem.write",
  "exec",
  "network",
  "browser",
  "targetHosts",
  "mcp",
  "secrets"
]).annotate({ identifier: "CapabilityKind" })
export type CapabilityKind = typeof CapabilityKind.Type

const counts = (description: string) => Schema.Record(Schema.String, Schema.Int).pipe(Schema.annotate({ description }))

export const SearchAnswer = Schema.Struct({
  items: Schema.Array(Agent),
  total: Schema.Int,
  offset: Schema.Int,
  limit: Schema.Int,
  /** Over everything that matches, not over the page. */
  facets: Schema.Struct({
    mode: counts("Matches by run mode"),
    capability: counts("Matches by what they ask for"),
    namespace: counts("Matches by namespace, the twenty with most"),
    verdict: counts("Matches by the verdict of their latest version"),
    license: counts("Matches by licence, the twenty with most")
  })
}).annotate({ identifier: "SearchAnswer" })
export type SearchAnswer = typeof SearchAnswer.Type

export class SearchGroup extends HttpApiGroup.make("search")
  .add(
    HttpApiEndpoint.get("search", "/api/v1/search", {
      query: {
        q: Schema.optionalKey(
          Schema.String.check(Schema.isMaxLength(200)).pipe(
            Schema.annotate({ description: "Words; an exact name comes first" })
          )
        ),
        mode: Schema.optionalKey(Mode),
        capability: Schema.optionalKey(CapabilityKind),
        namespace: Schema.optionalKey(Handle),
        verdict: Schema.optionalKey(Verdict),
        license: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(128))),
        ...pageQuery(100, 20)
      },
      success: SearchAnswer
    })
      .middleware(Identified)
      .annotateMerge(access.anyone("agent:read"))
      .annotate(OpenApi.Summary, "Search published agents")
  )
  .annotateMerge(OpenApi.annotations({ title: "Search", description: "Search with facets" })) {}
