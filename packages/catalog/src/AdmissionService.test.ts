import { assert, it } from "@effect/vitest"
import { Settings } from "@quickagents/platform"
import { Effect, Fiber, Layer } from "effect"
import { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { AdmissionServiceLive } from "./AdmissionService.ts"
import { SubmissionAdmission } from "./SubmissionAdmission.ts"

const submission = {
  id: "sub_1",
  actor: { id: "acc_1", handle: "ada" },
  namespace: "acme",
  org: "acme",
  agent: "notes",
  version: "1.0.0",
  bytes: 1
}
const configured = (environment: Record<string, string>) =>
  AdmissionServiceLive.pipe(
    Layer.provide(
      Layer.succeed(
        Settings.Settings,
        Settings.read({ environment: { DATABASE_URL: "postgres://test", ...environment } })
      )
    ),
    Layer.provide(
      Layer.succeed(
        HttpClient.HttpClient,
        HttpClient.make(() => Effect.never)
      )
    )
  )
const admit = Effect.flatMap(SubmissionAdmission, ({ admit }) => admit(submission))

it.effect("a submission waits ten seconds for a service that says nothing", () =>
  Effect.gen(function* () {
    const asked = yield* Effect.forkChild(Effect.flip(admit))
    yield* TestClock.adjust("9 seconds")
    assert.isUndefined(asked.pollUnsafe())
    yield* TestClock.adjust("1 second")
    assert.strictEqual((yield* Fiber.join(asked))._tag, "AdmissionUnavailable")
  }).pipe(
    Effect.provide(
      configured({
        SERVICE_ADMISSION_URL: "http://127.0.0.1:1",
        SERVICE_ADMISSION_SECRET: Buffer.alloc(32).toString("base64")
      })
    )
  )
)

it.effect("without the extension nobody is asked", () => admit.pipe(Effect.provide(configured({}))))
