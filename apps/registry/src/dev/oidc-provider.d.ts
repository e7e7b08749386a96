/** The part of oidc-provider that the development provider uses; the package ships no types. */
declare module "oidc-provider" {
  import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"

  interface Interaction {
    readonly uid: string
    readonly prompt: { readonly name: string }
    readonly params: Readonly<Record<string, unknown>>
  }
  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }
  interface Policy {
    remove(name: "consent"): void
  }
  export const interactionPolicy: { readonly base: () => Policy }
  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>)
    readonly Grant: new (grant: { readonly accountId: string; readonly clientId: string }) => Grant
    callback(): RequestListener
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<Interaction>
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: { readonly login: { readonly accountId: string } }
    ): Promise<void>
    on(event: "server_error", listener: (context: unknown, error: Error) => void): void
  }
}
