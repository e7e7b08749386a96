/**
 * Weak signals of different kinds in one package add up: to keep quiet about a
 * step is one thing, to send a file away another, both together a third. A
 * signal of weight 1 speaks for itself.
 */
import type { Finding } from "@quickagents/schema"
import { manifestFile } from "@quickagents/schema"
import type { ReleasePackage } from "@quickagents/archive"
import type { PreviousRelease } from "../Stage.ts"
import { commandSignals, scriptSignals } from "./CodeSignals.ts"
import { manifestSignals } from "./ManifestSignals.ts"
import { nameSignals } from "./NameSignals.ts"
import { proseSignals } from "./ProseSignals.ts"
import type { Kind, Signal } from "./ProseSignals.ts"
import { isCodePath, statementsOf, visible } from "./Statements.ts"

/** The sum of the kinds from which on a version is held. */
export const holdsFrom = 0.9

/** Where the manifest's servers are is for S6 and S7 to judge; beside it a name such as `mail` is no verb. */
const withoutPlaces = (manifest: string) => manifest.replace(/\burl:\s*["']?[^\s"',}]+["']?/gu, "url:")

export const signalsOf = (pkg: ReleasePackage, previous?: PreviousRelease): ReadonlyArray<Signal> => {
  const { manifest } = pkg
  const texts = pkg.files.flatMap(({ path, text }) => (text === undefined ? [] : [{ path, text }]))
  const granted = (manifest?.capabilities?.network?.egress ?? []).map((entry) =>
    entry.slice(0, entry.lastIndexOf(":")).toLowerCase()
  )
  return [
    ...texts.flatMap(({ path, text }) => {
      const plain = visible(text)
      if (path === manifestFile) return proseSignals(path, statementsOf(path, withoutPlaces(plain)), granted)
      const statements = statementsOf(path, plain)
      return [
        ...proseSignals(path, statements, granted),
        ...(isCodePath(path, plain) || /\.(?:json|ya?ml|html?|svg)$/iu.test(path)
          ? scriptSignals(path, plain, granted)
          : commandSignals(path, statements, manifest?.capabilities?.exec?.commands ?? []))
      ]
    }),
    ...nameSignals(manifest, texts),
    ...(manifest === undefined ? [] : manifestSignals(manifest, texts, previous))
  ]
}

/** The strongest signal of each kind; a second sort of the same kind adds a little. */
export const strongest = (signals: ReadonlyArray<Signal>): ReadonlyArray<Signal> => {
  const best = new Map<Kind, Signal>()
  const sorts = new Map<Kind, Map<string, string>>()
  for (const signal of signals) {
    if (signal.weight >= 0.4)
      sorts.set(signal.kind, (sorts.get(signal.kind) ?? new Map()).set(`${signal.file}:${signal.line}`, signal.what))
    const known = best.get(signal.kind)
    if (known === undefined || signal.weight > known.weight)
      best.set(
        signal.kind,
        signal.kind === "grants" && known !== undefined
          ? { ...signal, weight: signal.weight + known.weight / 2 }
          : signal
      )
    else if (signal.kind === "grants") best.set(signal.kind, { ...known, weight: known.weight + signal.weight / 2 })
  }
  for (const [kind, signal] of best)
    if (kind !== "grants" && new Set(sorts.get(kind)?.values()).size > 1)
      best.set(kind, { ...signal, weight: signal.weight + 0.2 })
  return [...best.values()].toSorted((a, b) => b.weight - a.weight)
}

export const evidenceFindings = (pkg: ReleasePackage, previous?: PreviousRelease): ReadonlyArray<Finding> => {
  const kinds = strongest(signalsOf(pkg, previous))
  const sum = kinds.reduce((total, { weight }) => total + weight, 0)
  // Sums of tenths are not exact.
  const isHeld = sum >= holdsFrom - 1e-9
  return kinds
    .filter(({ weight }, index) => weight >= holdsFrom || (isHeld && index === 0) || weight >= 0.5)
    .map(({ file, kind, line, weight, what }, index) => ({
      stage: "S8",
      rule: weight >= holdsFrom ? `evidence-${kind}` : isHeld && index === 0 ? "evidence-combined" : `evidence-${kind}`,
      severity: weight >= holdsFrom || (isHeld && index === 0) ? "high" : "info",
      file,
      line,
      message:
        weight >= holdsFrom || !isHeld || index > 0
          ? `${what[0].toUpperCase()}${what.slice(1)}`
          : `Several signs together: ${kinds
              .slice(0, 4)
              .map((signal) => signal.what)
              .join("; ")}`
    }))
}
