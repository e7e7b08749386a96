import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { Answer } from "./Batch.ts"
import { batched } from "./Batch.ts"
import { migrations } from "./migrations/index.ts"
import { layerDatabase } from "./testing/index.ts"

interface Word {
  readonly reader: string
  readonly word: string
}
interface Length extends Answer {
  readonly length: number
}

/** Lengths of words, null of the empty one; `statements` says what was asked together. */
const lengths = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const statements = new Array<ReadonlyArray<string>>()
  const lengthOf = yield* batched<Word, Length, SqlError.SqlError>({
    group: ({ reader }) => reader,
    key: ({ word }) => word,
    load: (asks) => {
      const words = asks.map(({ word }) => word)
      statements.push(words)
      // Backwards: an answer says itself whose it is.
      return sql<Length>`
        SELECT n::integer AS ask, length(word) / (CASE word WHEN 'broken' THEN 0 ELSE 1 END) AS length
        FROM unnest(${words}::text[]) WITH ORDINALITY AS asked (word, n) WHERE word <> '' ORDER BY n DESC`
    }
  })
  const of = (word: string, reader = "ada") => Effect.map(lengthOf({ reader, word }), (row) => row?.length ?? null)
  return { of, statements, sql }
})

layer(layerDatabase(migrations))("asking together", (it) => {
  it.effect("one statement answers all who ask in a turn, each with what was asked, and equal asks once", () =>
    Effect.gen(function* () {
      const { of, statements } = yield* lengths
      const words = ["cat", "horse", "", "cat", "elephant"]
      const found = yield* Effect.forEach(words, (word) => of(word), { concurrency: "unbounded" })
      assert.deepStrictEqual(found, [3, 5, null, 3, 8])
      assert.deepStrictEqual(statements, [["cat", "horse", "", "elephant"]])
      assert.strictEqual(yield* of("ox"), 2)
      assert.lengthOf(statements, 2)
    })
  )

  it.effect("groups share no statement, and a statement takes 128 asks", () =>
    Effect.gen(function* () {
      const { of, statements } = yield* lengths
      const words = Array.from({ length: 300 }, (_, index) => "x".repeat(index + 1))
      const found = yield* Effect.forEach(words, (word, index) => of(word, index === 7 ? "bob" : "ada"), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        found,
        words.map(({ length }) => length)
      )
      assert.deepStrictEqual(
        statements.map(({ length }) => length).toSorted((a, b) => a - b),
        [1, 43, 128, 128]
      )
    })
  )

  it.effect("a statement that fails fails for all of its askers and for none after them", () =>
    Effect.gen(function* () {
      const { of } = yield* lengths
      const exits = yield* Effect.forEach(["cat", "broken"], (word) => Effect.exit(of(word)), {
        concurrency: "unbounded"
      })
      assert.isTrue(exits.every(Exit.isFailure))
      assert.strictEqual(yield* of("cat"), 3)
    })
  )

  it.effect("who stops waiting is not asked for, and does not stop the others", () =>
    Effect.gen(function* () {
      const { of, statements } = yield* lengths
      const leaving = yield* Effect.forkChild(of("horse"), { startImmediately: true })
      const staying = yield* Effect.forkChild(of("cat"), { startImmediately: true })
      yield* Fiber.interrupt(leaving)
      assert.strictEqual(yield* Fiber.join(staying), 3)
      assert.deepStrictEqual(statements, [["cat"]])
    })
  )

  it.effect("within a transaction one asks alone, and sees what the transaction has written", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE words (word text PRIMARY KEY)`
      const known = yield* batched<string, Answer, SqlError.SqlError>({
        key: (word) => word,
        load: (asks) => sql<Answer>`
          SELECT n::integer AS ask FROM unnest(${asks}::text[]) WITH ORDINALITY AS asked (word, n) JOIN words USING (word)`
      })
      const written = yield* Deferred.make<void>()
      const other = yield* Effect.forkChild(Effect.andThen(Deferred.await(written), known("cat")))
      const [mine, others] = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`INSERT INTO words VALUES ('cat')`
          const mine = yield* known("cat")
          yield* Deferred.succeed(written, undefined)
          return [mine, yield* Fiber.join(other)]
        })
      )
      assert.deepStrictEqual([mine?.ask, others], [1, null])
    })
  )
})
