/** Handlers of the `user` group: the caller's own account, tokens, SSH keys and sessions. */
import { Actor, CoreApi } from "@quickagents/schema"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Accounts } from "./Accounts.ts"
import { DesktopGrants } from "./DesktopGrants.ts"
import { EmailVerification } from "./EmailVerification.ts"
import { Sessions } from "./Sessions.ts"
import { SshKeys } from "./SshKeys.ts"
import { Tokens } from "./Tokens.ts"

export const UserHttp = HttpApiBuilder.group(
  CoreApi,
  "user",
  Effect.fnUntraced(function* (handlers) {
    const accounts = yield* Accounts
    const sessions = yield* Sessions
    const sshKeys = yield* SshKeys
    const tokens = yield* Tokens
    const desktop = yield* DesktopGrants
    const emails = yield* EmailVerification

    return handlers.handleAll({
      me: () => Effect.flatMap(Actor, accounts.profile),
      listTokens: () =>
        Effect.flatMap(Actor, ({ accountId }) => Effect.map(tokens.list(accountId), (items) => ({ items }))),
      createToken: ({ payload }) => Effect.flatMap(Actor, (actor) => tokens.create(actor, payload)),
      desktopGrant: () => Effect.flatMap(Actor, desktop.create),
      requestEmailVerification: () => Effect.flatMap(Actor, emails.request),
      revokeToken: ({ params }) => Effect.flatMap(Actor, (actor) => tokens.revoke(actor, params.id)),
      listKeys: () =>
        Effect.flatMap(Actor, ({ accountId }) => Effect.map(sshKeys.list(accountId), (items) => ({ items }))),
      addKey: ({ payload }) => Effect.flatMap(Actor, (actor) => sshKeys.add(actor, payload)),
      key: ({ params }) => Effect.flatMap(Actor, ({ accountId }) => sshKeys.get(accountId, params.id)),
      deleteKey: ({ params }) => Effect.flatMap(Actor, (actor) => sshKeys.remove(actor, params.id)),
      listSessions: () => Effect.flatMap(Actor, (actor) => Effect.map(sessions.list(actor), (items) => ({ items }))),
      revokeSession: ({ params }) => Effect.flatMap(Actor, (actor) => sessions.end(actor, params.id))
    })
  })
)
