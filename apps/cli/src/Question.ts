/** Yes or no, from a person at a terminal. */
import { Effect } from "effect"
import { Prompt } from "effect/cli"
import { notAgreed } from "./CommandFailed.ts"
import { over } from "./Progress.ts"

export const atTerminal = () => process.stdin.isTTY && process.stdout.isTTY

/** Goes on only after a yes; `yes` is one that was given on the command line. Without a terminal nobody is asked. */
export const agreed = Effect.fnUntraced(function* (message: string, yes: boolean) {
  if (yes) return
  if (!atTerminal()) return yield* notAgreed("Nothing was changed. To agree without being asked, add --yes.")
  over()
  if (!(yield* Prompt.run(Prompt.Confirm({ message })))) return yield* notAgreed("Nothing was changed.")
})
