import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { errorOf, pauseMs, runToEnd, supervise } from "./Supervisor.ts"
import type { Service } from "./Supervisor.ts"

/** Notes its start and its end in a shared file, with its name and number. */
const noting = `
import { appendFileSync } from "node:fs"
const note = (what) => appendFileSync(process.env.NOTES, process.env.NAME + " " + what + " " + process.pid + "\\n")
note("starts")
setInterval(() => {}, 1000)
process.once("SIGTERM", () => { note("stops"); process.exit(0) })
process.send("ready")
`

const aDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "supervisor-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

const notes = (directory: string) => {
  const file = join(directory, "notes")
  const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : []
  return lines.map((line) => {
    const [name, what, pid] = line.split(" ")
    return { name, what, pid: Number(pid) }
  })
}

const aService = (directory: string, name: string, text = noting): Service => {
  const program = join(directory, `${name}.mjs`)
  writeFileSync(program, text)
  return {
    name,
    program,
    environment: { NOTES: join(directory, "notes"), NAME: name },
    ready: "message",
    readyWithin: "10 seconds",
    stopWithin: "5 seconds"
  }
}

const until = (condition: () => boolean) =>
  Effect.promise(async () => {
    for (let turn = 0; !condition(); turn++) {
      if (turn > 500) throw new Error("it did not come to that")
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe("the supervisor", () => {
  it.live("stops processes in the reverse of the order in which they were started", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const scope = yield* Scope.make()
      const options = { logDirectory: directory, say: () => {} }
      for (const name of ["database", "registry", "host"]) {
        yield* Scope.provide(supervise(aService(directory, name), options), scope)
      }
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(
        notes(directory).map(({ name, what }) => `${name} ${what}`),
        ["database starts", "registry starts", "host starts", "host stops", "registry stops", "database stops"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("starts a process again that died, and says so", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const said: Array<string> = []
      yield* supervise(aService(directory, "registry"), { logDirectory: directory, say: (line) => said.push(line) })
      process.kill(notes(directory)[0].pid, "SIGKILL")
      yield* until(() => said.length === 2)
      assert.match(said[0], /^registry was ended by SIGKILL; starting it again in 0\.5 s/)
      assert.strictEqual(said[1], "registry is up again")
      assert.deepStrictEqual(
        notes(directory).map(({ what }) => what),
        ["starts", "starts"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("does not repeat a start that failed, and shows the last lines of its log", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const service = aService(directory, "registry", 'console.error("DATABASE_URL is missing"); process.exit(2)')
      const failure = yield* Effect.flip(supervise(service, { logDirectory: directory, say: () => {} }))
      assert.include(failure.message, "registry ended with code 2")
      assert.include(failure.message, "DATABASE_URL is missing")
      assert.include(readFileSync(failure.log, "utf8"), "DATABASE_URL is missing")
    }).pipe(Effect.scoped)
  )

  it.live("takes only code 0 for the good end of a program that ends by itself", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      const options = { logDirectory: directory, say: () => {} }
      yield* runToEnd(aService(directory, "good", ""), options)
      const failure = yield* Effect.flip(runToEnd(aService(directory, "bad", "process.exit(3)"), options))
      assert.strictEqual(failure.reason, "ended with code 3")
    }).pipe(Effect.scoped)
  )

  it.live("leaves nothing behind when it is killed itself", () =>
    Effect.gen(function* () {
      const directory = yield* aDirectory
      // Without the message: its sender may be killed before it is sent.
      const child = aService(directory, "host", noting.replace('process.send("ready")', ""))
      const parent = join(directory, "parent.mjs")
      const preload = fileURLToPath(new URL("./EndWithParent.ts", import.meta.url))
      writeFileSync(
        parent,
        `
import { spawn } from "node:child_process"
spawn(process.execPath, ["--import", ${JSON.stringify(preload)}, ${JSON.stringify(child.program)}],
  { detached: true, stdio: ["ignore", "ignore", "ignore", "ipc"], env: process.env })
setInterval(() => {}, 1000)`
      )
      const running = spawn(process.execPath, [parent], {
        stdio: "ignore",
        env: { ...process.env, ...child.environment }
      })
      yield* until(() => notes(directory).length === 1)
      running.kill("SIGKILL")
      yield* until(() => notes(directory).length === 2)
      const [started, stopped] = notes(directory)
      assert.deepStrictEqual([started.what, stopped.what], ["starts", "stops"])
      yield* until(() => !isAlive(started.pid))
    }).pipe(Effect.scoped)
  )

  it("waits longer after every death, half a minute at most", () => {
    assert.deepStrictEqual([1, 2, 3, 7, 40].map(pauseMs), [500, 1_000, 2_000, 30_000, 30_000])
  })

  it("shows errors of a log, and nothing else of it", () => {
    assert.strictEqual(errorOf('{"level":"ERROR","message":"request failed"}'), "request failed")
    assert.strictEqual(errorOf('{"level":"FATAL","message":["a",1]}'), '["a",1]')
    assert.strictEqual(errorOf('{"level":"INFO","message":"request"}'), undefined)
    assert.strictEqual(errorOf('{"level":'), undefined)
    assert.strictEqual(errorOf("2026-11-21 LOG:  ready"), undefined)
  })
})
