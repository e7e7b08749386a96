import { Layer } from "effect"
import { Accounts } from "./Accounts.ts"
import { Credentials } from "./Credentials.ts"
import { DesktopGrants } from "./DesktopGrants.ts"
import { EmailVerification } from "./EmailVerification.ts"
import { Mail } from "./Mail.ts"
import { OpenIdProvider } from "./OpenIdProvider.ts"
import { Sessions } from "./Sessions.ts"
import { SignIn } from "./SignIn.ts"
import { SshKeys } from "./SshKeys.ts"
import { Tokens } from "./Tokens.ts"

export { Accounts, ProviderChanged } from "./Accounts.ts"
export type { AccountRow, ProviderIdentity } from "./Accounts.ts"
export { authentication } from "./Authentication.ts"
export { AuthHttp } from "./AuthHttp.ts"
export { Credentials } from "./Credentials.ts"
export { DesktopGrants } from "./DesktopGrants.ts"
export { isReservedHandle } from "./Handles.ts"
export { Memberships } from "./Memberships.ts"
export { migrations } from "./migrations/index.ts"
export { OpenIdProvider } from "./OpenIdProvider.ts"
export { Sessions, sweepSessions } from "./Sessions.ts"
export { SignIn } from "./SignIn.ts"
export { SshKeys } from "./SshKeys.ts"
export { fingerprintOf } from "./SshPublicKey.ts"
export { Tokens } from "./Tokens.ts"
export { UserHttp } from "./UserHttp.ts"

/** Verification by mail; needs rate limits beside what `layer` needs. */
export const emailVerification = EmailVerification.layer.pipe(Layer.provide(Mail.layer))

/** Every other service of this package; needs `Memberships`, the database, settings and the audit log. */
export const layer = Layer.mergeAll(SignIn.layer, DesktopGrants.layer).pipe(
  Layer.provideMerge(
    Layer.mergeAll(Accounts.layer, Credentials.layer, OpenIdProvider.layer, SshKeys.layer, Tokens.layer)
  ),
  Layer.provideMerge(Sessions.layer)
)
