/**
 * Sandbox hosts and the network to them, in memory: what the registry sees of
 * real ones, decided by the seed. Each call of a host draws from its own
 * sequence, so that what one call gets does not depend on the others.
 */
import { Sealing } from "@quickagents/platform"
import { HostUnreachable } from "@quickagents/client/rpc"
import type { HostConnection } from "@quickagents/client/rpc"
import { HostTransport } from "@quickagents/runs"
import { RunUnknown, TakeRefused } from "@quickagents/schema"
import type { Digest, HandOff, HostEvent, RunExit, WatchItem } from "@quickagents/schema"
import { Clock, Effect, Layer, Stream } from "effect"
import { RpcClientError } from "effect/rpc"
import { createHash } from "node:crypto"
import type { Chance } from "../faults/Chance.ts"

interface HeldRun {
  readonly takenAt: number
  /** What happens to the run, by milliseconds after it was taken. */
  plan: ReadonlyArray<{ readonly after: number; readonly event: HostEvent["event"] }>
}

export interface SimulatedHost {
  readonly id: string
  /** `silent`: it takes what it is asked and does not answer. */
  state: "up" | "down" | "silent"
  readonly runs: Map<string, HeldRun>
  readonly objects: Set<Digest>
}

const slots = 2
/** The transport waits no longer for the beginning of an answer. */
const answersWithin = 30_000
const day = 86_400_000

const lostInTheNetwork = (what: string) =>
  new RpcClientError.RpcClientError({
    reason: new RpcClientError.RpcClientDefect({ message: what, cause: new Error(what) })
  })

export const outputOf = (runId: string) => new TextEncoder().encode(`output of ${runId}`)
export const digestOf = (bytes: Uint8Array): Digest => `sha256:${createHash("sha256").update(bytes).digest("hex")}`

const exitOf = (
  exitClass: string,
  usage: { readonly input: number; readonly output: number },
  interrupted = false
): RunExit => ({
  exitClass,
  ...(exitClass === "blocked" ? { reason: "agent-blocked" as const } : {}),
  interrupted,
  usage: {
    inputTokens: usage.input,
    outputTokens: usage.output,
    totalTokens: usage.input + usage.output,
    cachedTokens: 0,
    turns: usage.output > 0 ? 1 : 0,
    wallMs: 1
  },
  receipt: null
})

/** The life of a run on a host; the seed and the run decide it, not the host that has it. */
const planOf = (luck: Chance, handOff: HandOff): HeldRun["plan"] => {
  const began = luck.between(10, 2_000)
  const lasts = luck.between(100, 20_000)
  const input = luck.between(0, 80_000)
  const output = luck.between(1, 40_000)
  const exitClass = luck.chance(0.6)
    ? "ok"
    : luck.pick(["harness", "timeout", "budget", "gateway", "policy", "blocked", "verify", "cli"])
  const sealed = Sealing.sealedSize(outputOf(handOff.runId).length)
  const at = (after: number, event: HostEvent["event"]) => ({ after, event })
  const end = began + lasts
  if (exitClass === "verify") return [at(end, { type: "exited", exit: exitOf(exitClass, { input: 0, output: 0 }) })]
  return [
    at(began, { type: "started" }),
    at(began + lasts / 2, { type: "tokens", input, output, total: input + output }),
    at(began + lasts / 2, { type: "turn", turns: 1 }),
    ...(exitClass === "ok"
      ? [
          at(end, {
            type: "sealed",
            bytes: outputOf(handOff.runId).length,
            plainBytes: Math.min(sealed, 100),
            digest: digestOf(outputOf(handOff.runId)),
            key: "sealed"
          } as const)
        ]
      : []),
    at(end, { type: "exited", exit: exitOf(exitClass, { input, output }) })
  ]
}

const eventsAt = (run: HeldRun, now: number): ReadonlyArray<HostEvent> =>
  run.plan
    .filter(({ after }) => run.takenAt + after <= now)
    .map(({ after, event }, index) => ({ seq: index + 1, at: new Date(run.takenAt + after).toISOString(), event }))

const hasEnded = (run: HeldRun, now: number) => eventsAt(run, now).some(({ event }) => event.type === "exited")

/** Ends what still runs with `exit`, as a journal without an end is ended at the next start of a host. */
const cut = (run: HeldRun, now: number, exit: RunExit) => {
  if (hasEnded(run, now)) return
  const told = run.plan.filter(({ after, event }) => run.takenAt + after <= now && event.type !== "sealed")
  run.plan = [...told, { after: now - run.takenAt, event: { type: "exited", exit } }]
}

export const makeSimulatedHosts = (luck: Chance, ids: ReadonlyArray<string>) => {
  const hosts = new Map(
    ids.map((id): [string, SimulatedHost] => [id, { id, state: "up", runs: new Map(), objects: new Set() }])
  )
  const asked = new Map<string, number>()
  /** Decisions for the next call of this kind about this run. */
  const next = (name: string) => {
    const number = (asked.get(name) ?? 0) + 1
    asked.set(name, number)
    return luck.fork(`${name}/${number}`)
  }

  /** A call over the network: refused, lost on the way there, lost on the way back, late, or as it should be. */
  const call = <A, E>(
    host: SimulatedHost,
    name: string,
    work: Effect.Effect<A, E>
  ): Effect.Effect<A, E | RpcClientError.RpcClientError> =>
    Effect.suspend((): Effect.Effect<A, E | RpcClientError.RpcClientError> => {
      const chance = next(`${host.id}/${name}`)
      const late = Effect.sleep(chance.chance(0.1) ? chance.between(500, 4_000) : chance.between(1, 30))
      const fails = Effect.fail(lostInTheNetwork(name))
      if (host.state === "down") return Effect.andThen(Effect.sleep(1), fails)
      if (host.state === "silent") return Effect.andThen(Effect.sleep(answersWithin), fails)
      if (chance.chance(0.03)) return Effect.andThen(late, fails)
      const answered = Effect.andThen(
        late,
        Effect.suspend((): Effect.Effect<A, E | RpcClientError.RpcClientError> => (host.state === "up" ? work : fails))
      )
      return chance.chance(0.04) ? Effect.andThen(Effect.exit(answered), fails) : answered
    })

  const connection = (host: SimulatedHost): HostConnection => {
    const rpc = {
      Health: () =>
        call(
          host,
          "Health",
          Effect.map(Clock.currentTimeMillis, (now) => ({
            hostId: host.id,
            version: "1",
            slots: { total: slots, used: [...host.runs.values()].filter((run) => !hasEnded(run, now)).length },
            draining: false,
            acceptsSealedObjects: true,
            acceptsBrowser: false,
            acceptsInputReview: false,
            acceptsSessions: false,
            fullIsolation: true,
            runs: [...host.runs.keys()],
            certificateExpiresAt: new Date(now + 7 * day).toISOString()
          }))
        ),
      Take: (handOff: HandOff) =>
        call(
          host,
          `Take/${handOff.runId}`,
          Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            if (host.runs.has(handOff.runId)) return
            const used = [...host.runs.values()].filter((run) => !hasEnded(run, now)).length
            if (used >= slots || next(`${host.id}/refuses`).chance(0.1))
              return yield* new TakeRefused({ reason: "no-slot" })
            host.runs.set(handOff.runId, { takenAt: now, plan: planOf(next(`life/${handOff.runId}`), handOff) })
          })
        ),
      Watch: ({ afterSeq, runId }: { readonly runId: string; readonly afterSeq: number }) =>
        Stream.unwrap(
          call(
            host,
            `Watch/${runId}`,
            Effect.gen(function* () {
              const chance = next(`${host.id}/told/${runId}`)
              if (!host.runs.has(runId)) return yield* new RunUnknown({ runId: runId })
              // Now and then it tells again what it has told.
              let sent = chance.chance(0.1) ? 0 : afterSeq
              let breaks = chance.chance(0.3) ? chance.between(0, 8) : -1
              const again = chance.chance(0.2)
              const look = Effect.gen(function* () {
                yield* Effect.sleep(500)
                if (host.state === "silent") return yield* Effect.never
                if (host.state === "down" || breaks-- === 0) return yield* lostInTheNetwork("Watch")
                const run = host.runs.get(runId)
                if (run === undefined) return yield* lostInTheNetwork("Watch")
                const fresh = eventsAt(run, yield* Clock.currentTimeMillis).filter(({ seq }) => seq > sent)
                sent = fresh.at(-1)?.seq ?? sent
                const exited = fresh.filter(({ event }) => event.type === "exited")
                return {
                  items: fresh.length === 0 ? [{ heartbeat: true as const }] : [...fresh, ...(again ? exited : [])],
                  end: exited.length > 0
                }
              })
              return Stream.fromEffectRepeat(look).pipe(
                Stream.takeUntil(({ end }) => end),
                Stream.flatMap(({ items }) => Stream.fromIterable<WatchItem>(items))
              )
            })
          )
        ),
      Cancel: ({ runId }: { readonly runId: string }) =>
        call(
          host,
          `Cancel/${runId}`,
          Effect.map(Clock.currentTimeMillis, (now) => {
            const run = host.runs.get(runId)
            if (run === undefined) return
            const told = eventsAt(run, now)
            const tokens = told.find(({ event }) => event.type === "tokens")?.event
            cut(run, now, exitOf("cli", tokens?.type === "tokens" ? tokens : { input: 0, output: 0 }, true))
          })
        ),
      Forget: ({ runId }: { readonly runId: string }) =>
        call(
          host,
          `Forget/${runId}`,
          Effect.sync(() => void host.runs.delete(runId))
        ),
      RenewalRequest: () => call(host, "RenewalRequest", Effect.succeed({ csr: "" })),
      Renew: () => call(host, "Renew", Effect.void),
      PinKeys: () => call(host, "PinKeys", Effect.void),
      Drain: () => call(host, "Drain", Effect.void)
    }
    const unreachable = Effect.mapError((cause: unknown) => new HostUnreachable({ cause }))
    return {
      // A call here has none of the options of a client's; nothing in the registry uses them.
      rpc: rpc as unknown as HostConnection["rpc"],
      hasObject: (digest) =>
        unreachable(
          call(
            host,
            "hasObject",
            Effect.sync(() => host.objects.has(digest))
          )
        ),
      putObject: (digest) =>
        unreachable(
          call(
            host,
            "putObject",
            Effect.sync(() => void host.objects.add(digest))
          )
        ),
      output: (runId) =>
        host.state === "silent"
          ? Stream.never
          : Stream.fromEffect(
              unreachable(
                call(
                  host,
                  `output/${runId}`,
                  Effect.sync(() => outputOf(runId))
                )
              )
            )
    }
  }

  return {
    hosts,
    layer: Layer.succeed(HostTransport, { connect: ({ id }) => Effect.sync(() => connection(hosts.get(id)!)) }),
    /** The process dies and starts again: what ran is told as lost; with its disk gone, nobody knows of it any more. */
    restart: (id: string, wiped: boolean) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const host = hosts.get(id)!
        for (const run of host.runs.values()) cut(run, now, exitOf("cli", { input: 0, output: 0 }))
        if (wiped) host.runs.clear()
        host.state = "up"
      })
  }
}
