/** Keys of a development stack: made at its first start, kept in files that only its user reads. */
import { newSshHostKey } from "@quickagents/catalog"
import { selfSignedCa } from "@quickagents/platform/certificates"
import { Effect, Schema } from "effect"
import { generateKeyPairSync, randomBytes } from "node:crypto"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"

const Secrets = Schema.Struct({
  /** 32 bytes, base64: wraps data keys. */
  sealingKey: Schema.String,
  /** Ed25519 seed, 32 bytes, base64: signs attestations. */
  signingKey: Schema.String,
  databasePassword: Schema.String,
  oidcClientSecret: Schema.String,
  /** Signs the provider's cookies. */
  providerCookieKey: Schema.String,
  /** Private JWK, RS256: signs id tokens. */
  providerKey: Schema.Record(Schema.String, Schema.Unknown)
})

export interface DevelopmentSecrets extends Schema.Schema.Type<typeof Secrets> {
  /** Paths of the internal CA, PEM. */
  readonly caCertificate: string
  readonly caKey: string
  /** Path of the host key of git over SSH. */
  readonly sshHostKey: string
}

const base64 = (bytes: number) => randomBytes(bytes).toString("base64")
const text = () => randomBytes(24).toString("base64url")

const makeSecrets = (): typeof Secrets.Type => ({
  sealingKey: base64(32),
  signingKey: base64(32),
  databasePassword: text(),
  oidcClientSecret: text(),
  providerCookieKey: text(),
  providerKey: {
    ...generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" }),
    use: "sig",
    alg: "RS256",
    kid: randomBytes(8).toString("hex")
  }
})

const owner = { mode: 0o600, flag: "wx" } as const

/** The text of `path`; writes what `make` gives when there is no such file. */
const keptText = (path: string, make: () => Promise<string>) =>
  readFile(path, "utf8").catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error
    const made = await make()
    await writeFile(path, made, owner)
    return made
  })

/** Reads the secrets of `directory`, or makes them. A file that was damaged is a defect: new keys could not open old data. */
export const developmentSecrets = Effect.fn("DevelopmentSecrets")(function* (
  directory: string
): Effect.fn.Return<DevelopmentSecrets> {
  yield* Effect.promise(() => mkdir(directory, { recursive: true, mode: 0o700 }))
  const stored = yield* Effect.promise(() =>
    keptText(join(directory, "secrets.json"), async () => JSON.stringify(makeSecrets(), null, 2))
  )
  const secrets = yield* Effect.orDie(Schema.decodeEffect(Schema.fromJsonString(Secrets))(stored))
  const sshHostKey = join(directory, "ssh_host_ed25519_key")
  yield* Effect.promise(() => keptText(sshHostKey, async () => newSshHostKey()))
  const caCertificate = join(directory, "ca.pem")
  const caKey = join(directory, "ca.key.pem")
  const known = yield* Effect.promise(() =>
    readFile(caKey, "utf8").then(
      () => true,
      () => false
    )
  )
  if (!known) {
    const ca = yield* Effect.orDie(selfSignedCa("QuickAgents development CA"))
    yield* Effect.promise(async () => {
      // The key is written last: with it the pair is whole.
      await writeFile(caCertificate, ca.certificate, { mode: 0o600 })
      await writeFile(caKey, ca.privateKey, owner)
    })
  }
  return { ...secrets, caCertificate, caKey, sshHostKey }
})
