/** Many published agents as rows, the same ones every time: words about as common and as rare as in real text. */
import pg from "pg"
import { chanceOf } from "../faults/Chance.ts"

export const corpusSize = 100_000
const namespaces = 8_000
const batch = 5_000

/** What agents are about, the most common first. */
const subjects = (
  "agent code data review report file text test build search web email issue release note summary table chart log query sql " +
  "api invoice customer support ticket document page site meeting minutes translate draft edit security audit scan deploy " +
  "monitor alert metric budget expense tax contract legal policy research paper citation news market price stock sales lead " +
  "crm calendar schedule travel recipe health fitness lesson quiz student course game music photo video image design layout " +
  "accessibility docker kubernetes terraform python typescript rust golang java swift react database postgres redis kafka " +
  "spreadsheet csv json yaml markdown pdf latex slide changelog commit branch merge refactor lint format type coverage"
).split(" ")
const verbs =
  "writes reads finds checks sorts compares explains collects cleans converts plans answers drafts counts files".split(
    " "
  )
const syllables = "ba con der fi gal hem in jor ka lun mar nes or pel qua ris sol tan ur vel".split(" ")
const licenses = ["MIT", "Apache-2.0", "BSD-3-Clause", "GPL-3.0-only", "MPL-2.0", "Proprietary", null]

/** Zipf's law with Mandelbrot's flattened head: the most common subject is in about a fifth of the agents. */
const head = 40
const skewed = (random: number, length: number) =>
  Math.min(length - 1, Math.floor(head * ((length + head) / head) ** random) - head)

export interface Listed {
  readonly namespace: string
  readonly name: string
}

const agents = function* (): Generator<Record<string, unknown> & Listed> {
  const chance = chanceOf("search corpus")
  const rare = Array.from({ length: 20_000 }, () =>
    Array.from({ length: chance.between(2, 4) }, () => chance.pick(syllables)).join("")
  )
  const subject = () => subjects[skewed(chance.next(), subjects.length)]
  const word = () => (chance.chance(0.6) ? subject() : rare[skewed(chance.next(), rare.length)])
  const taken = new Set<string>()
  for (let index = 0; index < corpusSize; index++) {
    const namespace = `u${skewed(chance.next(), namespaces)}`
    const words = [subject(), ...Array.from({ length: chance.between(1, 2) }, word)]
    let name = words.join("-")
    if (taken.has(`${namespace}/${name}`)) name = `${name}-${index}`
    taken.add(`${namespace}/${name}`)
    const sentence = () =>
      `${chance.pick(verbs)} ${Array.from({ length: chance.between(5, 12) }, word).join(" ")}`.replace(/^./, (first) =>
        first.toUpperCase()
      )
    yield {
      id: `agt_${String(index).padStart(26, "0")}`,
      version_id: `ver_${String(index).padStart(26, "0")}`,
      namespace,
      name,
      description: `${sentence()}. ${sentence()}.`,
      at: new Date(Date.UTC(2026, 0, 1) + index * 60_000).toISOString(),
      manifest: {
        schemaVersion: 2,
        name: `${namespace}/${name}`,
        version: "1.0.0",
        description: sentence(),
        keywords: Array.from({ length: chance.between(0, 4) }, word),
        license: licenses[skewed(chance.next(), licenses.length)],
        modes: chance.pick([["autonomous"], ["autonomous"], ["interactive"], ["autonomous", "interactive"]]),
        capabilities: {
          ...(chance.chance(0.7) ? { filesystem: { read: ["**"], write: chance.chance(0.5) ? ["out/**"] : [] } } : {}),
          ...(chance.chance(0.3) ? { network: { egress: [`api.${chance.pick(rare)}.example:443`] } } : {}),
          ...(chance.chance(0.2) ? { exec: { commands: ["git"] } } : {})
        }
      },
      verdict: chance.chance(0.9) ? "clean" : "findings",
      visibility: index % 30 === 29 ? "private" : "public"
    }
  }
}

/** Fills the database with the corpus and answers every hundredth agent of it. */
export const seedCorpus = async (databaseUrl: string): Promise<ReadonlyArray<Listed>> => {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 })
  const run = (name: string, text: string, values: ReadonlyArray<unknown> = []) => pool.query({ name, text, values })
  try {
    await run(
      "namespaces",
      `INSERT INTO namespaces (handle, kind, owner_id) SELECT 'u' || n, 'account', 'acct_bench' || n FROM generate_series(0, ${namespaces - 1}) n`
    )
    const sample: Array<Listed> = []
    let rows: Array<unknown> = []
    let index = 0
    const flush = async () => {
      await run(
        "agents",
        `INSERT INTO agents (id, namespace, name, description, visibility, created_by, created_at, updated_at, submitted_at)
         SELECT r.id, r.namespace, r.name, r.description, r.visibility, 'acct_bench', r.at, r.at, r.at
         FROM jsonb_to_recordset($1::jsonb) r (id text, namespace text, name text, description text, visibility text, at timestamptz)`,
        [JSON.stringify(rows)]
      )
      await run(
        "versions",
        `INSERT INTO versions (id, agent_id, version, status, archive_digest, archive_bytes, manifest_schema_version, manifest, scan_status,
           verdict, finding_counts, source_kind, submitted_by, created_at, progressed_at, published_at)
         SELECT r.version_id, r.id, '1.0.0', 'published', 'sha256:' || encode(sha256(r.id::bytea), 'hex'), 1000, 2, r.manifest, 'scanned',
           r.verdict, '{}', 'upload', 'acct_bench', r.at, r.at, r.at
         FROM jsonb_to_recordset($1::jsonb) r (id text, version_id text, manifest jsonb, verdict text, at timestamptz)`,
        [JSON.stringify(rows)]
      )
      await run("refresh", "SELECT agent_search_refresh(r.id) FROM jsonb_to_recordset($1::jsonb) r (id text)", [
        JSON.stringify(rows.map((row) => ({ id: (row as { id: string }).id })))
      ])
      rows = []
    }
    for (const agent of agents()) {
      rows.push(agent)
      if (index++ % 100 === 0) sample.push({ namespace: agent.namespace, name: agent.name })
      if (rows.length === batch) await flush()
    }
    await flush()
    await run("analyze", "VACUUM (ANALYZE) agents, versions, agent_search, search_entries")
    return sample
  } finally {
    await pool.end()
  }
}
