/**
 * Checks a registry's transparency log from outside, with nothing but Node: shares
 * no code with the registry and believes nothing that it can compute.
 *
 *   node examples/verify-log.mjs [--registry http://127.0.0.1:4000] [--state log-state.json] [ns/name@version]
 *
 * - the checkpoint is signed by one of the registry's signing keys
 * - entries and tiles, all of them, give exactly the checkpoint's root
 * - no release stands there twice with different archives or attestations
 * - with --state: the log begins with what it was when this file was written, by
 *   you or by someone else whose view of the log you want to compare with yours
 * - with a release: its attestation is signed, is about its archive, and is in the log
 *
 * For a release of a private agent set QUICKAGENTS_TOKEN (scope agent:read).
 * Exits with 0 when all of it holds, 1 when something does not, 2 when it was
 * called wrongly, 3 when the registry could not be read.
 */
import { createHash, createPublicKey, verify } from "node:crypto"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"

class Refuted extends Error {}
class Unreadable extends Error {}
class UsageWrong extends Error {}

const refute = (message) => {
  throw new Refuted(message)
}
/** What is quoted of a registry may hold what a terminal obeys. */
const plain = (text) => text.replace(/(?![\n\t])[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/gu, " ")
const good = (message) => console.log(plain(`ok    ${message}`))

const arguments_ = () => {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: {
        registry: { type: "string", default: "http://127.0.0.1:4000" },
        state: { type: "string" },
        help: { type: "boolean", short: "h" }
      }
    })
    if (values.help) {
      // The comment at the top of this file.
      const [, text] = /\/\*\*\n([\s\S]*?)\n \*\//.exec(readFileSync(new URL(import.meta.url), "utf8"))
      console.log(text.replace(/^ \* ?/gm, ""))
      process.exit(0)
    }
    const release = /^([a-z0-9-]+)\/([a-z0-9-]+)@([0-9A-Za-z.+-]+)$/.exec(positionals[0] ?? "a/b@0")
    if (positionals.length > 1 || release === null) throw new Error("name one release as ns/name@version")
    const [ref, namespace, name, version] = release
    return {
      registry: values.registry.replace(/\/+$/, ""),
      stateFile: values.state,
      release: positionals.length === 0 ? undefined : { ref, namespace, name, version }
    }
  } catch (error) {
    throw new UsageWrong(error.message)
  }
}

/** Waits when the registry asks for it; anything but 200 and `others` cannot be read. */
const get = async (url, { others = [], token } = {}) => {
  for (let attempt = 0; ; attempt++) {
    let response
    try {
      response = await fetch(url, {
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(60_000)
      })
    } catch (error) {
      throw new Unreadable(`${url}: ${error.cause?.message ?? error.message}`)
    }
    if (response.status === 429 && attempt < 30) {
      await response.body?.cancel()
      await sleep(1000 * Math.min(60, Number(response.headers.get("retry-after") ?? 1) + 1))
    } else if (response.status === 200 || others.includes(response.status)) return response
    else throw new Unreadable(`${url} answers ${response.status}`)
  }
}

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest()
const digestOf = (bytes) => `sha256:${sha256(bytes).toString("hex")}`
/** RFC 8785, of objects and arrays of texts. */
const canonical = (value) =>
  Array.isArray(value)
    ? `[${value.map(canonical).join(",")}]`
    : typeof value === "object"
      ? `{${Object.keys(value)
          .toSorted()
          .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`)
          .join(",")}}`
      : JSON.stringify(value)

const verifies = (publicKey, message, signature) =>
  verify(
    null,
    message,
    createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey.toString("base64url") }, format: "jwk" }),
    signature
  )

const readKeys = async (registry) => {
  const { service } = await (await get(`${registry}/api/v1/meta`)).json()
  const { keys } = await (await get(`${registry}/.well-known/${service}/signing-keys.json`)).json()
  return keys.map(({ keyId, publicKey }) => {
    const raw = Buffer.from(publicKey, "base64")
    if (sha256(raw).toString("hex") !== keyId) refute(`the signing key ${keyId} is not the one that its id names`)
    return { keyId, raw }
  })
}

/** https://c2sp.org/signed-note, https://c2sp.org/tlog-checkpoint */
const readCheckpoint = (note, keys) => {
  const end = note.indexOf("\n\n") + 1
  const text = note.slice(0, end)
  const [origin, size, root] = text.split("\n")
  if (end === 0 || !/^(0|[1-9]\d*)$/.test(size) || Buffer.from(root ?? "", "base64").length !== 32) {
    refute("the checkpoint is not one")
  }
  const key = keys.find(({ raw }) => {
    const keyHash = sha256(`${origin}\n`, Buffer.from([1]), raw).subarray(0, 4)
    return note
      .slice(end + 1)
      .split("\n")
      .some((line) => {
        const [dash, name, text64 = ""] = line.split(" ")
        const bytes = Buffer.from(text64, "base64")
        return (
          dash === "—" &&
          name === origin &&
          bytes.length === 68 &&
          bytes.subarray(0, 4).equals(keyHash) &&
          verifies(raw, Buffer.from(text), bytes.subarray(4))
        )
      })
  })
  if (key === undefined) refute("no signing key of the registry signed the checkpoint")
  return { origin, size: Number(size), root, keyId: key.keyId }
}

/** RFC 6962, 2.1 */
const leafHash = (entry) => sha256(Buffer.from([0]), entry)
const rootOf = (hashes) => {
  if (hashes.length === 0) return sha256("")
  if (hashes.length === 1) return hashes[0]
  const middle = 2 ** (31 - Math.clz32(hashes.length - 1))
  return sha256(Buffer.from([1]), rootOf(hashes.slice(0, middle)), rootOf(hashes.slice(middle)))
}

/** https://c2sp.org/tlog-tiles: each tile of a level with `count` hashes or entries, `read` one at a time. */
const readTiles = async (registry, level, count, read) => {
  for (let index = 0; index * 256 < count; index++) {
    const width = Math.min(256, count - index * 256)
    const groups = String(index)
      .padStart(Math.ceil(String(index).length / 3) * 3, "0")
      .match(/\d{3}/g)
    const path = `tile/${level}/${groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join("/")}`
    const address = width === 256 ? path : `${path}.p/${width}`
    const response = await get(`${registry}/api/v1/log/${address}`, { others: [404] })
    if (response.status === 404) refute(`the log does not have ${address}`)
    read(Buffer.from(await response.arrayBuffer()), width, index, address)
  }
}

const readEntries = async (registry, size) => {
  const entries = []
  await readTiles(registry, "entries", size, (bytes, width, _index, address) => {
    let at = 0
    for (let entry = 0; entry < width; entry++) {
      const from = at + 2
      if (from > bytes.length) refute(`${address} is too short`)
      at = from + bytes.readUInt16BE(at)
      if (at > bytes.length) refute(`${address} is too short`)
      entries.push(bytes.subarray(from, at))
    }
    if (at !== bytes.length) refute(`${address} is too long`)
  })
  return entries
}

const checkTiles = async (registry, leaves) => {
  let tiles = 0
  for (let level = 0, hashes = leaves; hashes.length > 0; level++) {
    const expected = hashes
    await readTiles(registry, level, expected.length, (bytes, width, index, address) => {
      tiles++
      if (!bytes.equals(Buffer.concat(expected.slice(index * 256, index * 256 + width)))) {
        refute(`${address} is not what the entries give`)
      }
    })
    hashes = Array.from({ length: Math.floor(expected.length / 256) }, (_, index) =>
      rootOf(expected.slice(index * 256, (index + 1) * 256))
    )
  }
  return tiles
}

/** What the entries say in clear, by release. */
const readReleases = (entries) => {
  const releases = new Map()
  const commitments = new Set()
  entries.forEach((bytes, index) => {
    const text = bytes.toString("utf8")
    let entry
    try {
      entry = JSON.parse(text)
      if (canonical(entry) !== text || !Buffer.from(text).equals(bytes)) throw new Error("not canonical")
    } catch {
      refute(`entry ${index} is not canonical JSON`)
    }
    const fields = Object.keys(entry).join(" ")
    if (fields === "commitment") return commitments.add(entry.commitment)
    if (fields !== "archive attestation ref") refute(`entry ${index} is neither a release nor a commitment`)
    const before = releases.get(entry.ref)
    if (before !== undefined && before.text !== text) {
      refute(`${entry.ref} was attested twice: entry ${before.index} is ${before.text}, entry ${index} is ${text}`)
    }
    releases.set(entry.ref, { text, index })
  })
  return { releases, commitments }
}

const checkState = (stateFile, checkpoint, note, leaves) => {
  if (!existsSync(stateFile)) return good(`nothing remembered in ${stateFile} yet`)
  const before = JSON.parse(readFileSync(stateFile, "utf8"))
  const bothSigned = () => `\nThe registry signed both of these:\n\n${before.note}\n${note}`
  if (before.origin !== checkpoint.origin) refute(`the log is ${checkpoint.origin}, the state is of ${before.origin}`)
  if (before.size > checkpoint.size) {
    refute(`the log had ${before.size} entries and now has ${checkpoint.size}${bothSigned()}`)
  }
  if (rootOf(leaves.slice(0, before.size)).toString("base64") !== before.root) {
    refute(`the first ${before.size} entries are not those that they were${bothSigned()}`)
  }
  if (before.keyId !== checkpoint.keyId) console.log(`note  another key signs now: ${checkpoint.keyId}`)
  good(`the log begins with the ${before.size} entries of ${stateFile}`)
}

const checkRelease = async (registry, { name, namespace, ref, version }, keys, { commitments, releases }) => {
  const agent = `${registry}/api/v1/agents/${namespace}/${name}`
  const token = process.env["QUICKAGENTS_TOKEN"]
  // Whatever anyone may read has to stand in the log in clear: so nobody is asked who we are at first.
  const open = await get(`${agent}/versions/${version}/attestation`, { others: [404, 409] })
  const asked = open.status === 404 && token !== undefined ? { token } : {}
  const answer =
    "token" in asked ? await get(`${agent}/versions/${version}/attestation`, { ...asked, others: [404, 409] }) : open
  if (answer.status !== 200) throw new Unreadable(`${ref} has no attestation that you may read`)
  const envelope = await answer.json()
  const payload = Buffer.from(envelope.payload, "base64")
  const type = "application/vnd.in-toto+json"
  // https://github.com/secure-systems-lab/dsse/blob/master/protocol.md
  const message = Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload])
  const signed = envelope.signatures.find(({ keyid, sig }) =>
    keys.some(({ keyId, raw }) => keyId === keyid && verifies(raw, message, Buffer.from(sig, "base64")))
  )
  if (envelope.payloadType !== type || signed === undefined) refute(`no signing key signed the attestation of ${ref}`)
  const { subject } = JSON.parse(payload.toString("utf8"))
  if (subject.length !== 1 || subject[0].name !== ref) refute(`the attestation of ${ref} is about another release`)
  good(`${ref} is attested by ${signed.keyid}`)

  const archive = `sha256:${subject[0].digest.sha256}`
  const bytes = await get(`${agent}/archives/${archive}`, { ...asked, others: [404, 409, 410] })
  if (bytes.status === 200) {
    if (digestOf(Buffer.from(await bytes.arrayBuffer())) !== archive) refute(`the archive of ${ref} is another one`)
    good(`its archive is ${archive}`)
  } else console.log(`note  its archive ${archive} is not given out (${bytes.status})`)

  const original = {
    payloadType: envelope.payloadType,
    payload: envelope.payload,
    signatures: envelope.signatures.slice(0, 1)
  }
  const attested = { archive, attestation: digestOf(canonical(original)), ref }
  const logged = releases.get(ref)
  if (logged !== undefined) {
    if (logged.text !== canonical(attested)) refute(`the log holds another attestation of ${ref}: ${logged.text}`)
    return good(`it is entry ${logged.index} of the log`)
  }
  if (!("token" in asked)) refute(`${ref} is not in the log. If it was published in these seconds, try again.`)
  const { opening } = await (
    await get(`${registry}/api/v1/log/proof/inclusion?ref=${encodeURIComponent(ref)}`, asked)
  ).json()
  const commitment = digestOf(canonical({ ...attested, salt: opening?.salt ?? "" }))
  if (!commitments.has(commitment)) refute(`the log holds no commitment to the attestation of ${ref}`)
  good(`the log holds ${commitment}, a commitment to it`)
}

const main = async () => {
  const { registry, release, stateFile } = arguments_()
  const keys = await readKeys(registry)
  const note = await (await get(`${registry}/api/v1/log/checkpoint`)).text()
  const checkpoint = readCheckpoint(note, keys)
  good(`${checkpoint.origin}: ${checkpoint.size} entries, root ${checkpoint.root}, signed by ${checkpoint.keyId}`)
  const entries = await readEntries(registry, checkpoint.size)
  const leaves = entries.map(leafHash)
  if (rootOf(leaves).toString("base64") !== checkpoint.root) refute("the entries do not give the checkpoint's root")
  good("the entries give this root")
  good(`${await checkTiles(registry, leaves)} tiles are what the entries give`)
  const logged = readReleases(entries)
  good(`${logged.releases.size} releases in clear, each attested once; ${logged.commitments.size} commitments`)
  if (stateFile !== undefined) checkState(stateFile, checkpoint, note, leaves)
  if (release !== undefined) await checkRelease(registry, release, keys, logged)
  if (stateFile !== undefined) {
    const written = `${stateFile}.${process.pid}`
    writeFileSync(written, `${JSON.stringify({ ...checkpoint, note }, null, 2)}\n`)
    renameSync(written, stateFile)
  }
}

try {
  await main()
} catch (error) {
  const [exitCode, word] =
    error instanceof Refuted ? [1, "FAIL"] : error instanceof UsageWrong ? [2, "usage"] : [3, "could not be checked:"]
  console.error(plain(`${word}  ${error.message}`))
  process.exitCode = exitCode
}
