/** What the harness asks of a model: one turn at a time, in no provider's own words. */
import type { Effect } from "effect"
import type { RunFailure } from "./RunFailure.ts"

export interface ToolDefinition {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** `undefined` when the model wrote something that is not JSON. */
  readonly args: unknown
}

export interface ToolResult {
  readonly callId: string
  readonly text: string
  readonly isError: boolean
}

export type Message =
  | { readonly role: "user"; readonly text: string }
  | { readonly role: "assistant"; readonly text: string; readonly calls: ReadonlyArray<ToolCall> }
  | { readonly role: "tool"; readonly results: ReadonlyArray<ToolResult> }

/** Tokens of one turn. `total` is at least input + output, `cached` a part of `input`. */
export interface TurnUsage {
  readonly input: number
  readonly output: number
  readonly total: number
  readonly cached: number
}

export const noUsage: TurnUsage = { input: 0, output: 0, total: 0, cached: 0 }

export interface Turn {
  readonly text: string
  readonly calls: ReadonlyArray<ToolCall>
  readonly usage: TurnUsage
}

export interface Conversation {
  readonly system: string
  readonly messages: ReadonlyArray<Message>
}

export interface Model {
  /** Exact model id, for the receipt. */
  readonly name: string
  /** `heard` is told what the turn has used so far, so that a cut turn is still counted. */
  readonly turn: (
    conversation: Conversation,
    tools: ReadonlyArray<ToolDefinition>,
    heard: (usage: TurnUsage) => void
  ) => Effect.Effect<Turn, RunFailure>
}

/** A model's arguments as text, read back. */
export const parseArguments = (text: string): unknown => {
  if (text.trim() === "") return {}
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
