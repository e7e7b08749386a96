import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { readHostConfig } from "./HostConfig.ts"
import { temporaryDirectory } from "./TestRegistry.ts"

const minimal = { HOST_DATA_DIR: "/var/lib/host" }
const refusal = (environment: Record<string, string>, parameters: ReadonlyArray<string> = []) =>
  Effect.map(Effect.flip(readHostConfig(parameters, environment)), ({ message }) => message)

describe("the host's configuration", () => {
  it.effect("needs a data directory and has a sensible value for everything else", () =>
    Effect.gen(function* () {
      const config = yield* readHostConfig([], minimal)
      assert.deepInclude(config, {
        dataDir: "/var/lib/host",
        listenAddress: "127.0.0.1",
        listenPort: 7443,
        advertisedAddress: "127.0.0.1:7443"
      })
      assert.isFalse(config.allowWeakIsolation)
      assert.isAtLeast(config.capacity, 2)
      assert.strictEqual(config.warmRunners, 1)
      assert.strictEqual((yield* readHostConfig([], { ...minimal, HOST_WARM_RUNNERS: "0" })).warmRunners, 0)
      assert.include(config.runnerCommand, "--hosted")
      assert.include(yield* refusal({}), "HOST_DATA_DIR")
    })
  )

  it.effect("weak isolation is allowed by the flag or the variable", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* readHostConfig(["--allow-weak-isolation"], minimal)).allowWeakIsolation)
      assert.isTrue((yield* readHostConfig([], { ...minimal, HOST_ALLOW_WEAK_ISOLATION: "1" })).allowWeakIsolation)
    })
  )

  it.effect("reads the enrolment token from a file, without the line end", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryDirectory, "token")
      writeFileSync(file, "the-token\n")
      const { enrolmentToken } = yield* readHostConfig([], { ...minimal, HOST_ENROLMENT_TOKEN_FILE: file })
      assert.strictEqual(Redacted.value(enrolmentToken!), "the-token")
    }).pipe(Effect.scoped)
  )

  it.effect("each wrong value is refused by its name", () =>
    Effect.gen(function* () {
      const directory = yield* temporaryDirectory
      const table: ReadonlyArray<readonly [Record<string, string>, string]> = [
        [{ HOST_CAPACITY: "0" }, "HOST_CAPACITY"],
        [{ HOST_CAPACITY: "many" }, "HOST_CAPACITY"],
        [{ HOST_WARM_RUNNERS: "-1" }, "HOST_WARM_RUNNERS"],
        [{ HOST_LISTEN_PORT: "70000" }, "HOST_LISTEN_PORT"],
        [{ HOST_LISTEN_ADDRESS: "0.0.0.0" }, "HOST_ADVERTISED_ADDRESS"],
        [{ HOST_ADVERTISED_ADDRESS: "host" }, "HOST_ADVERTISED_ADDRESS"],
        [{ HOST_REGISTRY_URL: "not a url" }, "HOST_REGISTRY_URL"],
        [{ HOST_WORK_DIR: "/var/lib/host/work" }, "HOST_WORK_DIR"],
        [{ HOST_RUNNER_PATHS: "relative" }, "HOST_RUNNER_PATHS"],
        [{ HOST_RUNNER_PATHS: "/does/not/exist" }, "HOST_RUNNER_PATHS"],
        [{ HOST_DATA_DIR: join(directory, "data"), HOST_RUNNER_PATHS: directory }, "HOST_DATA_DIR"],
        [{ HOST_ENROLMENT_TOKEN: "a", HOST_ENROLMENT_TOKEN_FILE: "/b" }, "HOST_ENROLMENT_TOKEN"],
        [{ HOST_ENROLMENT_TOKEN_FILE: "/does/not/exist" }, "HOST_ENROLMENT_TOKEN_FILE"],
        [{ HOST_CAPACTIY: "2" }, "HOST_CAPACTIY"]
      ]
      for (const [variables, name] of table) assert.include(yield* refusal({ ...minimal, ...variables }), name)
      assert.include(yield* refusal(minimal, ["--allow-week-isolation"]), "--allow-week-isolation")
    }).pipe(Effect.scoped)
  )
})
