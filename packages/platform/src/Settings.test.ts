import { assert, describe, it } from "@effect/vitest"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { environmentName, fromEnvironment, read, SettingsInvalid, show, table } from "./Settings.ts"

const database = { DATABASE_URL: "postgres://u:pass-word@db/registry" }
const withEnvironment = (environment: Record<string, string>) => read({ environment: { ...database, ...environment } })

/** Why the start is refused. */
const refusal = (environment: Record<string, string>, file?: string) => {
  try {
    read({ environment: { ...database, ...environment }, file })
  } catch (error) {
    assert.instanceOf(error, SettingsInvalid)
    return error.message
  }
  return assert.fail("the start is not refused")
}

describe("the settings", () => {
  it("come from one file with dotted or nested keys, and the environment wins", () => {
    const file =
      "limits.versionsPerDay: 5\nlimits:\n  loginPerMin: 7\nservice:\n  name: ours\n  extensions: [runs]\nruns.caps.pro: [1, 2, 3]\n"
    const values = read({ environment: { ...database, SERVICE_LIMITS_LOGIN_PER_MIN: "8", HOME: "/root" }, file })
    assert.strictEqual(values["limits.versionsPerDay"], 5)
    assert.strictEqual(values["limits.loginPerMin"], 8)
    assert.strictEqual(values["service.name"], "ours")
    assert.deepStrictEqual(values["service.extensions"], ["runs"])
    assert.deepStrictEqual(values["runs.caps.pro"], { seconds: 1, turns: 2, tokens: 3 })
    assert.strictEqual(environmentName("limits.repoQuotaBytes"), "SERVICE_LIMITS_REPO_QUOTA_BYTES")
  })

  it("have the specification's defaults", () => {
    const values = withEnvironment({})
    assert.deepInclude(values, {
      "limits.archiveMaxBytes": 10_485_760,
      "limits.archiveMaxFiles": 2_000,
      "limits.archiveMaxFileBytes": 2_097_152,
      "limits.archiveMaxImageFileBytes": 5_242_880,
      "limits.archiveMaxTextBytes": 1_048_576,
      "limits.agentsPerUserNamespace": 200,
      "limits.agentsPerOrgNamespace": 500,
      "limits.versionsPerDay": 20,
      "limits.authedPerHour": 5_000,
      "limits.authedBurstPerMin": 100,
      "limits.anonymousPerMin": 60,
      "limits.loginPerMin": 10,
      "audit.retentionDays": 400,
      "queue.workers": 1,
      "auth.oidc.id": "oidc"
    })
  })

  it("name the severities that two reviewers decide, none of them when empty", () => {
    assert.deepStrictEqual(withEnvironment({})["review.fourEyes"], ["high", "critical"])
    assert.deepStrictEqual(withEnvironment({ SERVICE_REVIEW_FOUR_EYES: "" })["review.fourEyes"], [])
    assert.include(refusal({ SERVICE_REVIEW_FOUR_EYES: "high,grave" }), "SERVICE_REVIEW_FOUR_EYES must be one of")
  })

  it("[CONF-001] set caps for each tier as seconds,turns,tokens, and the two token rates", () => {
    const standard = withEnvironment({})
    assert.strictEqual(standard["runs.inputTokensPerCredit"], 50_000)
    assert.strictEqual(standard["runs.outputTokensPerCredit"], 25_000)
    const values = withEnvironment({
      SERVICE_RUNS_CAPS_STANDARD: "10,2,3000",
      SERVICE_RUNS_CAPS_PRO: "20, 3, 4000",
      SERVICE_RUNS_CAPS_BUSINESS: "30,4,5000",
      SERVICE_RUNS_CAPS_ENTERPRISE: "40,5,6000",
      SERVICE_RUNS_INPUT_TOKENS_PER_CREDIT: "7",
      SERVICE_RUNS_OUTPUT_TOKENS_PER_CREDIT: "8"
    })
    assert.deepStrictEqual(values["runs.caps.standard"], { seconds: 10, turns: 2, tokens: 3_000 })
    assert.deepStrictEqual(values["runs.caps.pro"], { seconds: 20, turns: 3, tokens: 4_000 })
    assert.deepStrictEqual(values["runs.caps.business"], { seconds: 30, turns: 4, tokens: 5_000 })
    assert.deepStrictEqual(values["runs.caps.enterprise"], { seconds: 40, turns: 5, tokens: 6_000 })
    assert.strictEqual(values["runs.inputTokensPerCredit"], 7)
    assert.strictEqual(values["runs.outputTokensPerCredit"], 8)
  })

  it("[CONF-002] the start is refused for the old token rate, a zero rate, an empty cap and a zero timeout", () => {
    assert.include(refusal({ SERVICE_RUNS_TOKENS_PER_CREDIT: "1000" }), "SERVICE_RUNS_TOKENS_PER_CREDIT")
    for (const [name, value] of [
      ["SERVICE_RUNS_INPUT_TOKENS_PER_CREDIT", "0"],
      ["SERVICE_RUNS_OUTPUT_TOKENS_PER_CREDIT", "0"],
      ["SERVICE_RUNS_CAPS_STANDARD", ""],
      ["SERVICE_RUNS_CAPS_PRO", "300,,500000"],
      ["SERVICE_RUNS_CAPS_BUSINESS", "300,20"],
      ["SERVICE_RUNS_CAPS_ENTERPRISE", "0,20,500000"],
      ["SERVICE_RUNS_QUEUE_MAX", "0s"],
      ["SERVICE_RUNS_STALE", "0m"],
      ["SERVICE_RUNS_STREAM_TIMEOUT", "0"]
    ] as const)
      assert.include(refusal({ [name]: value }), name)
  })

  it("[CONF-003] the start is refused for the old draft price, and says what replaced it", () => {
    const message = refusal({ SERVICE_RUNS_DRAFT_TOKEN_CREDITS: "3" })
    for (const name of [
      "SERVICE_RUNS_DRAFT_TOKEN_CREDITS",
      "SERVICE_RUNS_DRAFT_CREDITS",
      "SERVICE_RUNS_DRAFT_MAX_TOKENS"
    ]) {
      assert.include(message, name)
    }
  })

  it("[CONF-004] a run waits an hour for a host, and at most twelve", () => {
    assert.strictEqual(withEnvironment({})["runs.queueMax"], 3_600_000)
    assert.strictEqual(withEnvironment({ SERVICE_RUNS_QUEUE_MAX: "12h" })["runs.queueMax"], 43_200_000)
    assert.include(refusal({ SERVICE_RUNS_QUEUE_MAX: "721m" }), "SERVICE_RUNS_QUEUE_MAX")
  })

  it("[CONF-005] an alias instead of an exact judge model stops the start", () => {
    for (const model of ["latest", "judge:latest", "vendor/judge-latest", "judge@default", "Judge-Preview"]) {
      assert.include(refusal({ SERVICE_JUDGE_MODEL: model }), "SERVICE_JUDGE_MODEL must be an exact model id", model)
    }
    assert.strictEqual(withEnvironment({ SERVICE_JUDGE_MODEL: "judge-2026-05-01" })["judge.model"], "judge-2026-05-01")
    assert.include(refusal({ SERVICE_JUDGE_PROVIDER: "anthropic" }), "judge.model is missing")
  })

  it("[CONF-006] the native account switch and social providers do not load, from file or environment", () => {
    assert.include(
      refusal({ SERVICE_AUTH_NATIVE_ACCOUNTS: "true" }),
      "SERVICE_AUTH_NATIVE_ACCOUNTS is no longer a setting"
    )
    assert.include(
      refusal({ SERVICE_AUTH_SOCIAL_GITHUB_CLIENT_ID: "x" }),
      "SERVICE_AUTH_SOCIAL_GITHUB_CLIENT_ID is no longer a setting"
    )
    assert.include(refusal({}, "auth:\n  native: true\n"), "auth.native is no longer a setting")
    assert.include(
      refusal({}, "auth:\n  social:\n    google:\n      clientId: x\n"),
      "auth.social.google.clientId is no longer a setting"
    )
  })

  it("unknown keys and values out of range are named, all of them at once", () => {
    const message = refusal(
      {
        SERVICE_LIMITS_LOGIN_PER_MIN: "0",
        SERVICE_PORT: "65536",
        SERVICE_NO_SUCH: "1",
        SERVICE_SERVICE_TRUST_PROXY: "yes"
      },
      "constructor: 1\nlimits.noSuch: 2\nservice.baseUrl: ftp://x\nkeys.sealingKey: c2hvcnQ=\nservice.extensions: [vault]\n"
    )
    for (const name of [
      "SERVICE_LIMITS_LOGIN_PER_MIN",
      "SERVICE_PORT",
      "SERVICE_NO_SUCH is not a setting",
      "SERVICE_SERVICE_TRUST_PROXY",
      "constructor is not a setting",
      "limits.noSuch is not a setting",
      "service.baseUrl",
      "keys.sealingKey",
      "service.extensions"
    ])
      assert.include(message, name)
    assert.include(refusal({}, "a: [b"), "not YAML")
  })

  it("the admission extension has an address and a secret, both sound, or neither", () => {
    const address = { SERVICE_ADMISSION_URL: "https://billing.example/registry/" }
    const secret = Buffer.alloc(24, 9).toString("base64")
    const values = withEnvironment({ ...address, SERVICE_ADMISSION_SECRET: secret })
    assert.strictEqual(values["admission.url"], "https://billing.example/registry")
    assert.notInclude(show(values), secret)
    assert.include(refusal(address), "admission.secret is missing: admission.url needs it")
    assert.include(refusal({ SERVICE_ADMISSION_SECRET: secret }), "admission.url is missing: admission.secret needs it")
    for (const wrong of [
      "c2hvcnQ=",
      "not base64 at all, and long enough for that",
      Buffer.alloc(65).toString("base64")
    ])
      assert.include(refusal({ ...address, SERVICE_ADMISSION_SECRET: wrong }), "SERVICE_ADMISSION_SECRET must be")
    for (const wrong of ["billing.example", "ftp://billing.example", "https://x.example/?a=1", "https://a:b@x.example"])
      assert.include(
        refusal({ SERVICE_ADMISSION_URL: wrong, SERVICE_ADMISSION_SECRET: secret }),
        "SERVICE_ADMISSION_URL must be"
      )
  })

  it("the database's address is needed, and SERVICE_DATABASE_URL outweighs DATABASE_URL", () => {
    assert.throws(() => read({ environment: {} }), /DATABASE_URL is missing/)
    assert.strictEqual(
      withEnvironment({ SERVICE_DATABASE_URL: "postgres://other" })["database.url"],
      "postgres://other"
    )
  })

  it("the file that SERVICE_CONFIG names is read, and has to be there", () => {
    const directory = mkdtempSync(join(tmpdir(), "quickagents-settings-"))
    try {
      const path = join(directory, "registry.yaml")
      writeFileSync(path, "service.name: filed\n")
      assert.strictEqual(fromEnvironment({ ...database, SERVICE_CONFIG: path })["service.name"], "filed")
      assert.throws(
        () => fromEnvironment({ ...database, SERVICE_CONFIG: join(directory, "missing") }),
        /cannot be read/
      )
    } finally {
      rmSync(directory, { recursive: true })
    }
  })

  it("an address loses the slash at its end, an issuer keeps it: it is compared letter by letter", () => {
    const values = withEnvironment({
      SERVICE_SERVICE_BASE_URL: "https://r.example/",
      SERVICE_AUTH_OIDC_ISSUER: "https://id.example/o/r/"
    })
    assert.strictEqual(values["service.baseUrl"], "https://r.example")
    assert.strictEqual(values["auth.oidc.issuer"], "https://id.example/o/r/")
  })

  it("are shown without what is secret", () => {
    const secret = Buffer.alloc(32, 7).toString("base64")
    const shown = show(withEnvironment({ SERVICE_KEYS_SEALING_KEY: secret, SERVICE_AUTH_OIDC_CLIENT_SECRET: "hush" }))
    assert.notInclude(shown, secret)
    assert.notInclude(shown, "hush")
    assert.notInclude(shown, "pass-word")
    assert.include(shown, "runs.caps.standard: 300,20,500000")
    assert.lengthOf(shown.split("\n"), Object.keys(table).length)
  })
})
