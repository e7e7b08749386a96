/**
 * Globs of a manifest: `*` and `?` within one segment, `**` across segments.
 * Own code, because a path that matches is a path that may be read or written:
 * braces, negation and classes of general glob libraries would widen a grant.
 */

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/gu, "\\$&")

const segmentPattern = (segment: string) =>
  segment.replace(/[^*?]+|\*|\?/gu, (part) => (part === "*" ? "[^/]*" : part === "?" ? "[^/]" : escaped(part)))

const patternOf = (glob: string): RegExp => {
  const segments = glob.replace(/^\.\//u, "").split("/")
  const source = segments.map((segment, index) => {
    const last = index === segments.length - 1
    if (segment === "**") return last ? ".+" : "(?:[^/]+/)*"
    return segmentPattern(segment) + (last ? "" : "/")
  })
  return new RegExp(`^${source.join("")}$`, "u")
}

/** Whether the relative path, forward slashes, matches one of `globs`. */
export const matches = (globs: ReadonlyArray<string>, path: string): boolean =>
  globs.some((glob) => patternOf(glob).test(path))
