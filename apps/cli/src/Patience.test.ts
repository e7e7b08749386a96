import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { describe as told } from "./CommandFailed.ts"
import { patientHttp } from "./Patience.ts"

const silent = Layer.succeed(HttpClient.HttpClient)(HttpClient.make(() => Effect.never))

describe("a registry that never answers", () => {
  it.effect("is given up after a minute, in words that say so", () =>
    Effect.gen(function* () {
      const client = yield* HttpClient.HttpClient
      const asked = yield* Effect.forkChild(Effect.flip(client.get("https://registry.example/api/v1/meta?q=1")))
      yield* TestClock.adjust("59 seconds")
      assert.isUndefined(asked.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(told(yield* Fiber.join(asked)), {
        message: "https://registry.example does not answer; try again later",
        code: 1
      })
    }).pipe(Effect.provide(Layer.provide(patientHttp, silent)))
  )
})
