import { post } from "../api.js"
import { h } from "../dom.js"
import { action } from "../form.js"
import { queryOf } from "../listing.js"

/** With the token of a mail it verifies the address, at a press: what reads mails ahead of their reader must not use it up. Without one it has the mail sent. */
export const verifyEmailPage = ({ profile, reload }) => {
  const token = queryOf().get("token")
  const title = h("h1", null, "Verify your address")
  if (token !== null) {
    return [
      title,
      h("p", { class: "lead" }, "Confirm that the mail with this link was sent to you."),
      action("Verify this address", () => post("/api/v1/auth/verify-email", { token }).then(reload), {
        done: "The address is verified. You can publish and run agents now."
      })
    ]
  }
  if (profile === null || profile.emailVerified) {
    return [title, h("p", null, profile === null ? "Sign in first." : `${profile.email} is verified.`)]
  }
  return [
    title,
    h("p", { class: "lead" }, `Until ${profile.email} is verified you can read, and change nothing.`),
    action("Send me a mail", () => post("/api/v1/user/email-verification"), {
      done: "The mail is on its way. Its link works once and for 24 hours."
    })
  ]
}
