/** Mails, by the SMTP server of the configuration. */
import { Settings } from "@quickagents/platform"
import { Context, Data, Effect, Layer } from "effect"
import { createTransport } from "nodemailer"

/** The mail server does not take it. */
export class MailNotSent extends Data.TaggedError("MailNotSent")<{ readonly reason: string }> {}

export interface MailText {
  readonly to: string
  readonly subject: string
  readonly text: string
}

const timeoutMs = 10_000

export class Mail extends Context.Service<
  Mail,
  {
    /** Resolves when the server has taken the mail. Null: this deployment sends no mail. */
    readonly send: ((mail: MailText) => Effect.Effect<void, MailNotSent>) | null
  }
>()("identity/Mail") {
  static readonly layer = Layer.effect(
    Mail,
    Effect.gen(function* () {
      const settings = yield* Settings.Settings
      const url = settings["mail.smtp"]
      if (url === null) return Mail.of({ send: null })
      const transport = createTransport(
        {
          url,
          // A password never travels in the clear, also when the server does not offer better.
          requireTLS: new URL(url).username !== "",
          connectionTimeout: timeoutMs,
          greetingTimeout: timeoutMs,
          socketTimeout: timeoutMs,
          disableFileAccess: true,
          disableUrlAccess: true
        },
        { from: settings["mail.from"] }
      )
      return Mail.of({
        send: (mail) =>
          Effect.asVoid(
            Effect.tryPromise({
              // As one address, whatever stands in it: a comma must not make two of it.
              try: () => transport.sendMail({ ...mail, to: { name: "", address: mail.to } }),
              // The code only: the server's words may hold the address.
              catch: (error) => new MailNotSent({ reason: String((error as { readonly code?: unknown }).code) })
            })
          )
      })
    })
  )
}
