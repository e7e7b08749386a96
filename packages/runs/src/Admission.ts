/**
 * Every check of a create request, in the order of the specification's error
 * table; the first problem is the answer. Nothing is stored here.
 * Spec: Run creation rules; Errors, Hosted run create.
 */
import { Versions } from "@quickagents/catalog"
import { Orgs } from "@quickagents/orgs"
import { KeyService, Settings } from "@quickagents/platform"
import {
  BrowserPublicWeb,
  BrowserSite,
  checkIntake,
  ConnectionsUnsupported,
  Forbidden,
  invalidField,
  KnowledgeAttachUnavailable,
  ModeNotDeclared,
  NotFound,
  RunsUnavailable,
  SecretsDeclared,
  SessionsUnavailable,
  SubscriptionInactive,
  TooLarge,
  Validation,
  VoiceBuildUnavailable,
  withDefaults
} from "@quickagents/schema"
import type { Account, CreateRun, RunInputRecord, RunKind, Tier } from "@quickagents/schema"
import { Effect } from "effect"
import { unopenable } from "./BrowserSites.ts"
import { exhausted, Ledger } from "./Ledger.ts"
import { RunsSql } from "./RunsSql.ts"
import type { Terms } from "./Terms.ts"
import { termsOf } from "./Terms.ts"

export const maxTaskBytes = 65_536
export const maxInputs = 20
export const maxKnowledgePacks = 5
export const maxSecrets = 32

const buildKinds: Readonly<Record<string, RunKind>> = {
  knowledge_build: "knowledge_build",
  draft: "draft",
  revision: "revision",
  voice_build: "voice_build"
}

export interface Payer {
  readonly handle: string
  readonly tier: Tier
  readonly unmetered: boolean
}

/** The runner's organization if they are an active member of one, otherwise the runner. Spec: Credits 4. */
export const payerOf = Effect.fnUntraced(function* (accountId: string, handle: string) {
  const settings = yield* Settings.Settings
  const membership = yield* (yield* Orgs).membershipOf(accountId)
  const payer = membership?.org ?? handle
  const account = yield* (yield* Ledger).account(payer)
  return {
    payer: {
      handle: payer,
      tier: account.tier,
      unmetered: membership !== null && membership.org === settings["orgs.firstParty"]
    } satisfies Payer,
    account,
    standing: membership?.standing ?? "active"
  }
})

export const admit = Effect.fnUntraced(function* (actor: Account, request: CreateRun) {
  const settings = yield* Settings.Settings
  if (!(yield* KeyService).available)
    return yield* new RunsUnavailable({ detail: "This deployment keeps no sealing key" })

  // Sizes before anything is looked up.
  const task = request.task ?? ""
  if (Buffer.byteLength(task) > maxTaskBytes) return yield* new TooLarge({ detail: "A task has at most 64 KB" })
  const inputIds = request.inputs ?? []
  if (inputIds.length > maxInputs) return yield* new TooLarge({ detail: `A run takes at most ${maxInputs} inputs` })
  const packs = request.knowledge ?? []
  if (packs.length > maxKnowledgePacks)
    return yield* new TooLarge({ detail: `A run takes at most ${maxKnowledgePacks} knowledge packs` })

  // A token reads private agents only with agent:read, beside run:write.
  const release = yield* (yield* Versions).resolve(request.ref, actor)
  if (release.status === "blocked" || release.status === "quarantined") return yield* new NotFound({})
  const { manifest } = release

  const mode = request.mode ?? "autonomous"
  const kind =
    (release.builtin === null ? undefined : buildKinds[release.builtin]) ?? (mode === "interactive" ? "session" : "run")
  const isBuild = kind !== "run" && kind !== "session"
  if (isBuild && request.mode === "interactive") return yield* invalidField("/mode", "only a release run takes a mode")
  if (isBuild && request.voice === true) return yield* invalidField("/voice", "is not for this kind of run")
  if (!manifest.modes.includes(mode)) {
    return yield* new ModeNotDeclared({ detail: `${release.ref} declares ${manifest.modes.join(" and ")} only` })
  }
  const browser = manifest.capabilities?.browser
  if (browser?.scope === "public" && !settings["runs.browserPublicWeb"]) return yield* new BrowserPublicWeb({})

  const questions = manifest.intake ?? []
  const intake = withDefaults(questions, request.intake ?? {})
  const issues = checkIntake(questions, request.intake ?? {})
  if (issues.length > 0) {
    return yield* new Validation({
      detail: "The intake answers do not fit the release's questions",
      errors: issues.slice(0, 50).map(({ id, message }) => ({ pointer: `/intake/${id}`, in: "body" as const, message }))
    })
  }
  if (new Set(packs).size < packs.length) return yield* invalidField("/knowledge", "names a pack twice")
  if (new Set(inputIds).size < inputIds.length) return yield* invalidField("/inputs", "names an input twice")
  const found = inputIds.length === 0 ? [] : yield* Effect.orDie((yield* RunsSql).inputs(actor.accountId, inputIds))
  const inputs: Array<RunInputRecord> = []
  for (const [index, id] of inputIds.entries()) {
    const input = found.find((row) => row.id === id)
    if (input === undefined) return yield* invalidField(`/inputs/${index}`, "is not an unused upload of this account")
    if (inputs.some(({ name }) => name === input.name))
      return yield* invalidField(`/inputs/${index}`, `${input.name} is given twice`)
    // One path cannot be a file and a folder.
    if (inputs.some(({ name }) => name.startsWith(`${input.name}/`) || input.name.startsWith(`${name}/`)))
      return yield* invalidField(`/inputs/${index}`, `${input.name} is a file and a folder`)
    inputs.push(input)
  }
  const requiredSecrets = (manifest.secrets ?? []).filter(({ required }) => required !== false).map(({ name }) => name)
  if (requiredSecrets.length > maxSecrets)
    return yield* invalidField("/ref", `the release requires more than ${maxSecrets} secrets`)
  if (browser !== undefined) {
    for (const question of questions) {
      const site = intake[question.id]
      if (question.browserSite !== true || typeof site !== "string" || site === "") continue
      const reason = unopenable(site)
      if (reason !== undefined) return yield* new BrowserSite({ detail: reason, question: question.id })
    }
  }
  // Sessions arrive with their own capability; a deployment without them says so.
  if (mode === "interactive")
    return yield* new SessionsUnavailable({ detail: "This deployment offers no hosted sessions" })

  const { account, payer, standing } = yield* payerOf(actor.accountId, actor.handle)
  const terms: Terms = termsOf(settings, payer.tier)
  const hold = payer.unmetered ? 0 : terms.holdCredits
  if (account.balance < hold) return yield* exhausted(account, hold)
  if (standing !== "active")
    return yield* new SubscriptionInactive({ account: payer.handle, standing, tier: payer.tier })
  // The vault arrives with its own capability; a release that needs none of its secrets runs without them.
  if (requiredSecrets.length > 0) {
    return yield* new SecretsDeclared({
      detail: "This deployment keeps no secrets",
      required: requiredSecrets,
      secrets: (manifest.secrets ?? []).map(({ name }) => name)
    })
  }
  const oauth = (manifest.mcpServers ?? []).filter(({ auth }) => auth === "oauth").map(({ name }) => name)
  if (oauth.length > 0) return yield* new ConnectionsUnsupported({ connections: oauth })
  if (packs.length > 0) {
    if (actor.scopes !== "all" && !actor.scopes.has("knowledge:read"))
      return yield* new Forbidden({ required: ["knowledge:read"] })
    return yield* new KnowledgeAttachUnavailable({ detail: "This deployment keeps no knowledge packs" })
  }
  if (request.voice === true) return yield* new VoiceBuildUnavailable({})

  return {
    release,
    kind,
    mode,
    task,
    intake,
    inputs,
    payer,
    hold,
    needsBrowser: browser !== undefined,
    tokenCap: terms.tokenCap,
    caps: {
      seconds: Math.min(terms.caps.seconds, manifest.budgets?.seconds ?? terms.caps.seconds),
      turns: Math.min(terms.caps.turns, manifest.budgets?.turns ?? terms.caps.turns)
    }
  }
})

export type Admitted = Effect.Success<ReturnType<typeof admit>>
