import { describe, expect, it } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import { deflateRawSync, gzipSync } from "node:zlib"
import type { ArchiveLimits } from "./ArchiveLimits.ts"
import { defaultArchiveLimits } from "./ArchiveLimits.ts"
import { openPackage, readPackage } from "./Package.ts"
import { archiveOf, archiveWith, endMarker, entry, manifestYaml, paxRecord, tarOf } from "./testing/index.ts"

const rules = (archive: Uint8Array, limits: ArchiveLimits = defaultArchiveLimits): ReadonlyArray<string> => {
  const opened = openPackage(archive, limits)
  return Result.isSuccess(opened) ? [] : opened.failure.problems.map(({ rule }) => rule)
}
const file = entry({ name: "a.txt", data: "a" })
const pax = (type: "x" | "g", key: string, value: string) => entry({ name: "pax", type, data: paxRecord(key, value) })

describe("a sound archive", () => {
  it("is read in path order with mode, text, manifest and digest", () => {
    const opened = Result.getOrThrow(
      openPackage(
        archiveOf(
          entry({ name: "./", type: "5", mode: 0o755 }),
          entry({ name: "./src/", type: "5", mode: 0o755 }),
          entry({ name: "./src/run.sh", data: "echo\n", mode: 0o755 }),
          entry({ name: "agent.yaml", data: manifestYaml() }),
          entry({ name: "logo.png", data: Buffer.from([0, 255]) })
        ),
        defaultArchiveLimits
      )
    )
    expect(opened.files.map(({ path, mode, text }) => [path, mode, text === undefined])).toEqual([
      ["agent.yaml", 0o644, false],
      ["logo.png", 0o644, true],
      ["src/run.sh", 0o755, false]
    ])
    expect(opened.manifest?.name).toBe("acme/notes")
    expect(opened.digest).toMatch(/^sha256:[0-9a-f]{64}$/u)
  })

  it("may carry a long name in its ustar prefix, a git comment and harmless pax records", () => {
    expect(
      rules(
        archiveOf(
          pax("g", "comment", "0123456789abcdef"),
          pax("x", "mtime", "1.5"),
          entry({ name: "deep.md", prefix: "a/b", data: "x" }),
          entry({ name: "gnu.md", magic: "ustar  \0", data: "x" })
        )
      )
    ).toEqual([])
  })

  it("may have a gzip header with a file name", () => {
    const gz = archiveWith()
    const named = Buffer.concat([
      gz.subarray(0, 3),
      Buffer.from([8]),
      gz.subarray(4, 10),
      Buffer.from("x.tar\0"),
      gz.subarray(10)
    ])
    expect(rules(named)).toEqual([])
  })
})

describe("a hostile archive", () => {
  const hostile: ReadonlyArray<readonly [string, string, Uint8Array]> = [
    ["climbs out with ..", "parent-path", archiveOf(entry({ name: "../evil" }))],
    ["climbs out in the middle of a name", "parent-path", archiveOf(entry({ name: "a/../../evil" }))],
    ["climbs out through the prefix", "parent-path", archiveOf(entry({ name: "evil", prefix: "a/.." }))],
    ["has an absolute name", "absolute-path", archiveOf(entry({ name: "/etc/passwd" }))],
    ["names a drive", "absolute-path", archiveOf(entry({ name: "C:evil" }))],
    ["has a backslash", "backslash-path", archiveOf(entry({ name: "a\\..\\evil" }))],
    ["has an empty name", "empty-path", archiveOf(entry({ name: "" }))],
    ["has a doubled slash", "unclean-path", archiveOf(entry({ name: "a//b" }))],
    ["has a . segment inside", "unclean-path", archiveOf(entry({ name: "a/./b" }))],
    ["has a trailing dot that Windows drops", "unclean-path", archiveOf(entry({ name: "a." }))],
    ["has a newline in a name", "control-character-path", archiveOf(entry({ name: "a\nb" }))],
    ["has an escape in a name", "control-character-path", archiveOf(entry({ name: "a\u001b[2Jb" }))],
    ["hides bytes behind the name's end", "malformed-name", archiveOf(entry({ name: "a\0b" }))],
    ["has a symbolic link", "special-file", archiveOf(entry({ name: "l", type: "2", link: "/etc/passwd" }))],
    ["has a hard link", "special-file", archiveOf(entry({ name: "l", type: "1", link: "agent.yaml" }))],
    ["has a character device", "special-file", archiveOf(entry({ name: "d", type: "3" }))],
    ["has a block device", "special-file", archiveOf(entry({ name: "d", type: "4" }))],
    ["has a fifo", "special-file", archiveOf(entry({ name: "f", type: "6" }))],
    ["has a file of an unknown kind", "special-file", archiveOf(entry({ name: "f", type: "Z" }))],
    ["has a file that also names a link target", "special-file", archiveOf(entry({ name: "f", link: "/etc" }))],
    ["has a set-uid file", "special-mode", archiveOf(entry({ name: "f", mode: 0o4755 }))],
    ["has a name twice", "duplicate-name", archiveOf(file, file)],
    ["has a name twice, once with ./", "duplicate-name", archiveOf(file, entry({ name: "./a.txt", data: "b" }))],
    ["has names that differ in case", "case-collision", archiveOf(file, entry({ name: "A.TXT" }))],
    [
      "has folders that differ in case",
      "case-collision",
      archiveOf(entry({ name: "docs/a" }), entry({ name: "Docs/b" }))
    ],
    [
      "has names that are one after normalization",
      "unicode-collision",
      archiveOf(entry({ name: "\u00e9" }), entry({ name: "e\u0301" }))
    ],
    [
      "has a compatibility look-alike",
      "unicode-collision",
      archiveOf(entry({ name: "file" }), entry({ name: "\ufb01le" }))
    ],
    ["uses a file as a folder", "file-as-directory", archiveOf(file, entry({ name: "a.txt/b" }))],
    ["makes a folder of a file", "file-as-directory", archiveOf(entry({ name: "a/b" }), entry({ name: "a" }))],
    ["has a wrong checksum", "wrong-checksum", archiveOf(entry({ name: "a", checksum: 1 }))],
    ["is not ustar", "tar-format", archiveOf(entry({ name: "a", magic: "\0\0\0\0\0\0\0\0" }))],
    [
      "has a size in base 256",
      "malformed-header",
      archiveOf(entry({ name: "a", sizeField: "\u0080\0\0\0\0\0\0\0\0\0\0\u0001" }))
    ],
    ["has a negative size", "malformed-header", archiveOf(entry({ name: "a", sizeField: "-0000000001\0" }))],
    ["says a size past its end", "truncated-archive", archiveOf(entry({ name: "a", size: 1_000_000 }))],
    ["renames by a pax path", "pax-override", archiveOf(pax("x", "path", "../evil"), file)],
    ["resizes by a pax size", "pax-override", archiveOf(pax("x", "size", "0"), file)],
    ["links by a pax linkpath", "pax-override", archiveOf(pax("x", "linkpath", "/etc"), file)],
    ["sets a global pax path", "pax-global", archiveOf(pax("g", "path", "evil"), file)],
    [
      "has a pax record with a wrong length",
      "malformed-header",
      archiveOf(entry({ name: "pax", type: "x", data: "99 path=x\n" }), file)
    ],
    ["stacks two pax headers", "malformed-header", archiveOf(pax("x", "mtime", "1"), pax("x", "mtime", "2"), file)],
    ["ends with a pax header", "malformed-header", archiveOf(pax("x", "mtime", "1"))],
    [
      "renames by a GNU long name",
      "gnu-override",
      archiveOf(entry({ name: "././@LongLink", type: "L", data: "../evil\0" }), file)
    ],
    [
      "links by a GNU long link",
      "gnu-override",
      archiveOf(entry({ name: "././@LongLink", type: "K", data: "/etc\0" }), file)
    ],
    ["has a GNU sparse file", "special-file", archiveOf(entry({ name: "s", type: "S" }))],
    ["has a folder with data", "hidden-data", archiveOf(entry({ name: "d/", type: "5", data: "x" }))],
    ["hides bytes in the padding", "hidden-data", archiveOf(entry({ name: "a", data: "a", padding: 65 }))],
    ["goes on after the end marker", "trailing-data", archiveOf(file, endMarker, file)],
    ["has no end marker", "truncated-archive", gzipSync(file)],
    ["has half an end marker", "truncated-archive", gzipSync(Buffer.concat([file, Buffer.alloc(512)]))],
    ["is cut short", "truncated-archive", archiveWith().subarray(0, -12)],
    ["lost its gzip trailer", "truncated-archive", archiveWith().subarray(0, -4)],
    ["has a second gzip member", "trailing-data", Buffer.concat([archiveWith(), archiveWith()])],
    ["has bytes after its gzip member", "trailing-data", Buffer.concat([archiveWith(), Buffer.from("x")])],
    ["is not gzip", "not-gzip", tarOf(file)],
    ["is empty", "not-gzip", Buffer.alloc(0)],
    [
      "sets reserved gzip flags",
      "gzip-corrupt",
      Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0x80]), archiveWith().subarray(4)])
    ],
    [
      "does not fit its gzip checksum",
      "gzip-corrupt",
      (() => {
        const archive = Buffer.from(archiveWith())
        archive[archive.length - 8] ^= 1
        return archive
      })()
    ],
    ["is a bomb past the bound", "gzip-bomb", gzipSync(Buffer.alloc(73 * 1024 * 1024))],
    [
      "is a bomb by its ratio",
      "gzip-bomb",
      archiveOf(entry({ name: "zeros.bin", data: Buffer.alloc(8 * 1024 * 1024) }))
    ]
  ]
  it.each(hostile)("that %s is refused as %s", (_, rule, archive) => {
    expect(rules(archive)).toContain(rule)
  })

  it("that is bigger than its gzip trailer can say stops at the bound", () => {
    const body = deflateRawSync(Buffer.alloc(73 * 1024 * 1024))
    const bomb = Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), body, Buffer.alloc(8)])
    expect(bomb.length).toBeLessThan(100_000)
    expect(rules(bomb)).toEqual(["gzip-bomb"])
  })
})

describe("archive limits", () => {
  const noise = (bytes: number) => {
    const data = Buffer.alloc(bytes)
    for (let i = 0, state = 1; i < bytes; i++) data[i] = (state = Math.imul(state, 1_103_515_245) + 12_345) >>> 16
    return data
  }
  const text = (bytes: number) => Buffer.from(noise(bytes).toString("hex").slice(0, bytes))

  it("[LIMIT-002] are 10 MiB, 2000 files, 2 MiB a file, 5 MiB an image, 1 MiB a text, each to the byte", () => {
    const MiB = 1024 * 1024
    expect(defaultArchiveLimits).toMatchObject({
      archiveMaxBytes: 10 * MiB,
      archiveMaxFiles: 2000,
      archiveMaxFileBytes: 2 * MiB,
      archiveMaxImageFileBytes: 5 * MiB,
      archiveMaxTextBytes: MiB
    })
    const single = (name: string, data: Buffer) => rules(archiveOf(entry({ name, data })))
    expect(single("a.bin", noise(2 * MiB))).toEqual([])
    expect(single("a.bin", noise(2 * MiB + 1))).toEqual(["file-too-large"])
    expect(single("a.png", noise(5 * MiB))).toEqual([])
    expect(single("a.png", noise(5 * MiB + 1))).toEqual(["image-file-too-large"])
    expect(single("a.md", text(MiB))).toEqual([])
    expect(single("a.md", text(MiB + 1))).toEqual(["text-file-too-large"])
    const many = (count: number) => Array.from({ length: count }, (_, index) => entry({ name: `f${index}`, data: "x" }))
    expect(rules(archiveOf(...many(2000)))).toEqual([])
    expect(rules(archiveOf(...many(2001)))).toEqual(["too-many-files"])
    expect(rules(Buffer.concat([archiveWith(), Buffer.alloc(10 * MiB)]))).toEqual(["archive-too-large"])
    expect(
      rules(
        archiveOf(
          ...Array.from({ length: 3 }, (_, index) => entry({ name: `f${index}.png`, data: noise(5 * MiB - index) }))
        )
      )
    ).toEqual(["archive-too-large"])
  })

  it("count a shipped knowledge pack by the pack's own limits", () => {
    const packed = (limits: Partial<ArchiveLimits>) =>
      rules(
        archiveWith({
          "agent.yaml": manifestYaml("knowledge: [packs/law]\n"),
          "packs/law/wiki/a.md": "a",
          "packs/law/wiki/b.md": "bb"
        }),
        { ...defaultArchiveLimits, ...limits }
      )
    expect(packed({ archiveMaxFiles: 2 })).toEqual([])
    expect(packed({ packMaxFiles: 1 })).toEqual(["pack-too-many-files"])
    expect(packed({ packMaxBytes: 2 })).toEqual(["pack-too-large"])
  })

  it.effect("stop an upload at the first byte past the limit", () =>
    Effect.gen(function* () {
      let pulled = 0
      const endless = Stream.fromIterable(
        (function* () {
          for (;;) {
            pulled++
            yield new Uint8Array(1000)
          }
        })(),
        { chunkSize: 1 }
      )
      const limits = { ...defaultArchiveLimits, archiveMaxBytes: 10_000 }
      const refused = yield* Effect.flip(readPackage(endless, limits))
      expect(refused._tag === "ArchiveRefused" && refused.problems[0]?.rule).toBe("archive-too-large")
      expect(pulled).toBeLessThan(100)
      const archive = archiveWith()
      const pkg = yield* readPackage(Stream.make(archive.subarray(0, 7), archive.subarray(7)), defaultArchiveLimits)
      expect(pkg.files.map(({ path }) => path)).toEqual(["AGENT.md", "agent.yaml"])
    })
  )
})

describe("the manifest of a package", () => {
  it("[VER-003] follows major 1 for the kinds skill and prompt-agent, read as autonomous", () => {
    for (const kind of ["skill", "prompt-agent"]) {
      const v1 = `kind: ${kind}\nname: acme/notes\nversion: 1.0.0\ndescription: d\n`
      const pkg = Result.getOrThrow(openPackage(archiveWith({ "agent.yaml": v1 }), defaultArchiveLimits))
      expect([pkg.manifestSource?.major, pkg.manifest?.modes]).toEqual([1, ["autonomous"]])
    }
    const v2 = Result.getOrThrow(openPackage(archiveWith(), defaultArchiveLimits))
    expect(v2.manifestSource?.major).toBe(2)
  })
})
