/**
 * A strict reader of ustar archives.
 *
 * The general readers forgive: they follow pax and GNU records that rename or
 * resize an entry, accept wrong checksums and skip what they do not know. Each
 * of these lets two programs see two different packages in one archive, and
 * what was scanned must be what is run. So everything that is not a plain file
 * or directory with its name in its own header is refused, by rule name.
 */

export interface TarEntry {
  readonly kind: "file" | "directory"
  /** As cleaned: no leading `./`, no trailing slash. */
  readonly path: string
  readonly bytes: Uint8Array
  readonly mode: number
}

export interface TarProblem {
  readonly rule: string
  readonly file?: string
  readonly message: string
}

export interface TarContents {
  readonly entries: ReadonlyArray<TarEntry>
  /** Empty means the archive is safe. At most `maxProblems`. */
  readonly problems: ReadonlyArray<TarProblem>
}

const block = 512
const maxProblems = 50
const maxPathBytes = 255
const maxDepth = 32
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const entryKinds: Record<string, string> = {
  "1": "a hard link",
  "2": "a symbolic link",
  "3": "a character device",
  "4": "a block device",
  "6": "a fifo",
  "7": "a contiguous file"
}

/** Records that carry only what is not read here: times, owners, attributes of the packer's file system. */
const harmlessPaxKey =
  /^(?:mtime|atime|ctime|uid|gid|uname|gname|comment|hdrcharset|LIBARCHIVE\..+|SCHILY\.(?:dev|ino|nlink|xattr\..+))$/u

/** A name that can be printed in a message. */
const shown = (path: string) => JSON.stringify(path.length > 120 ? `${path.slice(0, 120)}...` : path)

/** A NUL-ended field. `undefined` when bytes hide after the NUL or it is not UTF-8. */
const text = (field: Uint8Array): string | undefined => {
  const nul = field.indexOf(0)
  const end = nul === -1 ? field.length : nul
  if (field.subarray(end).some((byte) => byte !== 0)) return undefined
  try {
    return utf8.decode(field.subarray(0, end))
  } catch {
    return undefined
  }
}

/** Octal digits ended by NUL or space. `undefined` for anything else, base-256 included. */
const octal = (field: Uint8Array): number | undefined => {
  const found = /^ *([0-7]+)[ \0]*$/u.exec(String.fromCharCode(...field))
  return found ? Number.parseInt(found[1], 8) : undefined
}

const checksumOf = (header: Uint8Array): number => {
  let sum = 0
  for (let i = 0; i < block; i++) sum += i >= 148 && i < 156 ? 32 : header[i]
  return sum
}

/** Keys of a pax body, or `undefined` when a record's length does not fit. */
const paxKeys = (body: Uint8Array): ReadonlyArray<string> | undefined => {
  const keys: Array<string> = []
  let at = 0
  while (at < body.length) {
    const space = body.indexOf(0x20, at)
    if (space === -1 || space - at > 10) return undefined
    const length = Number(String.fromCharCode(...body.subarray(at, space)))
    const equals = body.indexOf(0x3d, space)
    const end = at + length
    if (
      !Number.isInteger(length) ||
      length < 5 ||
      end > body.length ||
      equals === -1 ||
      equals >= end ||
      body[end - 1] !== 0x0a
    ) {
      return undefined
    }
    keys.push(String.fromCharCode(...body.subarray(space + 1, equals)))
    at = end
  }
  return keys
}

/** Why `path` may not be unpacked, or `undefined`. `path` has its `./` and trailing slash taken off. */
export const pathProblem = (path: string): TarProblem | undefined => {
  const problem = (rule: string, message: string): TarProblem => ({ rule, message })
  if (path === "") return problem("empty-path", "An entry has no name")
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(path))
    return problem("control-character-path", `The name ${shown(path)} holds a control character`)
  if (path.startsWith("/") || /^[A-Za-z]:/u.test(path))
    return problem("absolute-path", `The name ${shown(path)} is absolute`)
  if (path.includes("\\")) return problem("backslash-path", `The name ${shown(path)} holds a backslash`)
  const segments = path.split("/")
  if (segments.includes("..")) return problem("parent-path", `The name ${shown(path)} climbs out of the package`)
  if (segments.some((segment) => segment === "" || segment === "."))
    return problem("unclean-path", `The name ${shown(path)} has an empty or . segment`)
  if (segments.some((segment) => /[. ]$/u.test(segment)))
    return problem("unclean-path", `The name ${shown(path)} has a segment that ends with a dot or a space`)
  if (Buffer.byteLength(path) > maxPathBytes || segments.length > maxDepth)
    return problem("long-path", `The name ${shown(path)} is too long or too deep`)
  return undefined
}

/** Two names that some file system takes for one have the same key. */
const collisionKey = (path: string) => path.normalize("NFKC").toLowerCase().normalize("NFKC")

/** Judges every name against those before it: duplicates, collisions, a file that is also a directory. */
const makeNames = () => {
  const spelling = new Map<string, string>()
  const kinds = new Map<string, "file" | "directory" | "implied">()
  const collides = (path: string): TarProblem | undefined => {
    const key = collisionKey(path)
    const before = spelling.get(key)
    if (before === undefined || before === path) {
      spelling.set(key, path)
      return undefined
    }
    const byCase =
      before.normalize("NFC").toLowerCase() === path.normalize("NFC").toLowerCase() &&
      before.normalize("NFC") !== path.normalize("NFC")
    return byCase
      ? { rule: "case-collision", file: path, message: `${shown(path)} and ${shown(before)} differ only in case` }
      : {
          rule: "unicode-collision",
          file: path,
          message: `${shown(path)} and ${shown(before)} are one name after Unicode normalization`
        }
  }
  return (path: string, kind: "file" | "directory"): TarProblem | undefined => {
    const segments = path.split("/")
    for (let depth = 1; depth < segments.length; depth++) {
      const parent = segments.slice(0, depth).join("/")
      const problem = collides(parent)
      if (problem) return problem
      if (kinds.get(parent) === "file")
        return { rule: "file-as-directory", file: path, message: `${shown(parent)} is a file and a directory` }
      if (!kinds.has(parent)) kinds.set(parent, "implied")
    }
    const problem = collides(path)
    if (problem) return problem
    const before = kinds.get(path)
    kinds.set(path, kind)
    if (before === undefined || (before === "implied" && kind === "directory")) return undefined
    return before === kind
      ? { rule: "duplicate-name", file: path, message: `${shown(path)} is in the archive twice` }
      : { rule: "file-as-directory", file: path, message: `${shown(path)} is a file and a directory` }
  }
}

/**
 * Reads `tar` to its end marker. Reading stops at damage that makes the rest
 * unreadable; a bad entry alone is skipped, so that an author sees all of them.
 */
export const readTar = (
  tar: Uint8Array,
  bounds: { readonly maxEntries: number; readonly maxFileBytes: number }
): TarContents => {
  const entries: Array<TarEntry> = []
  const problems: Array<TarProblem> = []
  const nameProblem = makeNames()
  const refuse = (rule: string, message: string, file?: string) => {
    problems.push({ rule, message, ...(file === undefined ? {} : { file }) })
  }
  const stop = (rule: string, message: string): TarContents => {
    refuse(rule, message)
    return { entries, problems }
  }

  let at = 0
  let headers = 0
  // One pax or GNU record may stand before an entry; two in a row hide one another.
  let recordBefore = false
  while (problems.length < maxProblems) {
    if (at + block > tar.length) return stop("truncated-archive", "The archive ends without its end marker")
    const header = tar.subarray(at, at + block)
    if (header.every((byte) => byte === 0)) {
      if (recordBefore) refuse("malformed-header", "An extended header describes no entry")
      if (at + 2 * block > tar.length) return stop("truncated-archive", "The end marker is cut short")
      if (tar.subarray(at).some((byte) => byte !== 0))
        refuse("trailing-data", "The archive goes on after its end marker")
      return { entries, problems }
    }
    if (++headers > 2 * bounds.maxEntries)
      return stop("too-many-files", `The archive has more than ${2 * bounds.maxEntries} headers`)
    if (octal(header.subarray(148, 156)) !== checksumOf(header))
      return stop("wrong-checksum", `The header at byte ${at} has a wrong checksum`)
    const magic = String.fromCharCode(...header.subarray(257, 265))
    if (magic !== "ustar\u000000" && magic !== "ustar  \u0000")
      return stop("tar-format", "The archive is not a ustar archive")
    const size = octal(header.subarray(124, 136))
    const mode = octal(header.subarray(100, 108))
    if (size === undefined || mode === undefined)
      return stop("malformed-header", `The header at byte ${at} has a number that is not octal`)
    const start = at + block
    const end = start + size
    const next = start + Math.ceil(size / block) * block
    if (next > tar.length) return stop("truncated-archive", "An entry is longer than the archive")
    if (tar.subarray(end, next).some((byte) => byte !== 0))
      refuse("hidden-data", `Bytes are hidden behind the entry at byte ${at}`)
    at = next

    const type = String.fromCharCode(header[156])
    if (type === "x" || type === "g") {
      const keys = paxKeys(tar.subarray(start, end))
      if (keys === undefined) return stop("malformed-header", "An extended header cannot be read")
      const overriding = keys.find((key) => !harmlessPaxKey.test(key) || (type === "g" && key !== "comment"))
      if (overriding !== undefined) {
        refuse(
          type === "g" ? "pax-global" : "pax-override",
          `An extended header sets ${shown(overriding)}; name, size and links belong in the entry's own header`
        )
      }
      if (type === "x") {
        if (recordBefore) refuse("malformed-header", "Two extended headers stand before one entry")
        recordBefore = true
      }
      continue
    }
    recordBefore = false
    if (type === "L" || type === "K") {
      refuse("gnu-override", "A GNU long-name record renames the entry after it")
      continue
    }

    const name = text(header.subarray(0, 100))
    // GNU headers keep times where ustar keeps the prefix of the name.
    const prefix = text(header.subarray(345, 500))
    const linkName = text(header.subarray(157, 257))
    if (name === undefined || prefix === undefined || (magic !== "ustar\u000000" && prefix !== "")) {
      refuse("malformed-name", "An entry has a name that is not UTF-8 or hides bytes")
      continue
    }
    const full = prefix === "" ? name : `${prefix}/${name}`
    const isDirectory = type === "5" || ((type === "0" || type === "\0") && full.endsWith("/"))
    const withoutDot = full.replace(/^\.\/(?!\/)/u, "")
    const path = isDirectory ? withoutDot.replace(/\/$/u, "") : withoutDot
    if (isDirectory && (full === "./" || full === ".")) continue
    if (!isDirectory && type !== "0" && type !== "\0") {
      refuse(
        "special-file",
        `${shown(path)} is ${entryKinds[type] ?? "of an unknown kind"}; only files and directories are taken`
      )
      continue
    }
    if (linkName !== "") {
      refuse("special-file", `${shown(path)} names a link target`)
      continue
    }
    if (isDirectory && size !== 0) {
      refuse("hidden-data", `The directory ${shown(path)} carries data`)
      continue
    }
    const problem = pathProblem(path) ?? nameProblem(path, isDirectory ? "directory" : "file")
    if (problem) {
      refuse(problem.rule, problem.message, problem.file)
      continue
    }
    if ((mode & 0o7000) !== 0) {
      refuse("special-mode", `${shown(path)} is set-uid, set-gid or sticky`, path)
      continue
    }
    if (size > bounds.maxFileBytes) {
      refuse("file-too-large", `${shown(path)} has ${size} bytes; at most ${bounds.maxFileBytes}`, path)
      continue
    }
    if (entries.length >= bounds.maxEntries)
      return stop("too-many-files", `The archive has more than ${bounds.maxEntries} entries`)
    entries.push({
      kind: isDirectory ? "directory" : "file",
      path,
      bytes: tar.subarray(start, end),
      mode: mode & 0o777
    })
  }
  return { entries, problems }
}
