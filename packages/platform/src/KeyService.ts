/**
 * Wraps data keys, so that what is stored beside sealed bytes opens nothing by
 * itself. The context (an account, an organization, a pack) is authenticated
 * with the key: a wrapped key that is moved to another owner's row does not
 * unwrap.
 *
 * `wrap` and `unwrap` are effects over text, so a remote key service with its
 * own ciphertext form fits behind the same interface.
 */
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto"

/** No key service is configured, or it does not answer. */
export class KeyServiceUnavailable extends Schema.TaggedError<KeyServiceUnavailable>()("KeyServiceUnavailable", {}) {}

/** The wrapped key was changed, belongs to another context, or was wrapped by a key that this service does not hold. */
export class WrappedKeyInvalid extends Schema.TaggedError<WrappedKeyInvalid>()("WrappedKeyInvalid", {}) {}

const algorithm = "aes-256-gcm"
const version = Buffer.of(1)
const keyIdBytes = 8
const headerBytes = version.length + keyIdBytes
const nonceBytes = 12
const tagBytes = 16
/** Unwrapped keys that are remembered: a run is read again and again while somebody waits for it. */
const maxRemembered = 1_000

export class KeyService extends Context.Service<
  KeyService,
  {
    /** Whether keys can be wrapped here at all; the capabilities that need it say so in `features`. */
    readonly available: boolean
    /** The wrapped key as base64 text. */
    readonly wrap: (context: string, key: Uint8Array) => Effect.Effect<string, KeyServiceUnavailable>
    readonly unwrap: (
      context: string,
      wrapped: string
    ) => Effect.Effect<Uint8Array, KeyServiceUnavailable | WrappedKeyInvalid>
  }
>()("platform/KeyService") {
  /**
   * Wraps under one 32-byte key of this deployment: base64 of a version byte, 8
   * bytes that name the sealing key, nonce (12), ciphertext and tag (16). The
   * name lets a later rotation see which rows an older key wrapped. A sealing
   * key of another length is a defect at the start.
   */
  static readonly layerLocal = (options: { readonly sealingKey: Redacted.Redacted<Uint8Array> }) =>
    Layer.sync(KeyService, () => {
      const sealingKey = Redacted.value(options.sealingKey)
      if (sealingKey.length !== 32) throw new RangeError("the sealing key has 32 bytes")
      const keyId = createHmac("sha256", sealingKey).update("QuickAgents sealing key id").digest()
      const header = Buffer.concat([version, keyId.subarray(0, keyIdBytes)])
      // The header has one length, so no other pair of header and context makes the same bytes.
      const aad = (context: string) => Buffer.concat([header, Buffer.from(context)])
      // Beside the sealing key, which opens all of them, they give nothing away.
      const remembered = new Map<string, Uint8Array>()
      return {
        available: true,
        wrap: (context, key) =>
          Effect.sync(() => {
            const nonce = randomBytes(nonceBytes)
            const cipher = createCipheriv(algorithm, sealingKey, nonce).setAAD(aad(context))
            return Buffer.concat([header, nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()]).toString(
              "base64"
            )
          }),
        unwrap: (context, wrapped) =>
          Effect.try({
            try: () => {
              const name = `${wrapped} ${context}`
              const known = remembered.get(name)
              if (known !== undefined) return known
              const bytes = Buffer.from(wrapped, "base64")
              if (!bytes.subarray(0, headerBytes).equals(header)) throw new WrappedKeyInvalid()
              const nonce = bytes.subarray(headerBytes, headerBytes + nonceBytes)
              const decipher = createDecipheriv(algorithm, sealingKey, nonce, { authTagLength: tagBytes })
                .setAAD(aad(context))
                .setAuthTag(bytes.subarray(-tagBytes))
              const body = bytes.subarray(headerBytes + nonceBytes, -tagBytes)
              const key = new Uint8Array(Buffer.concat([decipher.update(body), decipher.final()]))
              if (remembered.size >= maxRemembered) remembered.delete(remembered.keys().next().value!)
              remembered.set(name, key)
              return key
            },
            catch: () => new WrappedKeyInvalid()
          })
      }
    })

  /** A deployment without a sealing key: everything that needs one is refused. */
  static readonly layerNone = Layer.succeed(KeyService, {
    available: false,
    wrap: () => Effect.fail(new KeyServiceUnavailable()),
    unwrap: () => Effect.fail(new KeyServiceUnavailable())
  })
}
