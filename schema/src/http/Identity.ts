/** Sign-in, the caller's own account, sessions and personal access tokens. Spec: Authentication. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authenticated, Identified } from "../Callers.ts"
import { AccountId, Handle, SessionId, SshKeyId, Timestamp, TokenId } from "../Ids.ts"
import {
  FeatureNotIncluded,
  CodeInvalid,
  NotFound,
  SignInFailed,
  SignInUnavailable,
  SshKeysFull,
  SshKeyTaken,
  SsoLinkRequired,
  Unavailable
} from "../Problems.ts"
import { access, Scope } from "../Scopes.ts"

const NextPath = Schema.String.check(Schema.isPattern(/^\/(?![/\\])[^\s]{0,2000}$/u)).pipe(
  Schema.annotate({ description: "Path of this registry to go to after sign-in", examples: ["/"] })
)

const TokenName = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100)).pipe(
  Schema.annotate({ examples: ["laptop"] })
)

export const TokenRecord = Schema.Struct({
  id: TokenId,
  name: Schema.String,
  scopes: Schema.Array(Scope),
  /** The first characters of the token, enough to find it in a list. */
  hint: Schema.String,
  createdAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp),
  lastUsedAt: Schema.NullOr(Timestamp)
}).annotate({ identifier: "TokenRecord" })
export type TokenRecord = typeof TokenRecord.Type

export const CreateToken = Schema.Struct({
  name: TokenName,
  scopes: Schema.Array(Scope)
    .check(Schema.isMinLength(1))
    .pipe(Schema.annotate({ examples: [["agent:read", "run:write"]] })),
  expiresInDays: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 366 })).pipe(
      Schema.annotate({ description: "Default 90" })
    )
  )
}).annotate({ identifier: "CreateToken" })

export const CreatedToken = Schema.Struct({
  ...TokenRecord.fields,
  /** Shown this once. */
  token: Schema.String
}).annotate({ identifier: "CreatedToken" })

const Code = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))

export const DesktopGrant = Schema.Struct({
  /** For the desktop program, which changes it for a token: works once, for 60 seconds. */
  code: Schema.String,
  expiresAt: Timestamp,
  /** What the token is going to be good for. */
  scopes: Schema.Array(Scope)
}).annotate({ identifier: "DesktopGrant" })

export const DesktopExchange = Schema.Struct({
  code: Code,
  /** Name of the token in the account's list; default `desktop`. */
  name: Schema.optionalKey(TokenName)
}).annotate({
  identifier: "DesktopExchange",
  examples: [{ code: "mF_9.B5f-4.1JqM", name: "Ada's laptop" }]
})

export const VerifyEmail = Schema.Struct({ token: Code }).annotate({
  identifier: "VerifyEmail",
  examples: [{ token: "mF_9.B5f-4.1JqM" }]
})

export class AuthGroup extends HttpApiGroup.make("auth")
  .add(
    HttpApiEndpoint.get("start", "/api/v1/auth/oidc/:provider/start", {
      params: { provider: Schema.String.pipe(Schema.annotate({ examples: ["oidc"] })) },
      query: { next: Schema.optionalKey(NextPath) },
      success: HttpApiSchema.WithHeaders(HttpApiSchema.Empty(302), { location: Schema.String }),
      error: [NotFound, SignInUnavailable]
    })
      .middleware(Identified)
      .annotateMerge(access.anyone())
      .annotate(OpenApi.Summary, "Start sign-in at the identity provider"),
    HttpApiEndpoint.get("callback", "/api/v1/auth/oidc/:provider/callback", {
      params: { provider: Schema.String.pipe(Schema.annotate({ examples: ["oidc"] })) },
      success: HttpApiSchema.WithHeaders(HttpApiSchema.Empty(302), { location: Schema.String }),
      error: [NotFound, SignInFailed, SsoLinkRequired, SignInUnavailable]
    })
      .middleware(Identified)
      .annotateMerge(access.anyone())
      .annotate(OpenApi.Summary, "The identity provider's answer"),
    HttpApiEndpoint.post("desktopExchange", "/api/v1/auth/desktop/exchange", {
      payload: DesktopExchange,
      success: CreatedToken.pipe(HttpApiSchema.status(201)),
      error: CodeInvalid
    })
      .middleware(Identified)
      .annotateMerge(access.anyone())
      .annotate(OpenApi.Summary, "Change the code of a desktop grant for a token"),
    HttpApiEndpoint.post("verifyEmail", "/api/v1/auth/verify-email", {
      payload: VerifyEmail,
      success: HttpApiSchema.NoContent,
      error: CodeInvalid
    })
      .middleware(Identified)
      .annotateMerge(access.anyone())
      .annotate(OpenApi.Summary, "Verify an address with the token of its mail"),
    HttpApiEndpoint.post("signOut", "/api/v1/auth/sign-out", { success: HttpApiSchema.NoContent })
      .middleware(Authenticated)
      .annotateMerge(access.sessionUnverified)
      .annotate(OpenApi.Summary, "End this browser session")
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Sign-in", description: "Sign-in through the configured OpenID Connect provider" })
  ) {}

export const Membership = Schema.Struct({
  org: Handle,
  role: Schema.Literals(["owner", "admin", "member"])
}).annotate({ identifier: "Membership" })

export const Profile = Schema.Struct({
  id: AccountId,
  handle: Handle,
  displayName: Schema.String,
  email: Schema.String,
  emailVerified: Schema.Boolean,
  staff: Schema.Boolean,
  memberships: Schema.Array(Membership),
  createdAt: Timestamp,
  /** Present for a browser session: send it back as X-CSRF-Token with every change. */
  csrfToken: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "Profile" })
export type Profile = typeof Profile.Type

export const SessionRecord = Schema.Struct({
  id: SessionId,
  current: Schema.Boolean,
  userAgent: Schema.NullOr(Schema.String),
  createdAt: Timestamp,
  expiresAt: Timestamp
}).annotate({ identifier: "SessionRecord" })
export type SessionRecord = typeof SessionRecord.Type

const exampleKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJtVhOAIgwYSM1DZ2m0TBlvrMTlUkwvbTl1nTLyPmtVM"

export const SshKeyRecord = Schema.Struct({
  id: SshKeyId,
  title: Schema.String,
  /** One line of OpenSSH's public key format, without its comment. */
  key: Schema.String,
  /** As `ssh-keygen -l` shows it. */
  fingerprint: Schema.String,
  createdAt: Timestamp,
  lastUsedAt: Schema.NullOr(Timestamp)
}).annotate({ identifier: "SshKeyRecord" })
export type SshKeyRecord = typeof SshKeyRecord.Type

export const AddSshKey = Schema.Struct({
  title: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(100)).pipe(
    Schema.annotate({ examples: ["laptop"] })
  ),
  key: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(8192)).pipe(
    Schema.annotate({
      description: "The content of a .pub file: ed25519, ecdsa on a NIST curve, or rsa from 2048 bits",
      examples: [`${exampleKey} ada@laptop`]
    })
  )
}).annotate({ identifier: "AddSshKey" })

export class UserGroup extends HttpApiGroup.make("user")
  .add(
    HttpApiEndpoint.get("me", "/", { success: Profile })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "The caller's own account"),
    HttpApiEndpoint.get("listTokens", "/tokens", { success: Schema.Struct({ items: Schema.Array(TokenRecord) }) })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "List the caller's personal access tokens"),
    HttpApiEndpoint.post("createToken", "/tokens", {
      payload: CreateToken,
      success: CreatedToken.pipe(HttpApiSchema.status(201))
    })
      .annotateMerge(access.session)
      .annotate(OpenApi.Summary, "Mint a personal access token")
      .annotate(OpenApi.Description, "A token cannot mint a token: browser session only."),
    HttpApiEndpoint.post("desktopGrant", "/tokens/desktop-grant", {
      success: DesktopGrant.pipe(HttpApiSchema.status(201))
    })
      .annotateMerge(access.session)
      .annotate(OpenApi.Summary, "Make a code that a desktop program changes for a token")
      .annotate(
        OpenApi.Description,
        "Browser session only. The token has the fixed scopes of the answer and lives 90 days; the code works once, for 60 seconds."
      ),
    HttpApiEndpoint.post("requestEmailVerification", "/email-verification", {
      success: HttpApiSchema.Empty(202),
      error: Unavailable
    })
      .annotateMerge(access.sessionUnverified)
      .annotate(OpenApi.Summary, "Send a mail that verifies the account's address")
      .annotate(
        OpenApi.Description,
        "At most five in an hour; only the last one works, once, for 24 hours. Nothing is sent for a verified address."
      ),
    HttpApiEndpoint.delete("revokeToken", "/tokens/:id", {
      params: { id: TokenId },
      success: HttpApiSchema.NoContent,
      error: NotFound
    })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "Revoke a personal access token"),
    HttpApiEndpoint.get("listKeys", "/keys", { success: Schema.Struct({ items: Schema.Array(SshKeyRecord) }) })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "List the caller's SSH keys"),
    HttpApiEndpoint.post("addKey", "/keys", {
      payload: AddSshKey,
      success: SshKeyRecord.pipe(HttpApiSchema.status(201)),
      error: [FeatureNotIncluded, SshKeyTaken, SshKeysFull]
    })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "Add an SSH key")
      .annotate(OpenApi.Description, "A credential of git over SSH alone: it opens no route of this API."),
    HttpApiEndpoint.get("key", "/keys/:id", { params: { id: SshKeyId }, success: SshKeyRecord, error: NotFound })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "One of the caller's SSH keys"),
    HttpApiEndpoint.delete("deleteKey", "/keys/:id", {
      params: { id: SshKeyId },
      success: HttpApiSchema.NoContent,
      error: NotFound
    })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "Delete an SSH key"),
    HttpApiEndpoint.get("listSessions", "/sessions", { success: Schema.Struct({ items: Schema.Array(SessionRecord) }) })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "List the caller's browser sessions"),
    HttpApiEndpoint.delete("revokeSession", "/sessions/:id", {
      params: { id: SessionId },
      success: HttpApiSchema.NoContent,
      error: NotFound
    })
      .annotateMerge(access.account("user:profile"))
      .annotate(OpenApi.Summary, "End one of the caller's browser sessions")
  )
  .middleware(Authenticated)
  .prefix("/api/v1/user")
  .annotateMerge(
    OpenApi.annotations({ title: "User", description: "The caller's own account, sessions, tokens and SSH keys" })
  ) {}
