/** Can this deployment take runs, and on which terms. Prices are credits, caps seconds and turns; never rates or tokens. Spec: Status answer. */
import { KeyService, Settings } from "@quickagents/platform"
import type { Account, RunsStatus, Tier } from "@quickagents/schema"
import { Effect } from "effect"
import { maxKnowledgePacks, payerOf } from "./Admission.ts"
import { Hosts } from "./Hosts.ts"
import { RunsSql } from "./RunsSql.ts"
import { termsOf, tiers } from "./Terms.ts"

const ofTiers = <A>(make: (tier: Tier) => A) =>
  Object.fromEntries(tiers.map((tier) => [tier, make(tier)])) as Record<Tier, A>

export const runsStatus = Effect.fnUntraced(function* (viewer: Account | null) {
  const settings = yield* Settings.Settings
  const [queued, hostsOnline] = yield* Effect.all([Effect.orDie((yield* RunsSql).queued), (yield* Hosts).online], {
    concurrency: 2
  })
  const status: RunsStatus = {
    available: (yield* KeyService).available,
    queued,
    tiers: ofTiers((tier) => {
      const { caps, holdCredits } = termsOf(settings, tier)
      return { caps, holdCredits, build: { caps, holdCredits } }
    }),
    // Knowledge, drafts, voices and sessions arrive with their capabilities.
    knowledgeBuild: { available: false, holdCredits: termsOf(settings, "standard").holdCredits, packScanCredits: 0 },
    draft: { available: false, holdCredits: termsOf(settings, "standard").holdCredits },
    voiceBuild: { available: false, holdCredits: 20, attach: false },
    knowledgeAttach: { enabled: false, maxPacks: maxKnowledgePacks },
    sessions: {
      enabled: false,
      freeMinutes: 0,
      minuteCredits: 0,
      minCredits: 0,
      idleCloseSeconds: 0,
      allowed: ofTiers(() => false)
    },
    hostsOnline,
    workersOnline: 0
  }
  if (viewer === null) return status
  const { payer } = yield* payerOf(viewer.accountId, viewer.handle)
  const { caps, holdCredits } = termsOf(settings, payer.tier)
  const held = payer.unmetered ? 0 : holdCredits
  return {
    ...status,
    caller: {
      tier: payer.tier,
      account: payer.handle,
      caps,
      holdCredits: held,
      buildHoldCredits: held,
      draftHoldCredits: held,
      voice: false,
      session: { allowed: false }
    }
  }
})
