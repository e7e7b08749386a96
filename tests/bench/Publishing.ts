/** (c) From the submission of a package of 100 KB to its publication, through the whole gate without a remote judge. */
import { archiveOf, form, scriptedAgent } from "../stack/Packages.ts"
import type { Deployment } from "./Deployment.ts"
import { until } from "./Deployment.ts"
import { median, quantile } from "./Statistics.ts"

const packages = 10
const archiveBytes = 100 * 1024

const syllables = [
  "ba",
  "con",
  "der",
  "fi",
  "gal",
  "hem",
  "in",
  "jor",
  "ka",
  "lun",
  "mar",
  "nes",
  "or",
  "pel",
  "qua",
  "ris",
  "sol",
  "tan",
  "ur",
  "vel"
]

/** Prose of made-up words that compresses about as text does; `seed` makes it another text. */
const prose = (bytes: number, seed: number) => {
  let state = seed
  const random = (limit: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % limit
  }
  let text = ""
  while (text.length < bytes) {
    const words = Array.from({ length: 6 + random(10) }, () =>
      Array.from({ length: 1 + random(4) }, () => syllables[random(syllables.length)]).join("")
    )
    text += `${words.join(" ")}.\n`
  }
  return text
}

/** A package whose archive has 100 KB, in files as large as a release may have them. */
export const packageOf = (name: string, version: string, seed: number) => {
  const files: Record<string, string> = {}
  let archive = archiveOf(scriptedAgent(name, version))
  for (let file = 0; archive.length < archiveBytes; file++) {
    files[`guide/chapter-${String(file).padStart(2, "0")}.md`] = prose(16_000, seed * 1000 + file)
    archive = archiveOf(scriptedAgent(name, version, { files }))
  }
  return archive
}

export const publishing = async ({ person, stack }: Deployment) => {
  const name = "bench/guide"
  await stack.call(person, "POST", "/api/v1/agents", { namespace: "bench", name: "guide" })
  const samples: Array<number> = []
  let bytes = 0
  for (let version = 0; version <= packages; version++) {
    const archive = packageOf(name, `1.${version}.0`, version + 1)
    const began = performance.now()
    await stack.call(person, "POST", `/api/v1/agents/${name}/versions`, form(archive))
    const end = await until(
      () => stack.call<{ status: string }>(person, "GET", `/api/v1/agents/${name}/versions/1.${version}.0`),
      ({ status }) => status !== "scanning",
      5
    )
    const took = performance.now() - began
    if (end.status !== "published")
      throw new Error(`version ${version} is ${end.status}: ${JSON.stringify(end).slice(0, 1000)}`)
    // The first one warms the code up.
    if (version > 0) samples.push(took)
    bytes = archive.length
  }
  return { packages, archiveBytes: bytes, p50Ms: median(samples), p90Ms: quantile(samples, 0.9) }
}
