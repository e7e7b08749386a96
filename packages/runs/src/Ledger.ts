/**
 * Holds, settles and refunds run credits. The only writer of credit accounts,
 * ledger lines and of the two ends of a run row: its start in the queue and its
 * end. Spec: Limits, Credits 1 to 6.
 */
import { Settings } from "@quickagents/platform"
import { Database } from "@quickagents/platform"
import { CreditsExhausted, LedgerEntity, RunActive, RunsUnavailable } from "@quickagents/schema"
import type { NewRun, RunEnd, RunStatusRow, Tier } from "@quickagents/schema"
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { Sharding } from "effect/cluster"
import { creditsFor, creditsUsed } from "./Credits.ts"
import type { AccountRow, LineRow } from "./LedgerSql.ts"
import { LedgerSql } from "./LedgerSql.ts"
import { allowanceOf, ratesOf } from "./Terms.ts"

/** A cycle is a calendar month in UTC. */
export const cycleEnd = (now: Date) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))

export class Ledger extends Context.Service<
  Ledger,
  {
    /** Writes hold, run row and first event in one statement. Fails before anything is stored. */
    readonly open: (run: NewRun) => Effect.Effect<void, CreditsExhausted | RunActive | RunsUnavailable>
    /** Ends a run and charges or refunds its hold. A second call for the same run changes nothing and answers false. */
    readonly end: (end: RunEnd) => Effect.Effect<boolean>
    /** Books a grant once for each id; false when it was booked before. */
    readonly grant: (payer: string, id: string, credits: number) => Effect.Effect<boolean>
    readonly account: (payer: string) => Effect.Effect<AccountRow>
    readonly setTier: (payer: string, tier: Tier) => Effect.Effect<void>
    readonly lines: (payer: string, before: number | null, limit: number) => Effect.Effect<ReadonlyArray<LineRow>>
  }
>()("runs/Ledger") {
  static readonly layer = Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const books = yield* LedgerSql
      const settings = yield* Settings.Settings
      const of = yield* LedgerEntity.client
      // A node that is just going away hands its shards over within seconds.
      const handOver = { schedule: Schedule.spaced("200 millis"), times: 25 }
      const account = (payer: string) =>
        Effect.flatMap(Clock.currentTimeMillis, (millis) => {
          const now = new Date(millis)
          return Effect.orDie(books.account(payer, allowanceOf(settings, "standard"), now, cycleEnd(now)))
        })
      return Ledger.of({
        open: (run) =>
          of(run.payer)
            .open(run)
            .pipe(
              Effect.retry({ ...handOver, while: (error) => error._tag === "EntityNotAssignedToRunner" }),
              Effect.catchTags({
                MailboxFull: () => new RunsUnavailable({ detail: "Too many runs are being asked for at once" }),
                AlreadyProcessingMessage: () => new RunsUnavailable({}),
                PersistenceError: () => new RunsUnavailable({}),
                EntityNotAssignedToRunner: () => new RunsUnavailable({})
              })
            ),
        end: (end) => of(end.payer).end(end).pipe(Effect.retry(handOver), Effect.orDie),
        grant: (payer, id, credits) =>
          of(payer).grant({ payer, id, credits }).pipe(Effect.retry(handOver), Effect.orDie),
        account,
        setTier: (payer, tier) => Effect.andThen(account(payer), Effect.orDie(books.setTier(payer, tier))),
        lines: (payer, before, limit) => Effect.orDie(books.lines(payer, before, limit))
      })
    })
  )
}

/** What a run's end books, by what is charged. */
const booking = (end: RunEnd, settings: Settings.Values) => {
  const rates = ratesOf(settings)
  const { input, output, total } = end.usage
  const ran = total > 0 || input > 0 || output > 0 || end.usage.turns > 0
  const usageCredits = ran ? creditsUsed(end.usage, rates) : 0
  switch (end.charge) {
    case "tokens":
      return {
        usageCredits,
        settledCredits: creditsFor(end.usage, rates, end.holdCredits, end.inputsReviewed),
        refunded: false
      }
    case "review":
      return { usageCredits, settledCredits: Math.min(1, end.holdCredits), refunded: false }
    case "nothing":
      return { usageCredits, settledCredits: 0, refunded: true }
  }
}

/** The entity: one at a time for each payer. The database's constraints hold without it. */
export const LedgerEntityLive: Layer.Layer<never, never, LedgerSql | Settings.Settings | Sharding.Sharding> =
  LedgerEntity.toLayer(
    Effect.gen(function* () {
      const books = yield* LedgerSql
      const settings = yield* Settings.Settings
      return LedgerEntity.of({
        open: Effect.fnUntraced(function* ({ payload: run }) {
          const now = new Date(yield* Clock.currentTimeMillis)
          const opened = yield* books.open(run, now).pipe(
            Effect.catch((error) => {
              switch (Database.uniqueConstraint(error)) {
                case "runs_one_active":
                  return Effect.fail(
                    new RunActive({
                      detail: "This account has a queued, claimed or running run. Wait for it or cancel it."
                    })
                  )
                case "runs_pkey":
                  // A node that died after it had stored the run never answered, and the message came again.
                  return Effect.succeed(true)
                default:
                  return Effect.die(error)
              }
            })
          )
          if (opened || (yield* Effect.orDie(books.isOpened(run.id)))) return
          const account = yield* Effect.orDie(
            books.account(run.payer, allowanceOf(settings, "standard"), now, cycleEnd(now))
          )
          return yield* exhausted(account, run.holdCredits)
        }),
        end: Effect.fnUntraced(function* ({ payload: end }) {
          const at = new Date(yield* Clock.currentTimeMillis)
          const booked = booking(end, settings)
          const event: RunStatusRow = {
            status: end.status,
            at: at.toISOString(),
            ...(end.outcome === null ? {} : { outcome: end.outcome }),
            turns: end.usage.turns,
            credits: booked.settledCredits
          }
          return yield* Effect.orDie(
            books.end({
              ...booked,
              runId: end.runId,
              from: end.from === "queued" ? ["queued"] : ["claimed", "running"],
              status: end.status,
              outcome: end.outcome,
              exitClass: end.exitClass,
              errorClass: end.errorClass,
              turns: end.usage.turns,
              wallMs: end.usage.wallMs,
              receipt: end.receipt,
              output: end.output,
              at,
              event: JSON.stringify(event)
            })
          )
        }),
        grant: Effect.fnUntraced(function* ({ payload: { credits, id, payer } }) {
          const now = new Date(yield* Clock.currentTimeMillis)
          yield* Effect.orDie(books.account(payer, allowanceOf(settings, "standard"), now, cycleEnd(now)))
          return yield* Effect.orDie(books.grant(payer, "grant", `grant:${id}`, credits, now))
        })
      })
    }),
    // A defect is an answer: an entity that restarts would do the same again, for ever, while its payer waits.
    { maxIdleTime: "1 minute", disableFatalDefects: true }
  )

export const exhausted = (account: AccountRow, hold: number) =>
  new CreditsExhausted({
    detail: `The run holds ${hold} credits and ${account.balance} are left.`,
    account: account.payer,
    balance: account.balance,
    hold,
    resetsAt: account.cycleEndsAt.toISOString(),
    tier: account.tier
  })

/** Grants each account that is past its cycle the new cycle's allowance, once. Called by a cron. */
export const renewCycles = Effect.gen(function* () {
  const books = yield* LedgerSql
  const settings = yield* Settings.Settings
  const now = new Date(yield* Clock.currentTimeMillis)
  while (true) {
    const due = yield* books.dueCycles(now, 100)
    yield* Effect.forEach(due, (account) =>
      books.renewCycle(account, allowanceOf(settings, account.tier), cycleEnd(now), now)
    )
    if (due.length < 100) return
  }
})
