/**
 * The extension point of submissions: asked after every check of the registry
 * itself and before anything is stored. Nobody is asked unless an extension
 * provides an answer. Spec: AGENT-019.
 */
import type { AdmissionUnavailable, CreditsExhausted, SubscriptionInactive } from "@quickagents/schema"
import { Context, Effect } from "effect"
import { createHash } from "node:crypto"

export interface Submission {
  /** The same each time this version of this agent is submitted. At most one of these submissions is ever stored. */
  readonly id: string
  readonly actor: { readonly id: string; readonly handle: string }
  readonly namespace: string
  /** The organization whose namespace it is; null for a person's. */
  readonly org: string | null
  readonly agent: string
  readonly version: string
  /** Of the archive, compressed. */
  readonly bytes: number
}

export type SubmissionRefused = CreditsExhausted | SubscriptionInactive | AdmissionUnavailable

export const submissionId = (agentId: string, version: string) =>
  `sub_${createHash("sha256").update(`${agentId}@${version}`).digest("hex").slice(0, 40)}`

export const SubmissionAdmission = Context.Reference<{
  /** Never called in a transaction: it may take as long as another service takes. */
  readonly admit: (submission: Submission) => Effect.Effect<void, SubmissionRefused>
}>("catalog/SubmissionAdmission", { defaultValue: () => ({ admit: () => Effect.void }) })
