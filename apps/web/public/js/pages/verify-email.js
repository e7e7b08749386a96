import { post } from "../api.js"
import { h, problemBox } from "../dom.js"

/** A button that asks for something, and what came of it. */
const action = (label, act, done) => {
  const outcome = h("div", null)
  return [
    h(
      "button",
      {
        type: "button",
        onclick: async (event) => {
          event.target.disabled = true
          try {
            await act()
            outcome.replaceChildren(h("p", { class: "note", role: "status" }, done))
          } catch (problem) {
            outcome.replaceChildren(problemBox(problem))
            event.target.disabled = false
          }
        }
      },
      label
    ),
    outcome
  ]
}

/** With the token of a mail it verifies the address, at a press: what reads mails ahead of their reader must not use it up. Without one it has the mail sent. */
export const verifyEmailPage = ({ profile }) => {
  const token = new URLSearchParams(location.hash.split("?")[1]).get("token")
  const title = h("h1", null, "Verify your address")
  if (token !== null) {
    return [
      title,
      h("p", { class: "lead" }, "Confirm that the mail with this link was sent to you."),
      action(
        "Verify this address",
        () => post("/api/v1/auth/verify-email", { token }),
        "The address is verified. You can publish and run agents now."
      )
    ]
  }
  if (profile === null || profile.emailVerified) {
    return [title, h("p", null, profile === null ? "Sign in first." : `${profile.email} is verified.`)]
  }
  return [
    title,
    h("p", { class: "lead" }, `Until ${profile.email} is verified you can read, and change nothing.`),
    action(
      "Send me a mail",
      () => post("/api/v1/user/email-verification"),
      "The mail is on its way. Its link works once and for 24 hours."
    )
  ]
}
