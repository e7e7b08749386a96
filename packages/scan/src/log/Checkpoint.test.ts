import { assert, describe, it } from "@effect/vitest"
import { readCheckpoint } from "@quickagents/runner"
import { Effect, Redacted, Result } from "effect"
import { importSigningKey } from "../Attestation.ts"
import { originOf, signedCheckpoint, signedNote } from "./Checkpoint.ts"
import { emptyRoot } from "./MerkleTree.ts"

const keyOf = (seed: Buffer) => Result.getOrThrow(importSigningKey(Redacted.make(seed.toString("base64"))))
const pinned = ({ keyId, publicKey }: ReturnType<typeof keyOf>) => ({
  keyId,
  publicKey: Buffer.from(publicKey).toString("base64")
})

describe("a checkpoint", () => {
  it("is signed like the example of the notes of Go's checksum database", () => {
    const key = keyOf(Buffer.from("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz", "base64").subarray(1))
    const text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
    assert.strictEqual(
      signedNote(text, "PeterNeumann", key),
      `${text}\n— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n`
    )
  })

  it("is read under the key that signed it, and under no other", () =>
    Effect.gen(function* () {
      const [key, other] = [keyOf(Buffer.alloc(32, 1)), keyOf(Buffer.alloc(32, 2))]
      const origin = originOf("https://registry.example")
      assert.strictEqual(origin, "registry.example/api/v1/log")
      const note = signedCheckpoint({ origin, size: 0, root: emptyRoot }, key)
      assert.deepStrictEqual(yield* readCheckpoint(note, [pinned(other), pinned(key)]), {
        origin,
        size: 0,
        root: emptyRoot.toString("base64")
      })
      for (const [wrong, keys] of [
        [note, [pinned(other)]],
        [note, []],
        [note.replace("\n0\n", "\n1\n"), [pinned(key)]],
        [note.replaceAll("registry.example", "another.example"), [pinned(key)]],
        [note.split("\n\n")[0], [pinned(key)]],
        ["", [pinned(key)]]
      ] as const) {
        assert.strictEqual((yield* Effect.flip(readCheckpoint(wrong, keys)))._tag, "LogRefuted")
      }
    }).pipe(Effect.runPromise))
})
