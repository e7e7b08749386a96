import { execFileSync } from "node:child_process"
import { existsSync, globSync, readFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"

const root = join(import.meta.dirname, "..")
const read = (file: string) => readFileSync(join(root, file), "utf8")

describe("what is installed is written down", () => {
  it("pins every dependency of every package to one version", () => {
    const manifests = ["package.json", ...globSync("{schema,packages/*,apps/*}/package.json", { cwd: root })]
    expect(manifests.length).toBeGreaterThan(10)
    const loose = manifests.flatMap((file) => {
      const manifest: { readonly [field: string]: unknown } = JSON.parse(read(file))
      return ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"]
        .flatMap((field) => Object.entries(manifest[field] ?? {}))
        .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/u.test(String(version)))
        .map(([name, version]) => `${file}: ${name}@${String(version)}`)
    })
    expect(loose).toEqual([])
  })

  it("says in the lockfile what is installed, not from where", () => {
    const lock: {
      readonly packages: { readonly [path: string]: { readonly resolved?: string; readonly link?: boolean } }
    } = JSON.parse(read("package-lock.json"))
    const addressed = Object.entries(lock.packages).filter(
      ([, entry]) => entry.link !== true && entry.resolved !== undefined
    )
    expect(addressed.map(([path]) => path)).toEqual([])
    expect(Object.keys(lock.packages).length).toBeGreaterThan(100)
  })

  it("keeps the paths of a developer's machine out of every file", () => {
    const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
      cwd: root,
      encoding: "utf8"
    })
      .split("\0")
      // The labelled packages name the machines of made-up people.
      .filter((file) => file !== "" && !file.startsWith("tests/gate/") && existsSync(join(root, file)))
    expect(files).toContain("package.json")
    // A short home or checkout such as /root or /src is an ordinary word in a container file.
    const own = [root, homedir()].filter((path) => path.split("/").length > 2)
    // Homes inside a sandbox or container are nobody's machine.
    const foreign = /(?:^|[\s"'`(=:])(?:\/home\/(?!agent\b|node\b|sandbox\b)|\/Users\/|[A-Z]:\\Users\\)[\w.-]+/u
    const found = files.filter((file) => {
      const content = read(file)
      return foreign.test(content) || own.some((path) => content.includes(`${path}/`) || content.includes(`${path}"`))
    })
    expect(found).toEqual([])
  })
})
