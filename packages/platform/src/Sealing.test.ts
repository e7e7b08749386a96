import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Stream } from "effect"
import * as fc from "fast-check"
import { createHash, webcrypto } from "node:crypto"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import {
  frameBytes,
  newDataKey,
  newRecipient,
  open,
  openBytes,
  openKey,
  seal,
  sealBytes,
  SealBroken,
  sealedSize,
  sealKeyTo
} from "./Sealing.ts"

const context = "pack/pk_1"
const headerBytes = 11
const sealedFrameBytes = frameBytes + 16
const sizesAroundFrames = [0, 1, 19, frameBytes - 1, frameBytes, frameBytes + 1, 2 * frameBytes, 200_000]

const plainOf = (bytes: number) => Uint8Array.from({ length: bytes }, (_, i) => (i * 7 + (i >> 8)) & 255)
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")
const same = (actual: Uint8Array, expected: Uint8Array) => assert.isTrue(Buffer.from(actual).equals(expected))

/** Cuts bytes into pieces of the given sizes, again and again. */
const chunked = (bytes: Uint8Array, sizes: ReadonlyArray<number>) => {
  const chunks: Array<Uint8Array> = []
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? bytes.length
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return Stream.fromIterable(chunks)
}
const collect = <E>(stream: Stream.Stream<Uint8Array, E>) =>
  Effect.map(Stream.runCollect(stream), (chunks) => Buffer.concat(chunks))

const framesOf = (sealed: Uint8Array) => {
  const frames: Array<Uint8Array> = []
  for (let at = headerBytes; at < sealed.length; at += sealedFrameBytes) {
    frames.push(sealed.subarray(at, at + sealedFrameBytes))
  }
  return frames
}
const isBroken = (dataKey: Uint8Array, sealed: Uint8Array, context: string) =>
  Effect.gen(function* () {
    const whole = yield* Effect.flip(openBytes(dataKey, context, sealed))
    const streamed = yield* Effect.flip(Stream.runDrain(open(dataKey, context)(Stream.succeed(sealed))))
    assert.instanceOf(whole, SealBroken)
    assert.deepStrictEqual(streamed, whole)
    return whole.part
  })

/**
 * Made with another implementation (Python's `cryptography`): key 00..1f, random
 * part a1..a7, context `pack/pk_1`. They fix the format: stored bytes must open
 * in every later version.
 */
const vectors = {
  key: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  prefix: "oaKjpKWmpw==",
  streams: [
    { plainBytes: 0, sealed: "UUFTMaGio6SlpqdpNXKirjlD6uNsyveLAKHt" },
    { plainBytes: 1, sealed: "UUFTMaGio6SlpqeXUcEPCoTdpsunyago1c7RmA==" },
    { plainBytes: 19, sealed: "UUFTMaGio6SlpqeXcBJ4W/A0r+h2gPcr2xpJyHLgKIAi3EEIZCE2DSLYtDKIgQ==" }
  ],
  longStreams: [
    { plainBytes: 65535, sha256: "6662409fdbd7ee5aedac85faa3e5e176c32a479f84c2ef543ed3a5835cf98403" },
    { plainBytes: 65536, sha256: "18869622034fe3837a96026c3a0c6e4f264acf3c884848559e15977cb0963be1" },
    { plainBytes: 65537, sha256: "97f4717323e3449fb6835e1599511a303e75dc75faa91a4b7e3b169c4cfd0de2" },
    { plainBytes: 131072, sha256: "843322ec0065f8a4811a4e60c5a6f1b14f242601ed25a11a387f34a5778938ab" },
    { plainBytes: 200000, sha256: "36927da6c22b396429d7b44a844c39fb0e6d804b22c9e804af7e746c3e75c454" }
  ],
  sealedKey: {
    context: "run/run_1",
    privateKey: "Zl0GmNvI+5Wvwlw6TZzygNh6WFt5mSQ8pgCP0DJYl18=",
    sealed:
      "4p11IZEUmLg37WktEqgVh4mOCsP2II6sEGm8qC+2tjMAAQIDBAUGBwgJCgvo3Gcv6KKC5Jzj62I7v9JWFi6+SV+SpjK6cQN4/PlOjCOSjw3JFFbMdcXRA9jGf+w="
  }
}
const vectorKey = Buffer.from(vectors.key, "base64")

/** The format once more, in WebCrypto and without streaming. */
const referenceSeal = async (plain: Uint8Array) => {
  const prefix = Buffer.from(vectors.prefix, "base64")
  const header = Buffer.concat([Buffer.from("QAS1"), prefix])
  const key = await webcrypto.subtle.importKey("raw", vectorKey, "AES-GCM", false, ["encrypt"])
  const frames = Math.max(1, Math.ceil(plain.length / frameBytes))
  const parts = [header]
  for (let frame = 0; frame < frames; frame++) {
    const iv = Buffer.concat([prefix, Buffer.alloc(5)])
    iv.writeUInt32BE(frame, 7)
    iv[11] = frame === frames - 1 ? 1 : 0
    const additionalData = Buffer.concat([Buffer.from(context), header])
    const block = new Uint8Array(plain.subarray(frame * frameBytes, (frame + 1) * frameBytes))
    parts.push(Buffer.from(await webcrypto.subtle.encrypt({ name: "AES-GCM", iv, additionalData }, key, block)))
  }
  return Buffer.concat(parts)
}

describe("sealed streams", () => {
  it.effect("open the fixed vectors of another implementation", () =>
    Effect.gen(function* () {
      for (const { plainBytes, sealed } of vectors.streams) {
        same(yield* openBytes(vectorKey, context, Buffer.from(sealed, "base64")), plainOf(plainBytes))
      }
      for (const { plainBytes, sha256: expected } of vectors.longStreams) {
        const sealed = yield* Effect.promise(() => referenceSeal(plainOf(plainBytes)))
        assert.strictEqual(sha256(sealed), expected)
        same(yield* openBytes(vectorKey, context, sealed), plainOf(plainBytes))
      }
    })
  )

  it.effect("are AES-256-GCM in 64 KiB frames under a random 32-byte key, of the announced size", () =>
    Effect.gen(function* () {
      assert.strictEqual(newDataKey().length, 32)
      assert.notDeepEqual(newDataKey(), newDataKey())
      const key = newDataKey()
      for (const size of sizesAroundFrames) {
        const sealed = yield* collect(seal(key, context)(chunked(plainOf(size), [10_000])))
        assert.strictEqual(sealed.length, sealedSize(size))
        assert.strictEqual(framesOf(sealed).length, Math.max(1, Math.ceil(size / 65_536)))
        same(yield* collect(open(key, context)(chunked(sealed, [7_777]))), plainOf(size))
      }
    })
  )

  it.effect("give the same plain bytes for every chunking of both sides", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...sizesAroundFrames),
          fc.array(fc.integer({ min: 1, max: 150_000 }), { minLength: 1, maxLength: 5 }),
          fc.array(fc.integer({ min: 1, max: 150_000 }), { minLength: 1, maxLength: 5 }),
          (size, cuts, otherCuts) => {
            const key = newDataKey()
            // One large cut among them bounds the number of chunks; byte by byte is the next test.
            const atLeast = (cuts: ReadonlyArray<number>) => [...cuts, 5_000]
            return Effect.runPromise(
              Effect.gen(function* () {
                const sealed = yield* collect(seal(key, context)(chunked(plainOf(size), atLeast(cuts))))
                same(yield* collect(open(key, context)(chunked(sealed, atLeast(otherCuts)))), plainOf(size))
              })
            )
          }
        ),
        { numRuns: 40 }
      )
    )
  )

  it.effect("may arrive byte by byte and with empty chunks", () =>
    Effect.gen(function* () {
      const key = newDataKey()
      const plain = plainOf(300)
      const withEmpty = (bytes: Uint8Array) =>
        chunked(bytes, [1]).pipe(Stream.flatMap((byte) => Stream.make(new Uint8Array(), byte)))
      const sealed = yield* collect(seal(key, context)(withEmpty(plain)))
      same(yield* collect(open(key, context)(withEmpty(sealed))), plain)
    })
  )

  it.effect("never use a random part twice, even when one stream value runs twice", () =>
    Effect.gen(function* () {
      const sealed = seal(newDataKey(), context)(Stream.succeed(plainOf(10)))
      const [first, second] = [yield* collect(sealed), yield* collect(sealed)]
      assert.isFalse(first.subarray(4, 11).equals(second.subarray(4, 11)))
    })
  )

  it.effect("keep the error of their source and do not end as if it were whole", () =>
    Effect.gen(function* () {
      const key = newDataKey()
      const failing = Stream.concat(Stream.succeed(plainOf(70_000)), Stream.fail("source broke"))
      assert.strictEqual(yield* Effect.flip(Stream.runDrain(seal(key, context)(failing))), "source broke")
      assert.strictEqual(
        yield* Effect.flip(Stream.runDrain(open(key, context)(failing.pipe(Stream.drop(1))))),
        "source broke"
      )
    })
  )
})

describe("a sealed stream does not open when", () => {
  const key = newDataKey()
  const plain = plainOf(3 * frameBytes)
  const sealed = sealBytes(key, context, plain)
  const header = sealed.subarray(0, headerBytes)
  const [first, second, third] = framesOf(sealed) as [Uint8Array, Uint8Array, Uint8Array]

  it.effect("it is cut at or around a frame boundary, or to nothing", () =>
    Effect.gen(function* () {
      for (let frames = 0; frames < 3; frames++) {
        for (const extra of [-1, 0, 1, 15, 16, 17]) {
          const at = headerBytes + frames * sealedFrameBytes + extra
          assert.strictEqual(
            yield* isBroken(key, sealed.subarray(0, at), context),
            at < headerBytes ? "header" : "frame"
          )
        }
      }
      assert.strictEqual(yield* isBroken(key, sealed.subarray(0, -1), context), "frame")
      assert.strictEqual(yield* isBroken(key, new Uint8Array(), context), "header")
    })
  )

  it.effect("frames change places, appear twice, are left out or follow the last", () =>
    Effect.gen(function* () {
      const tampered = [
        [second, first, third],
        [first, third, second],
        [first, first, second, third],
        [first, second, second, third],
        [first, third],
        [second, third],
        [third],
        [first, second, third, third],
        [first, second, third, new Uint8Array(16)],
        [first, second, third, new Uint8Array(1)]
      ]
      for (const frames of tampered) {
        assert.strictEqual(yield* isBroken(key, Buffer.concat([header, ...frames]), context), "frame")
      }
    })
  )

  it.effect("a frame of another stream under the same key takes the place of its own", () =>
    Effect.gen(function* () {
      const [otherFirst] = framesOf(sealBytes(key, context, plain)) as [Uint8Array]
      assert.strictEqual(yield* isBroken(key, Buffer.concat([header, otherFirst, second, third]), context), "frame")
    })
  )

  it.effect("an empty frame is put behind a full one by someone who has the key", () =>
    Effect.gen(function* () {
      // Sealed as two frames, the second empty: the same plain bytes in a second form.
      const prefix = Buffer.from(header.subarray(4))
      const subtleKey = yield* Effect.promise(() =>
        webcrypto.subtle.importKey("raw", new Uint8Array(key), "AES-GCM", false, ["encrypt"])
      )
      const frame = (number: number, last: number, block: Uint8Array<ArrayBuffer>) =>
        Effect.promise(async () =>
          Buffer.from(
            await webcrypto.subtle.encrypt(
              {
                name: "AES-GCM",
                iv: Buffer.concat([prefix, Buffer.of(0, 0, 0, number, last)]),
                additionalData: Buffer.concat([Buffer.from(context), header])
              },
              subtleKey,
              block
            )
          )
        )
      const twoForms = Buffer.concat([
        header,
        yield* frame(0, 0, plainOf(frameBytes)),
        yield* frame(1, 1, new Uint8Array())
      ])
      assert.strictEqual(yield* isBroken(key, twoForms, context), "frame")
    })
  )

  it.effect("any single bit is flipped", () =>
    Effect.promise(() => {
      const short = sealBytes(key, context, plainOf(100))
      return fc.assert(
        fc.asyncProperty(
          fc.constantFrom(short, sealed),
          fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
          fc.integer({ min: 0, max: 7 }),
          (sealed, where, bit) => {
            const flipped = Buffer.from(sealed)
            const at = Math.floor(where * sealed.length)
            flipped.writeUInt8(flipped.readUInt8(at) ^ (1 << bit), at)
            return Effect.runPromise(Effect.asVoid(isBroken(key, flipped, context)))
          }
        ),
        { numRuns: 150 }
      )
    })
  )

  it.effect("the context or the key is another", () =>
    Effect.gen(function* () {
      for (const other of ["", "pack/pk_2", "pack/pk_", "pack/pk_1Q", "QAS1"]) {
        assert.strictEqual(yield* isBroken(key, sealed, other), "frame")
      }
      assert.strictEqual(yield* isBroken(newDataKey(), sealed, context), "frame")
    })
  )

  it.effect("it never was one", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* isBroken(key, plainOf(100_000), context), "header")
      assert.strictEqual(yield* isBroken(key, Buffer.from("QAS2" + "x".repeat(100)), context), "header")
    })
  )

  it.effect("the data key has the wrong length, which is a bug of the caller", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(openBytes(key.subarray(1), context, sealed))
      assert.isTrue(Exit.hasDies(exit))
    })
  )
})

describe("memory", () => {
  it.effect("50 MB go through seal and open in a few frames of memory", () =>
    Effect.gen(function* () {
      setFlagsFromString("--expose-gc")
      const collectGarbage = runInNewContext("gc") as () => void
      const live = () => {
        collectGarbage()
        const { arrayBuffers, external, heapUsed } = process.memoryUsage()
        return heapUsed + external + arrayBuffers
      }
      const key = newDataKey()
      const chunks = 800
      const chunk = plainOf(frameBytes - 5)
      const before = live()
      let peak = before
      let opened = 0
      let frames = 0
      yield* Stream.range(1, chunks).pipe(
        Stream.rechunk(1),
        Stream.map(() => chunk),
        seal(key, context),
        open(key, context),
        Stream.runForEach((plain) =>
          Effect.sync(() => {
            opened += plain.length
            if (++frames % 80 === 0) peak = Math.max(peak, live())
          })
        )
      )
      assert.strictEqual(opened, chunks * chunk.length)
      assert.isAbove(opened, 50_000_000)
      assert.isBelow(peak - before, 25_000_000)
    })
  )
})

describe("a data key sealed to a recipient", () => {
  const { privateKey, publicKey } = newRecipient()
  const dataKey = newDataKey()

  it.effect("opens with the recipient's private key and context only", () =>
    Effect.gen(function* () {
      assert.strictEqual(Buffer.from(publicKey, "base64").length, 32)
      assert.strictEqual(Buffer.from(privateKey, "base64").length, 32)
      const sealed = sealKeyTo(publicKey, "run/run_1", dataKey)
      assert.strictEqual(Buffer.from(sealed, "base64").length, 32 + 12 + 32 + 16)
      same(yield* openKey(privateKey, "run/run_1", sealed), dataKey)
      const broken = new SealBroken({ part: "key" })
      assert.deepStrictEqual(yield* Effect.flip(openKey(privateKey, "run/run_2", sealed)), broken)
      assert.deepStrictEqual(yield* Effect.flip(openKey(newRecipient().privateKey, "run/run_1", sealed)), broken)
      assert.notStrictEqual(sealKeyTo(publicKey, "run/run_1", dataKey), sealed)
    })
  )

  it.effect("opens the fixed vector of another implementation", () =>
    Effect.gen(function* () {
      const { context, privateKey, sealed } = vectors.sealedKey
      same(yield* openKey(privateKey, context, sealed), vectorKey)
    })
  )

  it.effect("does not open when any byte is changed, cut off or added, or when it is garbage", () =>
    Effect.gen(function* () {
      const sealed = Buffer.from(sealKeyTo(publicKey, "run/run_1", dataKey), "base64")
      const refused = (bytes: Uint8Array) =>
        Effect.flip(openKey(privateKey, "run/run_1", Buffer.from(bytes).toString("base64")))
      for (let at = 0; at < sealed.length; at++) {
        const flipped = Buffer.from(sealed)
        flipped.writeUInt8(flipped.readUInt8(at) ^ 1, at)
        yield* refused(flipped)
        yield* refused(sealed.subarray(0, at))
      }
      yield* refused(Buffer.concat([sealed, Buffer.of(0)]))
      // The point zero: its shared secret is zero for every private key.
      yield* refused(Buffer.concat([Buffer.alloc(32), sealed.subarray(32)]))
    })
  )

  it("is refused for a public key that is none", () => {
    assert.throws(() => sealKeyTo("AAAA", "run/run_1", dataKey))
    assert.throws(() => sealKeyTo(Buffer.alloc(32).toString("base64"), "run/run_1", dataKey))
  })
})
