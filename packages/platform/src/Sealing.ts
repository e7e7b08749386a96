/**
 * Sealing: authenticated encryption of streams and small values, in constant memory.
 *
 * A sealed stream is a header (magic `QAS1`, 7 random bytes) and frames. A frame
 * is up to 64 KiB of plain bytes under AES-256-GCM with its 16-byte tag behind
 * it. The nonce of a frame is the 7 random bytes, the frame's number (4 bytes,
 * big endian) and one byte that is 1 in the last frame and 0 before it. So a
 * stream that is cut, lengthened, reordered or changed in any bit does not open
 * (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár). The
 * context is authenticated with every frame: what was sealed as one thing does
 * not open as another.
 *
 * **Gotchas**
 *
 * - Frames leave `open` as soon as they are verified, before the end of the
 *   stream is. A consumer that must not act on a prefix waits for the end.
 * - Under one data key the 7 random bytes must not repeat: seal at most some
 *   millions of streams under one key. Packs, inputs and outputs have a key each.
 *
 * This file needs only `node:crypto` and `effect`, so that a sandbox host can
 * load it without the rest of the platform.
 */
import { Effect, Schema, Stream } from "effect"
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  randomBytes
} from "node:crypto"
import type { KeyObject } from "node:crypto"

/** Plain bytes in a full frame. */
export const frameBytes = 65_536

const algorithm = "aes-256-gcm"
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16
const magic = Buffer.from("QAS1")
const prefixBytes = 7
const headerBytes = magic.length + prefixBytes
const maxFrames = 2 ** 32

/**
 * Sealed bytes, or a sealed key, that do not open. `part` says how far it came:
 * `header` (these are not sealed bytes), `frame` (cut, changed, or another key
 * or context) or `key` (the same, of a data key sealed to a recipient).
 */
export class SealBroken extends Schema.TaggedError<SealBroken>()("SealBroken", {
  part: Schema.Literals(["header", "frame", "key"])
}) {}

/** A random key for AES-256: 32 bytes. */
export const newDataKey = (): Uint8Array => new Uint8Array(randomBytes(keyBytes))

/** Bytes that `plainBytes` take once sealed. Nothing at all is still one (empty) frame. */
export const sealedSize = (plainBytes: number): number =>
  headerBytes + plainBytes + tagBytes * Math.max(1, Math.ceil(plainBytes / frameBytes))

/**
 * Cuts chunks of any size into blocks of one size. A full block is held back
 * until a byte follows it, because only then is it known not to be the last.
 */
class Blocks {
  private readonly block: Buffer
  private filled = 0

  constructor(blockBytes: number, mostBytes = blockBytes) {
    this.block = Buffer.allocUnsafe(Math.min(blockBytes, mostBytes))
  }

  /** Hands each block that is not the last to `use`, which must not keep it: the next one overwrites it. */
  push(chunk: Uint8Array, use: (block: Uint8Array) => void) {
    for (let at = 0; at < chunk.length;) {
      if (this.filled === this.block.length) {
        use(this.block)
        this.filled = 0
      }
      const piece = chunk.subarray(at, at + this.block.length - this.filled)
      this.block.set(piece, this.filled)
      this.filled += piece.length
      at += piece.length
    }
  }

  last(): Uint8Array {
    return this.block.subarray(0, this.filled)
  }
}

/** Nonces and authenticated data of the frames of one stream, in their order. */
class FrameSequence {
  readonly aad: Buffer
  private readonly prefix: Uint8Array
  private frame = 0

  constructor(header: Uint8Array, context: string) {
    // The header has one length, so no other pair of context and header makes the same bytes.
    this.aad = Buffer.concat([Buffer.from(context), header])
    this.prefix = header.subarray(magic.length)
  }

  get started() {
    return this.frame > 0
  }

  nonce(last: boolean): Buffer {
    // A number that wrapped around would use a nonce twice, which gives the key away.
    if (this.frame === maxFrames) throw new RangeError("a sealed stream has at most 2^32 frames")
    const nonce = Buffer.alloc(nonceBytes)
    nonce.set(this.prefix)
    nonce.writeUInt32BE(this.frame++, prefixBytes)
    nonce[nonceBytes - 1] = last ? 1 : 0
    return nonce
  }
}

class Sealer {
  readonly header = Buffer.concat([magic, randomBytes(prefixBytes)])
  private readonly dataKey: Uint8Array
  private readonly frames: FrameSequence
  private readonly blocks = new Blocks(frameBytes)

  constructor(dataKey: Uint8Array, context: string) {
    this.dataKey = dataKey
    this.frames = new FrameSequence(this.header, context)
  }

  push(chunk: Uint8Array): Array<Uint8Array> {
    const sealed: Array<Uint8Array> = []
    this.blocks.push(chunk, (block) => sealed.push(this.frame(block, false)))
    return sealed
  }

  finish(): Uint8Array {
    return this.frame(this.blocks.last(), true)
  }

  private frame(plain: Uint8Array, last: boolean): Uint8Array {
    const cipher = createCipheriv(algorithm, this.dataKey, this.frames.nonce(last)).setAAD(this.frames.aad)
    return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }
}

/** Throws `SealBroken`. */
class Opener {
  private readonly dataKey: Uint8Array
  private readonly context: string
  private readonly blocks: Blocks
  private header = Buffer.alloc(0)
  private frames: FrameSequence | undefined

  constructor(dataKey: Uint8Array, context: string, mostBytes?: number) {
    this.blocks = new Blocks(frameBytes + tagBytes, mostBytes)
    this.dataKey = dataKey
    this.context = context
  }

  push(chunk: Uint8Array): Array<Uint8Array> {
    const plain: Array<Uint8Array> = []
    this.blocks.push(this.withoutHeader(chunk), (block) => plain.push(this.frame(block, false)))
    return plain
  }

  finish(): Uint8Array {
    return this.frame(this.blocks.last(), true)
  }

  private withoutHeader(chunk: Uint8Array): Uint8Array {
    if (this.frames !== undefined) return chunk
    const missing = headerBytes - this.header.length
    this.header = Buffer.concat([this.header, chunk.subarray(0, missing)])
    if (!this.header.subarray(0, magic.length).equals(magic.subarray(0, this.header.length))) {
      throw new SealBroken({ part: "header" })
    }
    if (this.header.length === headerBytes) this.frames = new FrameSequence(this.header, this.context)
    return chunk.subarray(missing)
  }

  private frame(sealed: Uint8Array, last: boolean): Uint8Array {
    const frames = this.frames
    if (frames === undefined) throw new SealBroken({ part: "header" })
    const plainBytes = sealed.length - tagBytes
    // One plain text has one sealed length: an empty frame stands only for an empty stream.
    if (plainBytes < 0 || (plainBytes === 0 && frames.started)) throw new SealBroken({ part: "frame" })
    const decipher = createDecipheriv(algorithm, this.dataKey, frames.nonce(last), { authTagLength: tagBytes })
      .setAAD(frames.aad)
      .setAuthTag(sealed.subarray(plainBytes))
    const plain = decipher.update(sealed.subarray(0, plainBytes))
    try {
      decipher.final()
    } catch {
      throw new SealBroken({ part: "frame" })
    }
    return plain
  }
}

/** `SealBroken` is the answer of the bytes; anything else that is thrown is a bug, such as a key of the wrong length. */
const broken = <A>(evaluate: () => A): Effect.Effect<A, SealBroken> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(evaluate())
    } catch (error) {
      return error instanceof SealBroken ? Effect.fail(error) : Effect.die(error)
    }
  })

/** Follows the last chunk of a stream, so that the last frame is a step like the others. */
const end = Symbol("end of stream")

/**
 * Seals a stream under a 32-byte data key. Each run of the sealed stream draws
 * its own random prefix, so it may be run again. Holds one frame in memory.
 */
export const seal =
  (dataKey: Uint8Array, context: string) =>
  <E, R>(plain: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E, R> =>
    Stream.suspend(() => {
      const sealer = new Sealer(dataKey, context)
      return Stream.concat(
        Stream.succeed<Uint8Array>(sealer.header),
        Stream.concat(plain, Stream.succeed(end)).pipe(
          Stream.mapAccum(
            () => sealer,
            (sealer, chunk) => [sealer, typeof chunk === "symbol" ? [sealer.finish()] : sealer.push(chunk)]
          )
        )
      )
    })

/** Opens what `seal` made with the same key and context. Fails with `SealBroken` at the first frame that does not verify. */
export const open =
  (dataKey: Uint8Array, context: string) =>
  <E, R>(sealed: Stream.Stream<Uint8Array, E, R>): Stream.Stream<Uint8Array, E | SealBroken, R> =>
    Stream.concat(sealed, Stream.succeed(end)).pipe(
      Stream.mapAccumEffect(
        () => new Opener(dataKey, context),
        (opener, chunk) =>
          broken(() => [opener, typeof chunk === "symbol" ? [opener.finish()] : opener.push(chunk)] as const)
      )
    )

/** Seals a value that is held in memory anyway. The form is that of `seal`. */
export const sealBytes = (dataKey: Uint8Array, context: string, bytes: Uint8Array): Uint8Array => {
  const sealer = new Sealer(dataKey, context)
  return Buffer.concat([sealer.header, ...sealer.push(bytes), sealer.finish()])
}

/** Opens what `sealBytes` or `seal` made. Unlike `open`, it gives nothing unless all of it verifies. */
export const openBytes = (
  dataKey: Uint8Array,
  context: string,
  sealed: Uint8Array
): Effect.Effect<Uint8Array, SealBroken> =>
  broken(() => {
    const opener = new Opener(dataKey, context, sealed.length)
    return Buffer.concat([...opener.push(sealed), opener.finish()])
  })

// Node reads raw X25519 keys only inside their ASN.1 frame, which is always these bytes.
const spkiPrefix = Buffer.from("302a300506032b656e032100", "hex")
const pkcs8Prefix = Buffer.from("302e020100300506032b656e04220420", "hex")

const publicKeyOf = (raw: Uint8Array) =>
  createPublicKey({ key: Buffer.concat([spkiPrefix, raw]), format: "der", type: "spki" })
const privateKeyOf = (raw: Uint8Array) =>
  createPrivateKey({ key: Buffer.concat([pkcs8Prefix, raw]), format: "der", type: "pkcs8" })
const rawPublic = (key: KeyObject) => key.export({ format: "der", type: "spki" }).subarray(spkiPrefix.length)
const rawPrivate = (key: KeyObject) => key.export({ format: "der", type: "pkcs8" }).subarray(pkcs8Prefix.length)

/** A key pair that data keys can be sealed to: raw X25519 keys of 32 bytes, in base64. */
export const newRecipient = (): { publicKey: string; privateKey: string } => {
  const pair = generateKeyPairSync("x25519")
  return {
    publicKey: rawPublic(pair.publicKey).toString("base64"),
    privateKey: rawPrivate(pair.privateKey).toString("base64")
  }
}

/** Both public keys stand in the salt: the key belongs to this sender and this recipient and to no other pair. */
const sharedKey = (
  own: KeyObject,
  peer: KeyObject,
  ephemeralPublic: Uint8Array,
  recipientPublic: Uint8Array,
  context: string
) =>
  Buffer.from(
    hkdfSync(
      "sha256",
      diffieHellman({ privateKey: own, publicKey: peer }),
      Buffer.concat([ephemeralPublic, recipientPublic]),
      `QAS1 sealed key\0${context}`,
      keyBytes
    )
  )

/**
 * Seals a data key to a recipient: base64 of the ephemeral public key (32
 * bytes), nonce (12), sealed key and tag (16). The context is at most about
 * 1000 bytes, as HKDF takes no more. Throws when `publicKey` is not a public key.
 */
export const sealKeyTo = (publicKey: string, context: string, dataKey: Uint8Array): string => {
  const recipientPublic = Buffer.from(publicKey, "base64")
  const ephemeral = generateKeyPairSync("x25519")
  const ephemeralPublic = rawPublic(ephemeral.publicKey)
  const recipient = publicKeyOf(recipientPublic)
  const key = sharedKey(ephemeral.privateKey, recipient, ephemeralPublic, recipientPublic, context)
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce)
  return Buffer.concat([ephemeralPublic, nonce, cipher.update(dataKey), cipher.final(), cipher.getAuthTag()]).toString(
    "base64"
  )
}

/** Opens what `sealKeyTo` made for this recipient and context. A `privateKey` that is no key is a defect. */
export const openKey = (privateKey: string, context: string, sealed: string): Effect.Effect<Uint8Array, SealBroken> =>
  Effect.suspend(() => {
    const recipient = privateKeyOf(Buffer.from(privateKey, "base64"))
    const recipientPublic = rawPublic(createPublicKey(recipient))
    return Effect.try({
      try: () => {
        const bytes = Buffer.from(sealed, "base64")
        const ephemeralPublic = bytes.subarray(0, 32)
        const nonce = bytes.subarray(32, 32 + nonceBytes)
        const body = bytes.subarray(32 + nonceBytes, -tagBytes)
        // Throws for a point of low order, whose shared secret anyone can name.
        const key = sharedKey(recipient, publicKeyOf(ephemeralPublic), ephemeralPublic, recipientPublic, context)
        const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes }).setAuthTag(
          bytes.subarray(-tagBytes)
        )
        return new Uint8Array(Buffer.concat([decipher.update(body), decipher.final()]))
      },
      catch: () => new SealBroken({ part: "key" })
    })
  })
