/** (d) 50 MB in and out, sealed on the way, against a server that copies it in the clear; and what memory it takes. */
import { freePort } from "@quickagents/platform/testing/server"
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Deployment } from "./Deployment.ts"
import { until } from "./Deployment.ts"
import { childrenRunning, memoryOf, resetPeakMemory } from "./Machine.ts"
import { median } from "./Statistics.ts"

const mebibyte = 2 ** 20
const totalBytes = 50 * mebibyte
/** An input has at most 10 MB. */
const inputBytes = 10 * mebibyte
const rounds = 5

/** Bytes of the body, which is not kept. */
const drain = async (answer: Response) => {
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  let bytes = 0
  for await (const chunk of answer.body!) bytes += chunk.length
  return bytes
}

/** MiB a second of `transfer`, which moves `totalBytes`. */
const rate = async (transfer: () => Promise<void>) => {
  const began = performance.now()
  await transfer()
  return (totalBytes / mebibyte / (performance.now() - began)) * 1000
}

const download = (get: () => Promise<Response>) => async () => {
  const bytes = await drain(await get())
  if (bytes !== totalBytes) throw new Error(`${bytes} of ${totalBytes} bytes came`)
}

export const transfers = async ({ agent, person, runEnded, stack }: Deployment) => {
  const [node] = childrenRunning("apps/registry/src/main.ts")
  if (node === undefined) throw new Error("the registry's process is not found")
  const port = await freePort()
  const plain = spawn(
    process.execPath,
    [fileURLToPath(new URL("PlainServer.ts", import.meta.url)), String(port), join(stack.directory, "plain")],
    { stdio: "inherit" }
  )
  try {
    const chunks = Array.from({ length: totalBytes / inputBytes }, () => new Uint8Array(randomBytes(inputBytes)))
    const send = (url: string, method: string, body: Uint8Array<ArrayBuffer>) =>
      fetch(url, {
        method,
        body,
        headers: { authorization: `Bearer ${person.token}`, "content-type": "application/octet-stream" }
      })
    let uploads = 0
    const sealedUpload = async () => {
      for (const chunk of chunks)
        await drain(await send(`${stack.urls[0]}/api/v1/x/runs/inputs?name=part-${uploads++}.bin`, "POST", chunk))
    }
    const plainUpload = async () => {
      for (const chunk of chunks) await drain(await send(`http://127.0.0.1:${port}`, "PUT", chunk))
    }
    await until(
      () =>
        send(`http://127.0.0.1:${port}`, "PUT", new Uint8Array(1)).then(
          ({ ok }) => ok,
          () => false
        ),
      (up) => up
    )

    const { id } = await stack.call<{ id: string }>(person, "POST", "/api/v1/x/runs/", {
      ref: agent,
      task: String(totalBytes)
    })
    await runEnded(person, id)
    const sealedDownload = download(() => stack.request(person, "GET", `/api/v1/x/runs/${id}/outputs/output.tar`))
    const plainDownload = download(() => fetch(`http://127.0.0.1:${port}`))

    await sealedUpload()
    await sealedDownload()
    const atRest = memoryOf(node).now
    resetPeakMemory(node)
    const rates = {
      sealedUp: new Array<number>(),
      plainUp: new Array<number>(),
      sealedDown: new Array<number>(),
      plainDown: new Array<number>()
    }
    await fetch(`http://127.0.0.1:${port}`, { method: "PUT", body: Buffer.concat(chunks) })
    for (let round = 0; round < rounds; round++) {
      rates.sealedDown.push(await rate(sealedDownload))
      rates.plainDown.push(await rate(plainDownload))
    }
    for (let round = 0; round < rounds; round++) {
      rates.sealedUp.push(await rate(sealedUpload))
      rates.plainUp.push(await rate(plainUpload))
    }
    const compare = (sealed: ReadonlyArray<number>, copied: ReadonlyArray<number>) => ({
      sealedMiBPerSecond: median(sealed),
      plainMiBPerSecond: median(copied),
      ratio: median(sealed) / median(copied)
    })
    return {
      bytes: totalBytes,
      upload: compare(rates.sealedUp, rates.plainUp),
      download: compare(rates.sealedDown, rates.plainDown),
      memory: { beforeMiB: atRest, peakMiB: memoryOf(node).peak }
    }
  } finally {
    plain.kill("SIGKILL")
  }
}
