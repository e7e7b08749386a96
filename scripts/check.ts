/**
 * `npm run check`: everything that judges the code without running it, one line
 * a check, and the whole output of those that fail.
 */
import { spawn } from "node:child_process"
import { join } from "node:path"

const checks: ReadonlyArray<readonly [name: string, command: string, ...args: ReadonlyArray<string>]> = [
  ["types", "tsc", "-p", "tsconfig.json"],
  ["effect", "effect-tsgo", "diagnostics", "--project", "tsconfig.json", "--strict", "--format", "text"],
  // Import rule and cycles are lint rules, see .oxlintrc.json.
  ["lint and imports", "oxlint"],
  ["format", "oxfmt", "--check"],
  ["contract", process.execPath, "scripts/contract.ts", "--check"]
]

/** The type checkers use every core by themselves; more at once only costs memory. */
const atOnce = 2
const longestMs = 5 * 60_000

const run = (command: string, args: ReadonlyArray<string>) =>
  new Promise<{ readonly passed: boolean; readonly output: string }>((done) => {
    let output = ""
    const child = spawn(command, args, {
      cwd: join(import.meta.dirname, ".."),
      stdio: ["ignore", "pipe", "pipe"],
      timeout: longestMs
    })
    child.stdout.on("data", (chunk) => (output += chunk))
    child.stderr.on("data", (chunk) => (output += chunk))
    child.on("error", (error) => done({ passed: false, output: error.message }))
    child.on("close", (code, signal) =>
      done({ passed: code === 0, output: signal === null ? output : `${output}\nended by ${signal}` })
    )
  })

const waiting = [...checks]
const failed: Array<string> = []
const worker = async () => {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [name, command, ...args] = next
    const began = performance.now()
    const { passed, output } = await run(command, args)
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    console.log(`${passed ? "ok    " : "FAILED"}  ${name.padEnd(16)}  ${seconds.padStart(5)} s`)
    if (!passed) {
      failed.push(name)
      console.log(output.trim().replaceAll(/^/gmu, "  "))
    }
  }
}

await Promise.all(Array.from({ length: atOnce }, worker))
console.log(failed.length === 0 ? `${checks.length} checks passed` : `failed: ${failed.join(", ")}`)
process.exitCode = failed.length === 0 ? 0 : 1
