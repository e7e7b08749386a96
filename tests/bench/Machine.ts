/** What the numbers were measured on, and what else ran there. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus, loadavg, totalmem } from "node:os"

export interface Machine {
  readonly cores: number
  readonly processor: string
  readonly memoryGiB: number
  readonly node: string
  /** Processes that ran or wanted to, over the last minute. */
  readonly load: number
}

export const machine = (): Machine => ({
  cores: availableParallelism(),
  processor: cpus()[0]?.model ?? "unknown",
  memoryGiB: totalmem() / 2 ** 30,
  node: process.version,
  load: loadavg()[0]
})

/** Others want half a core or more: then the numbers say more about them than about us. */
export const isBusy = ({ load }: Machine) => load > 0.5

/** Process ids of our child processes that run the file `entry`, over all depths. */
export const childrenRunning = (entry: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
        return (
          parent === String(process.pid) &&
          readFileSync(`/proc/${pid}/cmdline`, "utf8")
            .split("\0")
            .some((part) => part.endsWith(entry))
        )
      } catch {
        return false // It ended while we looked.
      }
    })

/** Forgets the highest resident memory of a process, so that the next reading is of what follows. */
export const resetPeakMemory = (pid: number) => writeFileSync(`/proc/${pid}/clear_refs`, "5")

/** Resident memory in MiB: now, and the highest since the last reset. */
export const memoryOf = (pid: number) => {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  const mebibytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? Number.NaN) / 1024
  return { now: mebibytes("VmRSS"), peak: mebibytes("VmHWM") }
}

/** Processor time that a process has used so far, in milliseconds. Linux counts it in hundredths of a second. */
export const processorMs = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ")
  return (Number(fields[11]) + Number(fields[12])) * 10
}
