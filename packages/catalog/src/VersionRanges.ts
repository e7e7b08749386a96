/** Which version a range means. Spec: Other states (yanked versions resolve by exact pin and are excluded from ranges). */
import { invalidField, Version } from "@quickagents/schema"
import { Effect, Result, Schema, SemVer, SemVerRange } from "effect"
import type { AgentsSql } from "./AgentsSql.ts"

const isVersion = Schema.is(Version)

/**
 * The version of highest precedence in `range`; among those that differ only in
 * build metadata the first of `versions`. Prereleases only when the range names
 * one of the same version, or when `prerelease` lets them all in.
 */
export const newestIn = (
  range: SemVerRange.SemVerRange,
  versions: ReadonlyArray<string>,
  prerelease: boolean
): string | undefined =>
  versions
    .flatMap((text) => {
      // A version with a number past 2^53 cannot be compared, and no range means it.
      const version = Result.getOrUndefined(SemVer.parse(text))
      return version !== undefined && SemVerRange.matches(range, version, { includePrerelease: prerelease })
        ? [{ text, version }]
        : []
    })
    .toSorted((a, b) => SemVer.Order(b.version, a.version))[0]?.text

/** An exact version as it is, whatever its state; of a range the newest published version in it, or undefined. */
export const versionMeant = Effect.fnUntraced(function* (
  rows: AgentsSql["Service"],
  ns: string,
  name: string,
  range: string,
  asked: { readonly pointer: string; readonly where: "query" | "body"; readonly prerelease?: boolean }
) {
  if (isVersion(range)) return range
  const wanted = SemVerRange.parse(range)
  if (Result.isFailure(wanted))
    return yield* invalidField(asked.pointer, "is neither a version nor a version range", asked.where)
  const published = yield* Effect.orDie(rows.publishedVersions(ns, name))
  return newestIn(wanted.success, published, asked.prerelease === true)
})
