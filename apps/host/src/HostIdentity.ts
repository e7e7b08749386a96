/**
 * Who this host is: key, certificate, the registry it accepts and the
 * attestation keys it pins. Made once at the enrolment, kept in one file that
 * only the host's user reads, and replaced whole at every change.
 */
import { newCsr } from "@quickagents/platform/certificates"
import { HostId, hostUri } from "@quickagents/schema"
import { Effect, Option, Redacted, Schedule, Schema } from "effect"
import { HttpClient, HttpClientRequest, HttpClientResponse } from "effect/http"
import { createPrivateKey, randomUUID, X509Certificate } from "node:crypto"
import { mkdir, open, readFile, rename } from "node:fs/promises"
import { join } from "node:path"
import type { HostConfig } from "./HostConfig.ts"

export const PinnedKey = Schema.Struct({ keyId: Schema.String, publicKey: Schema.String })
export type PinnedKey = typeof PinnedKey.Type

const Enrolled = Schema.Struct({
  hostId: HostId,
  /** PEM. */
  certificate: Schema.String,
  /** PEM, one or more certificates: what both sides' leaves are checked against. */
  caChain: Schema.String,
  /** URI SAN of the only peer this host answers. */
  registryName: Schema.NonEmptyString,
  signingKeys: Schema.Array(PinnedKey)
})

export const HostIdentity = Schema.Struct({ ...Enrolled.fields, privateKey: Schema.String })
export type HostIdentity = typeof HostIdentity.Type

/** What a host says of itself at the enrolment, and again in `Health`. */
export interface HostFeatures {
  readonly sealedObjects: boolean
  readonly browser: boolean
  readonly inputReview: boolean
  readonly sessions: boolean
  readonly fullIsolation: boolean
}

/** The host cannot become or stay a member of the registry's fleet; the message is for the person who starts it. */
export class EnrolmentFailed extends Schema.TaggedError<EnrolmentFailed>()("EnrolmentFailed", {
  message: Schema.String
}) {}

const identityFile = (dataDir: string) => join(dataDir, "identity.json")
const decodeIdentity = Schema.decodeUnknownOption(Schema.fromJsonString(HostIdentity))

/** The stored identity; none before the enrolment. A file that cannot be read is a failure, not a new host. */
export const loadIdentity = (dataDir: string): Effect.Effect<Option.Option<HostIdentity>, EnrolmentFailed> =>
  Effect.gen(function* () {
    const text = yield* Effect.promise(() =>
      readFile(identityFile(dataDir), "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined
        throw error
      })
    )
    if (text === undefined) return Option.none()
    const identity = decodeIdentity(text)
    return Option.isSome(identity)
      ? identity
      : yield* new EnrolmentFailed({ message: `${identityFile(dataDir)} is damaged; delete it and enrol again` })
  })

/** Replaces the stored identity; a crash leaves the old file or the new one, never half of either. */
export const storeIdentity = (dataDir: string, identity: HostIdentity): Effect.Effect<void> =>
  Effect.promise(async () => {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
    const next = `${identityFile(dataDir)}.${randomUUID()}`
    const file = await open(next, "wx", 0o600)
    try {
      await file.writeFile(JSON.stringify(identity))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(next, identityFile(dataDir))
  })

/** A certificate belongs to a host when it carries its key and its name. */
export const certifies = (certificate: string, hostId: string, privateKey: string): boolean => {
  const leaf = new X509Certificate(certificate)
  return (
    leaf.checkPrivateKey(createPrivateKey(privateKey)) &&
    (leaf.subjectAltName ?? "").split(", ").includes(`URI:${hostUri(hostId)}`)
  )
}

/** A key that never leaves this host, and the request for its certificate. */
export const newHostKey = Effect.orDie(newCsr("quickagents-host"))

/** RFC 3339. */
export const certificateExpiry = (certificate: string): string =>
  new Date(new X509Certificate(certificate).validTo).toISOString()

const Problem = Schema.Struct({ title: Schema.String, detail: Schema.optionalKey(Schema.String) })

/**
 * Spends the enrolment token for an identity and stores it.
 *
 * A registry that is still starting is waited for, 30 seconds; a refusal is
 * final, since the token is good for one use.
 */
export const enrol = (
  config: HostConfig,
  features: HostFeatures
): Effect.Effect<HostIdentity, EnrolmentFailed, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const failed = (message: string) => new EnrolmentFailed({ message })
    if (config.registryUrl === undefined) return yield* failed("HOST_REGISTRY_URL is needed for the first start")
    if (config.enrolmentToken === undefined) {
      return yield* failed("HOST_ENROLMENT_TOKEN or HOST_ENROLMENT_TOKEN_FILE is needed for the first start")
    }
    const request = yield* newHostKey
    const client = yield* HttpClient.HttpClient
    const response = yield* client
      .execute(
        HttpClientRequest.post(`${config.registryUrl}/api/v1/x/runs/hosts/enrol`).pipe(
          HttpClientRequest.setHeader("authorization", `Enrolment ${Redacted.value(config.enrolmentToken)}`),
          HttpClientRequest.bodyJsonUnsafe({
            csr: request.csr,
            address: config.advertisedAddress,
            capacity: config.capacity,
            features
          })
        )
      )
      .pipe(
        Effect.retry(Schedule.upTo(Schedule.spaced("1 second"), { times: 30 })),
        Effect.mapError(() => failed(`no answer from the registry at ${config.registryUrl}`))
      )
    if (response.status >= 300) {
      const problem = yield* HttpClientResponse.schemaBodyJson(Problem)(response).pipe(Effect.option)
      const reason = Option.isSome(problem) ? `: ${problem.value.title}` : ""
      return yield* failed(`the registry refused the enrolment (${response.status})${reason}`)
    }
    const enrolled = yield* HttpClientResponse.schemaBodyJson(Enrolled)(response).pipe(
      Effect.mapError(() => failed("the registry's answer to the enrolment is not understood"))
    )
    if (!certifies(enrolled.certificate, enrolled.hostId, request.privateKey)) {
      return yield* failed("the registry issued a certificate for another key or another host")
    }
    const identity: HostIdentity = { ...enrolled, privateKey: request.privateKey }
    yield* storeIdentity(config.dataDir, identity)
    return identity
  })
