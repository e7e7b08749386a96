import type { Finding } from "@quickagents/schema"
import { lintSource } from "@secretlint/core"
import { creator } from "@secretlint/secretlint-rule-preset-recommend"
import { Effect } from "effect"
import { canonicalJson } from "@quickagents/archive"
import type { PackageFile } from "@quickagents/archive"
import { digestOf } from "@quickagents/archive"
import { defineStage, lineAt, maxFindings } from "../Stage.ts"

const config = { rules: [{ id: "@secretlint/secretlint-rule-preset-recommend", rule: creator, options: {} }] }

interface SecretPattern {
  readonly id: string
  readonly pattern: RegExp
  /** Group 1, where a pattern has one, is the value that must look random. */
  readonly random?: boolean
}

/** Formats that the preset does not know, and values given to a telling name. */
const patterns: ReadonlyArray<SecretPattern> = [
  { id: "aws-access-key", pattern: /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/gu },
  { id: "google-api-key", pattern: /\bAIza[0-9A-Za-z_-]{35}\b/gu },
  { id: "google-oauth-secret", pattern: /\bGOCSPX-[0-9A-Za-z_-]{28}\b/gu },
  { id: "telegram-bot-token", pattern: /\b\d{8,10}:AA[0-9A-Za-z_-]{33}\b/gu },
  { id: "discord-webhook", pattern: /discord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/[\w-]{60,}/gu },
  { id: "slack-webhook", pattern: /hooks\.slack\.com\/services\/T[A-Z0-9]{8,}\/B[A-Z0-9]{8,}\/[A-Za-z0-9]{20,}/gu },
  { id: "slack-token", pattern: /\bxox[abposr]-[0-9A-Za-z-]{20,}/gu },
  { id: "github-token", pattern: /\bgh[pousr]_[0-9A-Za-z]{36,}\b|\bgithub_pat_[0-9A-Za-z_]{60,}\b/gu },
  { id: "gitlab-token", pattern: /\bglpat-[0-9A-Za-z_-]{20,}/gu },
  { id: "npm-token", pattern: /\bnpm_[0-9A-Za-z]{36}\b/gu },
  { id: "pypi-token", pattern: /\bpypi-AgEIcHlwaS5vcmc[\w-]{50,}/gu },
  { id: "stripe-key", pattern: /\b[sr]k_live_[0-9A-Za-z]{20,}/gu },
  { id: "openai-key", pattern: /\bsk-(?:proj-|svcacct-)?[A-Za-z0-9_-]{40,}/gu },
  { id: "anthropic-key", pattern: /\bsk-ant-[a-z0-9]{2,8}-[\w-]{60,}/gu },
  { id: "sendgrid-key", pattern: /\bSG\.[\w-]{20,24}\.[\w-]{39,50}/gu },
  { id: "azure-storage-key", pattern: /AccountKey=[A-Za-z0-9+/]{80,}={0,2}/gu },
  {
    id: "private-key",
    pattern:
      /-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----\s+(?:[A-Za-z-]{3,20}: [^\n]{1,80}\s+){0,4}[A-Za-z0-9+/=]{40,}/gu
  },
  { id: "jwt", pattern: /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{20,}/gu },
  {
    id: "url-password",
    pattern: /\b[a-z][a-z0-9+.-]{1,15}:\/\/[^\s:/@"'`<>{}$]{1,60}:([^\s:/@"'`<>{}$]{6,100})@/giu,
    random: true
  },
  {
    id: "named-secret",
    pattern:
      /\b(?:[a-z0-9]+[_-])*(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret|auth[_-]?key)["']?\s*(?:[:=]|=>|:=)\s*["'`]?([A-Za-z0-9+/_.!@#%^&*=-]{16,200})(?![A-Za-z0-9(])/giu,
    random: true
  },
  {
    id: "bearer-token",
    pattern: /\bAuthorization["']?\s*[:=]\s*["']?(?:Bearer|Basic)\s+([A-Za-z0-9+/_.=-]{20,})/giu,
    random: true
  }
]

const placeholder =
  /example|sample|placeholder|changeme|your[_-]|dummy|redacted|xxxx|\.\.\.|\*\*\*|process\.env|os\.environ|<|\{\{|\$\{|1234567890?|abcdef|test[_-]?(?:key|token|secret)/iu

/** Bits a character. English words stay under 3.3 at these lengths, random keys are over. */
const entropy = (value: string): number => {
  const counts = new Map<string, number>()
  for (const character of value) counts.set(character, (counts.get(character) ?? 0) + 1)
  let bits = 0
  for (const count of counts.values()) bits -= (count / value.length) * Math.log2(count / value.length)
  return bits
}

const looksRandom = (value: string) =>
  !placeholder.test(value) &&
  /\d/u.test(value) &&
  /[a-z]/iu.test(value) &&
  (value.length < 16 ? entropy(value) > 2.8 : entropy(value) > 3.4)

/** Names what the rules are, so that two reports can be compared. */
export const secretRulesHash = digestOf(
  canonicalJson({
    preset: "@secretlint/secretlint-rule-preset-recommend@13",
    patterns: patterns.map(({ id, pattern }) => [id, pattern.source])
  })
)

const ownMatches = (text: string): ReadonlyArray<{ readonly id: string; readonly line: number }> =>
  patterns.flatMap(({ id, pattern, random }) =>
    text
      .matchAll(pattern)
      .take(maxFindings)
      .filter((match) => (random ? looksRandom(match[1]) : !/example/iu.test(match[0]) && !documented.test(match[0])))
      .map((match) => ({ id, line: lineAt(text, match.index) }))
      .toArray()
  )

/** Values that vendors print in their documentation, and rows of one letter. */
const documented =
  /EXAMPLE|eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lI|4eC39HqLyjWDarjtT1zdp7dc|(?:x|X|\*|0|_){12}|\.\.\.$|your-256-bit-secret/u

/** The linter obeys comments that switch it off; the author of a package must not be able to. */
const withoutSwitches = (text: string) =>
  text.replace(/secretlint-(?:disable|enable)/giu, (match) => "_".repeat(match.length))

const judgeFile = (file: PackageFile & { readonly text: string }) =>
  Effect.tryPromise(() =>
    lintSource({
      source: { filePath: file.path, content: withoutSwitches(file.text), contentType: "text", ext: "" },
      options: { config, maskSecrets: true, noPhysicFilePath: true }
    })
  ).pipe(
    Effect.map(({ messages }) => {
      const known = messages
        .filter(({ range, type }) => type === "message" && !documented.test(file.text.slice(range[0], range[1])))
        .map((message) => ({ id: message.ruleId.replace(/^.*secretlint-rule-/u, ""), line: message.loc.start.line }))
      const lines = new Set(known.map(({ line }) => line))
      const own = ownMatches(file.text).filter(({ line }) => {
        const isNew = !lines.has(line)
        lines.add(line)
        return isNew
      })
      return [...known, ...own].map(({ id, line }): Finding => ({
        stage: "S5",
        rule: `secret-${id}`,
        severity: "high",
        file: file.path,
        line,
        message: "A credential stands in the package; declare it under secrets and revoke this one"
      }))
    })
  )

/** S5: credentials in files. The finding names the kind and the line, never the value. */
export const secretsStage = defineStage("S5", "3", (pkg) =>
  Effect.forEach(
    pkg.files.flatMap((file) => (file.text === undefined ? [] : [{ ...file, text: file.text }])),
    judgeFile
  ).pipe(
    Effect.map((found) => ({ findings: found.flat(), inputs: { rules: secretRulesHash } })),
    Effect.catchTag("UnknownError", () =>
      Effect.succeed({
        findings: [],
        inputs: { rules: secretRulesHash },
        status: "failed" as const,
        detail: "The secret linter failed on a file"
      })
    )
  )
)
