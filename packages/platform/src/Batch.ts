/**
 * One statement for all who ask within a turn of the event loop.
 *
 * What many requests ask, such as whose credential they carry, costs a
 * statement of its own mostly in its travel: framing, a write, a read, a fiber
 * that wakes. A busy node receives many requests in a turn and asks for all of
 * them together; an idle one asks for the one. The statement starts after all
 * of them have asked, so nobody is told anything older than alone. Effect's
 * `SqlResolver` gathers what fibers ask until they yield, which requests on
 * sockets of their own never do together, and groups by no reader.
 */
import { Context, Effect, Exit, Request, RequestResolver } from "effect"
import { SqlClient } from "effect/sql"

/** Enough that the travel no longer counts, and few enough that none of them waits long for the others. */
const most = 128

/** A row that says which of the asks it answers: its place among them, from 1. */
export interface Answer {
  readonly ask: number
}

class Asked<Ask, Row, E> extends Request.Class<{ readonly ask: Ask; readonly key: string }, Row | null, E> {}

const endOfTurn = Effect.callback<void>((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

export type Asks<Ask> = readonly [Ask, ...ReadonlyArray<Ask>]

export interface BatchOptions<Ask, Row extends Answer, E> {
  /** Only asks of one group share a statement; without it all of them do. */
  readonly group?: (ask: Ask) => string
  /** Asks of one key and group have one answer. */
  readonly key: (ask: Ask) => string
  /**
   * The rows of different asks of one group, at most one for each. What it cannot ask, such as a text with a NUL,
   * fails for all who share the statement: it must have been refused before.
   */
  readonly load: (asks: Asks<Ask>) => Effect.Effect<ReadonlyArray<Row>, E>
}

/** Answers the row of an ask, null when it has none. Who asks within a transaction asks alone, and within it. */
export const batched = Effect.fnUntraced(function* <Ask, Row extends Answer, E>(options: BatchOptions<Ask, Row, E>) {
  const { transactionService } = yield* SqlClient.SqlClient
  const resolver = RequestResolver.makeWith<Asked<Ask, Row, E>>({
    batchKey: ({ request }) => options.group?.(request.ask),
    delay: endOfTurn,
    collectWhile: (entries) => entries.size < most,
    runAll: ([first, ...others]) =>
      Effect.suspend(() => {
        const places = new Map([[first.request.key, 1]])
        const asks: [Ask, ...Array<Ask>] = [first.request.ask]
        for (const { request } of others) {
          if (!places.has(request.key)) places.set(request.key, asks.push(request.ask))
        }
        return Effect.map(options.load(asks), (rows) => {
          const answers = new Map(rows.map((row) => [row.ask, row]))
          for (const entry of [first, ...others]) {
            entry.completeUnsafe(Exit.succeed(answers.get(places.get(entry.request.key)!) ?? null))
          }
        })
      })
  })
  return (ask: Ask): Effect.Effect<Row | null, E> =>
    Effect.contextWith((context) =>
      Context.getOrUndefined(context, transactionService) === undefined
        ? Effect.request(new Asked<Ask, Row, E>({ ask, key: options.key(ask) }), resolver)
        : Effect.map(options.load([ask]), ([row]) => row ?? null)
    )
})
