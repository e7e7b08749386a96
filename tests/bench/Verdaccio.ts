/** (g) The same package served by this registry and by Verdaccio, an npm registry: its metadata, its bytes, its publication. */
import { freePort } from "@quickagents/platform/testing/server"
import { execFile, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { form } from "../stack/Packages.ts"
import type { Deployment } from "./Deployment.ts"
import { until } from "./Deployment.ts"
import { load, loadGenerator } from "./Load.ts"
import type { LoadResult } from "./Load.ts"
import { packageOf } from "./Publishing.ts"
import { median, quantile } from "./Statistics.ts"

const rounds = 5
const seconds = 3
const connections = 32
const publications = 10
const name = "bench/beside"

const peer = fileURLToPath(new URL("verdaccio/", import.meta.url))

const settings = (directory: string) => `storage: ${directory}
uplinks: {}
packages:
  "**": { access: $all, publish: $anonymous }
log: { type: stdout, format: json, level: error }
`

/** What `npm publish` sends: the manifest and the archive, in base64, in one document. */
const npmDocument = (origin: string, version: string, archive: Uint8Array) => {
  const file = `beside-${version}.tgz`
  return JSON.stringify({
    _id: "beside",
    name: "beside",
    "dist-tags": { latest: version },
    versions: {
      [version]: {
        name: "beside",
        version,
        description: "The same bytes",
        dist: {
          integrity: `sha512-${createHash("sha512").update(archive).digest("base64")}`,
          shasum: createHash("sha1").update(archive).digest("hex"),
          tarball: `${origin}/beside/-/${file}`
        }
      }
    },
    _attachments: {
      [file]: {
        content_type: "application/octet-stream",
        data: Buffer.from(archive).toString("base64"),
        length: archive.length
      }
    }
  })
}

const summary = (results: ReadonlyArray<LoadResult>) => ({
  requestsPerSecond: median(results.map(({ requestsPerSecond }) => requestsPerSecond)),
  p99Ms: median(results.map(({ p99Ms }) => p99Ms))
})

export const besideVerdaccio = async ({ person, stack }: Deployment) => {
  const npm = process.platform === "win32" ? "npm.cmd" : "npm"
  await promisify(execFile)(npm, ["ci", "--no-audit", "--no-fund"], { cwd: peer })
  const origin = `http://127.0.0.1:${await freePort()}`
  const configuration = join(stack.directory, "verdaccio.yaml")
  writeFileSync(configuration, settings(join(stack.directory, "verdaccio")))
  const verdaccio = spawn(
    process.execPath,
    [join(peer, "node_modules/verdaccio/bin/verdaccio"), "--config", configuration, "--listen", origin],
    { stdio: ["ignore", "ignore", "inherit"] }
  )
  try {
    await until(
      () =>
        fetch(`${origin}/-/ping`).then(
          ({ ok }) => ok,
          () => false
        ),
      (up) => up,
      50
    )
    await stack.call(person, "POST", "/api/v1/agents", { namespace: "bench", name: "beside" })
    const publishHere = async (version: string, archive: Uint8Array<ArrayBuffer>) => {
      await stack.call(person, "POST", `/api/v1/agents/${name}/versions`, form(archive))
      const { archive: stored, status } = await until(
        () =>
          stack.call<{ status: string; archive: { href: string } }>(
            person,
            "GET",
            `/api/v1/agents/${name}/versions/${version}`
          ),
        (row) => row.status !== "scanning",
        5
      )
      if (status !== "published") throw new Error(`${name}@${version} is ${status}`)
      return stored.href
    }
    const publishThere = async (version: string, archive: Uint8Array) => {
      const answer = await fetch(`${origin}/beside`, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: npmDocument(origin, version, archive)
      })
      if (!answer.ok) throw new Error(`Verdaccio answered ${answer.status} ${await answer.text()}`)
    }
    const published = { registry: new Array<number>(), verdaccio: new Array<number>() }
    const timed = async (into: Array<number>, work: Promise<unknown>) => {
      const began = performance.now()
      await work
      into.push(performance.now() - began)
    }
    let href = ""
    let archiveBytes = 0
    for (let turn = 0; turn < publications; turn++) {
      const version = `1.${turn}.0`
      const archive = packageOf(name, version, 100 + turn)
      archiveBytes = archive.length
      await timed(
        published.registry,
        publishHere(version, archive).then((stored) => (href = stored))
      )
      await timed(published.verdaccio, publishThere(version, archive))
    }
    const last = `1.${publications - 1}.0`
    const reads = {
      "an agent, and a package": {
        registry: `${stack.urls[0]}/api/v1/agents/${name}`,
        verdaccio: `${origin}/beside`
      },
      "one version": {
        registry: `${stack.urls[0]}/api/v1/agents/${name}/versions/${last}`,
        verdaccio: `${origin}/beside/${last}`
      },
      "its archive": {
        registry: new URL(href, stack.urls[0]).href,
        verdaccio: `${origin}/beside/-/beside-${last}.tgz`
      }
    }
    const bytes = async (url: string) => Buffer.from(await (await fetch(url)).arrayBuffer())
    const [ours, theirs] = [await bytes(reads["its archive"].registry), await bytes(reads["its archive"].verdaccio)]
    if (!ours.equals(theirs)) throw new Error("the two registries do not serve the same bytes")

    const compared: Record<string, Record<"registry" | "verdaccio", ReturnType<typeof summary>> & { ratio: number }> =
      {}
    for (const [what, urls] of Object.entries(reads)) {
      const round = (url: string, lasting = seconds) => {
        const { origin, pathname: path } = new URL(url)
        return load({ origin, requests: [{ path, headers: {} }], connections, seconds: lasting })
      }
      const results = { registry: new Array<LoadResult>(), verdaccio: new Array<LoadResult>() }
      for (const url of Object.values(urls)) await round(url, 2)
      for (let turn = 0; turn < rounds; turn++) {
        results.registry.push(await round(urls.registry))
        results.verdaccio.push(await round(urls.verdaccio))
      }
      const failures = [...results.registry, ...results.verdaccio].reduce((sum, result) => sum + result.failures, 0)
      if (failures > 0) throw new Error(`${failures} requests for ${what} failed`)
      compared[what] = {
        registry: summary(results.registry),
        verdaccio: summary(results.verdaccio),
        ratio: median(
          results.registry.map(
            ({ requestsPerSecond }, turn) => requestsPerSecond / results.verdaccio[turn].requestsPerSecond
          )
        )
      }
    }
    const times = (samples: ReadonlyArray<number>) => ({ p50Ms: median(samples), p90Ms: quantile(samples, 0.9) })
    return {
      loadGenerator,
      archiveBytes,
      reads: compared,
      published: { registry: times(published.registry), verdaccio: times(published.verdaccio) }
    }
  } finally {
    verdaccio.kill("SIGKILL")
  }
}
