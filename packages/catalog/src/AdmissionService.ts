/** The admission extension's own service, asked over HTTP. ARCHITECTURE.md, The admission extension, tells what is said. */
import { ExtensionSignature, Settings } from "@quickagents/platform"
import { AdmissionUnavailable, CreditsExhausted, SubscriptionInactive } from "@quickagents/schema"
import { ByteSize, Clock, Data, Effect, Layer, Schema, Stream } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { SubmissionAdmission } from "./SubmissionAdmission.ts"
import type { Submission } from "./SubmissionAdmission.ts"

const longest = "10 seconds"
const maxAnswer = ByteSize.kibibytes(16)

/** What is shown to people: short. */
const text = Schema.String.check(Schema.isMaxLength(200))
const Refusal = Schema.fromJsonString(
  Schema.Union([
    Schema.Struct({
      slug: Schema.Literal("credits-exhausted"),
      account: text,
      balance: Schema.Int,
      hold: Schema.Int,
      resetsAt: Schema.NullOr(text),
      tier: text
    }),
    Schema.Struct({ slug: Schema.Literal("subscription-inactive"), account: text, standing: text, tier: text })
  ])
)
const readRefusal = Schema.decodeUnknownEffect(Refusal)

class AnswerUnusable extends Data.TaggedError("AnswerUnusable")<{ readonly why: string }> {}
const unusable = (why: string) => new AnswerUnusable({ why })

const asked = (url: string, secret: string) =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const address = `${url}/submissions`
    const path = new URL(address).pathname

    /** One attempt: whoever submits tries again, and is known again by the submission's id. */
    const ask = Effect.fnUntraced(function* (submission: Submission) {
      const body = JSON.stringify(submission)
      const at = new Date(yield* Clock.currentTimeMillis)
      const answer = yield* HttpClientRequest.post(address).pipe(
        HttpClientRequest.setHeaders(
          ExtensionSignature.sign(secret, submission.id, at, { method: "POST", path, body })
        ),
        HttpClientRequest.bodyText(body, "application/json"),
        client.execute,
        Effect.mapError(() => unusable("it cannot be reached"))
      )
      const said = yield* answer.stream.pipe(
        Stream.mapError(() => unusable("it breaks off")),
        Stream.limitBytes(maxAnswer, () => Stream.fail(unusable("it is too long"))),
        Stream.decodeText,
        Stream.mkString
      )
      if (answer.status >= 200 && answer.status < 300) return null
      return answer.status === 402
        ? yield* Effect.mapError(readRefusal(said), () => unusable("its refusal cannot be read"))
        : yield* unusable(`its status is ${answer.status}`)
    })

    return {
      admit: Effect.fn("AdmissionService.admit")(function* (submission: Submission) {
        const refusal = yield* ask(submission).pipe(
          Effect.timeoutOrElse({ duration: longest, orElse: () => Effect.fail(unusable(`it takes over ${longest}`)) }),
          Effect.tapError(({ why }) =>
            Effect.annotateLogs(Effect.logWarning("the admission extension gives no usable answer"), { why })
          ),
          Effect.mapError(() => new AdmissionUnavailable({ detail: "Nothing is stored. Submit it again later." }))
        )
        switch (refusal?.slug) {
          case undefined:
            return
          case "credits-exhausted": {
            const { account, balance, hold, resetsAt, tier } = refusal
            return yield* new CreditsExhausted({ account, balance, hold, resetsAt, tier })
          }
          case "subscription-inactive": {
            const { account, standing, tier } = refusal
            return yield* new SubscriptionInactive({ account, standing, tier })
          }
        }
      })
    }
  })

/** Nothing without `admission.url`: nobody is asked. */
export const AdmissionServiceLive = Layer.unwrap(
  Effect.map(Settings.Settings, ({ "admission.secret": secret, "admission.url": url }) =>
    url === null || secret === null ? Layer.empty : Layer.effect(SubmissionAdmission, asked(url, secret))
  )
)
