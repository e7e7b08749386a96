import { afterAll, beforeAll, describe, expect, inject, it } from "vitest"
import { scriptedAgent } from "../stack/Packages.ts"
import { publish } from "../stack/Publishing.ts"
import type { Person, Stack } from "../stack/Stack.ts"
import { startStack } from "../stack/Stack.ts"

let stack: Stack
let ada: Person
let olli: Person

const agent = (name: string, description: string, manifest = "") => {
  const files = scriptedAgent(name, "1.0.0", { manifest })
  return { ...files, "agent.yaml": files["agent.yaml"].replace(/description: .*/u, `description: ${description}`) }
}

beforeAll(async () => {
  stack = await startStack({ postgres: inject("postgresUrl") })
  ada = await stack.person("ada")
  olli = await stack.person("olli")
  await publish(
    stack,
    ada,
    agent("ada/invoice", "Reads invoices and writes a list of them.", "keywords: [accounting]\n")
  )
  await publish(
    stack,
    ada,
    agent("ada/invoice-mailer", "Sends an invoice to each customer.", "budgets: { turns: 5 }\n")
  )
  await publish(stack, olli, agent("olli/minutes", "Writes minutes of meetings; mentions invoice once."))
  await publish(stack, ada, agent("ada/hidden-invoice", "Of nobody's business."), "private")
}, 60_000)
afterAll(() => stack?.stop())

const search = (query: string, who: Person | null = null) => stack.call(who, "GET", `/api/v1/search?${query}`)
const names = async (query: string, who: Person | null = null) =>
  (await search(query, who)).items.map(
    ({ name, namespace }: { name: string; namespace: string }) => `${namespace}/${name}`
  )

describe("search", () => {
  it("puts the exact name first, then names that are like it, then texts that mention it", async () => {
    expect(await names("q=invoice")).toEqual(["ada/invoice", "ada/invoice-mailer", "olli/minutes"])
    expect(await names("q=ada%2Finvoice-mailer")).toContain("ada/invoice-mailer")
    expect((await names("q=invoyce"))[0]).toBe("ada/invoice")
    expect(await names("q=accounting")).toEqual(["ada/invoice"])
    expect(await names("q=meeting")).toEqual(["olli/minutes"])
  })

  it("finds a word in whatever form, and leaves out what has an unwanted one", async () => {
    expect(await names("q=accounting+lists")).toEqual(["ada/invoice"])
    expect(await names("q=invoices+-customers")).toEqual(["ada/invoice", "olli/minutes"])
  })

  it("finds what is private for those who may read it, and for no one else", async () => {
    expect(await names("q=hidden")).toEqual([])
    expect(await names("q=hidden", olli)).toEqual([])
    expect(await names("q=hidden", ada)).toEqual(["ada/hidden-invoice"])
  })

  it("[SEARCH-001] [AGENT-028] is paged by offset and counts facets over everything that matches", async () => {
    const first = await search("limit=1")
    expect(first).toMatchObject({ total: 3, offset: 0, limit: 1 })
    expect(first.items).toHaveLength(1)
    expect(first.facets).toMatchObject({
      mode: { autonomous: 3 },
      capability: { "filesystem.read": 3, "filesystem.write": 3 },
      namespace: { ada: 2, olli: 1 },
      license: { "Apache-2.0": 3 }
    })
    const pages = await Promise.all([0, 1, 2, 3].map((offset) => names(`limit=1&offset=${offset}`)))
    expect(new Set(pages.flat()).size).toBe(3)
    expect(await names("namespace=olli")).toEqual(["olli/minutes"])
    expect(await names("mode=interactive")).toEqual([])
    expect(await names("license=MIT")).toEqual([])
  })

  it("[PAGE-001] clamps what is out of range", async () => {
    expect(await search("limit=1000")).toMatchObject({ limit: 100 })
    expect(await search("limit=0")).toMatchObject({ limit: 20 })
    expect(await search("offset=-5")).toMatchObject({ offset: 0 })
    expect(await search("offset=99999")).toMatchObject({ offset: 10_000, items: [], total: 3 })
  })

  it("[SEARCH-002] a capability matches only where it is really asked for", async () => {
    expect(await names("capability=network")).toEqual([])
    expect(await names("capability=filesystem.write")).toHaveLength(3)
    expect((await stack.request(null, "GET", "/api/v1/search?capability=flying")).status).toBe(422)
    await publish(stack, olli, {
      ...agent("olli/empty-lists", "Asks for nothing."),
      "agent.yaml":
        "schemaVersion: 2\nname: olli/empty-lists\nversion: 1.0.0\ndescription: Asks for nothing.\nmodes: [autonomous]\ncapabilities:\n  network: { egress: [] }\n  exec: { commands: [] }\n",
      "AGENT.md": "# Nothing\n\nAnswer the question that you are given in one sentence.\n"
    })
    expect(await names("capability=network")).toEqual([])
    expect(await names("capability=exec")).toEqual([])
    expect(await names("q=nothing")).toEqual(["olli/empty-lists"])
  })

  it("follows an agent: yanked, retired and deleted ones are not found", async () => {
    await stack.call(olli, "POST", "/api/v1/agents/olli/minutes/versions/1.0.0/yank")
    expect(await names("q=meeting")).toEqual([])
    await stack.call(olli, "POST", "/api/v1/agents/olli/minutes/versions/1.0.0/unyank")
    expect(await names("q=meeting")).toEqual(["olli/minutes"])
    await stack.call(olli, "POST", "/api/v1/agents/olli/minutes/retire")
    expect(await names("q=meeting")).toEqual([])
    await stack.call(olli, "DELETE", "/api/v1/agents/olli/minutes?confirm=minutes")
    expect(await names("q=meeting", olli)).toEqual([])
  })
})
