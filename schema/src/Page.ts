/** Lists that are read page by page, by offset. Spec: Registry-wide limits, rule 1. */
import { Schema } from "effect"
import { clampedLimit, Offset } from "./Ids.ts"

export const pageQuery = (max: number, standard: number) => ({
  offset: Schema.optionalKey(Offset),
  limit: Schema.optionalKey(clampedLimit(max, standard))
})

/** A page of `item`s, how many there are in all, and the offset and limit after clamping. */
export const Paged = <S extends Schema.Top>(item: S) =>
  Schema.Struct({ items: Schema.Array(item), total: Schema.Int, offset: Schema.Int, limit: Schema.Int })
