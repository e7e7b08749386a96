/** Pages of a list, by offset. Spec: Registry-wide limits, rule 1. */
import { clamp, clampOffset } from "@quickagents/schema"
import { Effect } from "effect"

/** What a request says of the page that it wants. */
export interface AskedPage {
  readonly offset?: number | undefined
  readonly limit?: number | undefined
}

export interface Page<A> {
  readonly items: ReadonlyArray<A>
  readonly total: number
  readonly offset: number
  readonly limit: number
}

/** The rows of the page that was asked for. Each row tells how many there are in all. */
export const pageOf = Effect.fnUntraced(function* <Row extends { readonly total: number }, E, R>(
  asked: AskedPage,
  limits: { readonly max: number; readonly standard: number },
  read: (offset: number, limit: number) => Effect.Effect<ReadonlyArray<Row>, E, R>
) {
  const offset = clampOffset(asked.offset)
  const limit = clamp(asked.limit, limits.max, limits.standard)
  const rows = yield* read(offset, limit)
  // A page past the end has no row that could tell the total.
  const [counted] = rows.length > 0 || offset === 0 ? rows : yield* read(0, 1)
  return { rows, page: { total: counted?.total ?? 0, offset, limit } }
})
