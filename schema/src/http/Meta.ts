import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Identified } from "../Callers.ts"
import { SigningKey } from "../ScanReport.ts"
import { NotFound } from "../Problems.ts"
import { access } from "../Scopes.ts"

export const Meta = Schema.Struct({
  service: Schema.String,
  version: Schema.String,
  /** Extensions mounted under /api/v1/x/. */
  extensions: Schema.Array(Schema.String),
  features: Schema.Struct({ voice: Schema.Boolean, knowledge: Schema.Boolean }),
  signInProviders: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String, start: Schema.String }))
}).annotate({
  identifier: "Meta",
  examples: [
    {
      service: "service",
      version: "0.1.0",
      extensions: ["runs"],
      features: { voice: false, knowledge: false },
      signInProviders: [{ id: "oidc", name: "Example", start: "/api/v1/auth/oidc/oidc/start" }]
    }
  ]
})
export type Meta = typeof Meta.Type

export class MetaGroup extends HttpApiGroup.make("meta")
  .add(
    HttpApiEndpoint.get("meta", "/api/v1/meta", { success: Meta })
      .middleware(Identified)
      .annotateMerge(access.anyone())
      .annotate(OpenApi.Summary, "What this deployment offers")
  )
  .annotateMerge(OpenApi.annotations({ title: "Meta", description: "What a deployment is and offers" })) {}

export const KeySet = Schema.Struct({ keys: Schema.Array(SigningKey) }).annotate({ identifier: "KeySet" })

export class WellKnownGroup extends HttpApiGroup.make("wellKnown")
  .add(
    HttpApiEndpoint.get("signingKeys", "/.well-known/:service/signing-keys.json", {
      params: { service: Schema.String.pipe(Schema.annotate({ examples: ["service"] })) },
      success: KeySet,
      error: NotFound
    })
      .middleware(Identified)
      .annotateMerge(access.anyone())
      .annotate(OpenApi.Summary, "Keys that sign attestations and the log's checkpoints: active and retired")
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Well-known", description: "Addresses that clients look up by convention" })
  ) {}
