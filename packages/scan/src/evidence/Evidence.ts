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
import { namesOwnHost } from "./ProseSignals.ts"
import type { Kind, Signal } from "./Signal.ts"
import type { Statement } from "./Statements.ts"
import { readingOf } from "../judge/Trained.ts"
import { weighedSignals } from "../judge/Weighed.ts"
import { isAboutAttacks, isCodePath, isDataPath, statementsOf, visible } from "./Statements.ts"

/** What the trained model says of a file's passages: the likest of them. */
const mannerSignals = (
  file: string,
  statements: ReadonlyArray<Statement>,
  granted: ReadonlyArray<string>
): ReadonlyArray<Signal> => {
  let weight = 0
  let line = 0
  for (const { isMention, line: at, spoken } of statements) {
    // What is sent where the manifest says is no worse for the model's not knowing the manifest.
    const manner = isMention || namesOwnHost(spoken, granted) ? 0 : readingOf(spoken).manner
    if (manner > weight) {
      weight = manner
      line = at
    }
  }
  return weight === 0
    ? []
    : [{ kind: "manner", weight, line, file, what: "a passage is like those of hostile packages" }]
}

/** The sum of the kinds from which on a version is held. */
export const holdsFrom = 0.7

/** What a manifest says to people; its hosts, globs and names are judged as what they are. */
const spokenOf = (manifest: string) =>
  manifest
    .split("\n")
    .map((line) =>
      /^\s*#|\b(?:description|purpose|label|help|keywords|title|reason)\s*:|^\s+[^-:[\]]{30,}$/iu.test(line) ? line : ""
    )
    .join("\n")
/** To say openly what a package works on is no sign of anything. */
const declared: ReadonlySet<Kind> = new Set(["persist", "sensitive", "disable-guard", "destroy", "send", "pretext"])

/** What the description says that the package is for weighs less where its texts speak of it. */
const purposes: ReadonlyArray<readonly [Kind, RegExp]> = [
  ["persist", /AGENTS\.md|CLAUDE\.md|agent rules|cron|systemd|hooks?\b|service|dotfiles|schedul|timer|autostart/iu],
  [
    "sensitive",
    /credential|password|secret|\bssh\b|keys?\b|token|vault|wallet|cookie|privacy|incident|forensic|leak/iu
  ],
  ["disable-guard", /harden|security|sudo|permission|firewall|audit|certificate|sandbox/iu],
  ["phish", /password|phish|security|awareness|scam|fraud|wallet/iu],
  ["destroy", /clean|delet|prune|purge|retention|backup|restore|rotat|archiv|migrat|histor|destroy/iu],
  ["decode", /decod|base64|jwt|encod|unicode|cipher|puzzle|escape room/iu],
  ["conceal", /escape room|game|story|mystery|quiz|tutor|puzzle|surprise|murder/iu],
  ["false-report", /role ?play|simulat|fiction|story|game|interview|test data|fixture/iu]
]
const ofPurpose = 0.6

export const signalsOf = (pkg: ReleasePackage, previous?: PreviousRelease): ReadonlyArray<Signal> => {
  const { manifest } = pkg
  // A page of a knowledge pack is judged by itself: what the manifest asks for is not for it to explain.
  const isWhole = pkg.files.some(({ path }) => path === manifestFile)
  const texts = pkg.files.flatMap(({ path, text }) => (text === undefined ? [] : [{ path, text }]))
  const hostsOf = (urls: ReadonlyArray<unknown>) =>
    urls.flatMap((url) => (typeof url === "string" && URL.canParse(url) ? [new URL(url).hostname] : []))
  const { browser, network } = manifest?.capabilities ?? {}
  // What the manifest declares in any way is no address of the author's own.
  const granted = [
    ...(network?.egress ?? []).map((entry) => entry.slice(0, entry.lastIndexOf(":")).toLowerCase()),
    ...hostsOf(browser?.sites ?? []),
    ...hostsOf((manifest?.mcpServers ?? []).map(({ url }) => url))
  ]
  const isFor = new Set(purposes.flatMap(([kind, says]) => (says.test(manifest?.description ?? "") ? [kind] : [])))
  const isAttackLore = isAboutAttacks(`# ${manifest?.description ?? ""}`)
  const inText = (path: string, signals: ReadonlyArray<Signal>) =>
    signals.map((signal) => ({
      ...signal,
      weight:
        signal.weight * (isFor.has(signal.kind) ? ofPurpose : 1) * (isAttackLore && isDataPath(path) ? ofPurpose : 1)
    }))
  return [
    ...texts.flatMap(({ path, text }) => {
      const plain = visible(text)
      if (path === manifestFile)
        return weighedSignals(path, statementsOf(path, spokenOf(plain)), granted).filter(
          ({ kind }) => !declared.has(kind)
        )
      const statements = statementsOf(path, plain)
      return [
        ...inText(path, [...weighedSignals(path, statements, granted), ...mannerSignals(path, statements, granted)]),
        ...(isCodePath(path, plain) || /\.(?:json|ya?ml|html?|svg)$/iu.test(path)
          ? scriptSignals(path, plain, granted)
          : commandSignals(path, statements, manifest?.capabilities?.exec?.commands ?? []))
      ]
    }),
    ...nameSignals(isWhole ? manifest : undefined, texts),
    ...(manifest === undefined || !isWhole ? [] : manifestSignals(manifest, texts, previous))
  ]
}

/** The strongest signal of each kind; a second sort of the same kind, or a third place, adds a little. */
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
    if (kind !== "grants" && (new Set(sorts.get(kind)?.values()).size > 1 || (sorts.get(kind)?.size ?? 0) > 2))
      best.set(kind, { ...signal, weight: signal.weight + 0.2 })
  return [...best.values()].toSorted((a, b) => b.weight - a.weight)
}

/** What is only named, or asked about, does not add up. */
const leastWeight = 0.25
const hints: ReadonlySet<Kind> = new Set(["pretext", "reach", "grants"])

export const evidenceFindings = (pkg: ReleasePackage, previous?: PreviousRelease): ReadonlyArray<Finding> => {
  const kinds = strongest(
    signalsOf(pkg, previous).filter(({ kind, weight }) => weight >= (hints.has(kind) ? 0.1 : leastWeight))
  )
  const sum = kinds.reduce((total, { weight }) => total + weight, 0)
  // Sums of tenths are not exact.
  const isHeld = sum >= holdsFrom - 1e-9
  // Whoever reviews a held version is shown where each of the signs stands.
  return kinds
    .filter(({ weight }) => isHeld || weight >= 0.5)
    .map(({ file, kind, line, weight, what }, index) => {
      const isSum = isHeld && index === 0 && weight < holdsFrom
      const message = isSum
        ? `several signs together: ${kinds
            .slice(0, 4)
            .map((signal) => signal.what)
            .join("; ")}`
        : what
      return {
        stage: "S8",
        rule: isSum ? "evidence-combined" : `evidence-${kind}`,
        severity: isSum || weight >= holdsFrom ? "high" : "info",
        file,
        line,
        message: `${message[0].toUpperCase()}${message.slice(1)}`
      }
    })
}
