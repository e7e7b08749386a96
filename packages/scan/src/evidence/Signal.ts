/** What the parts of the evidence have in common. */
export type Kind =
  | "conceal"
  | "false-report"
  | "no-consent"
  | "authority"
  | "obey-data"
  | "send"
  | "sensitive"
  | "disable-guard"
  | "persist"
  | "speaks-to-agent"
  | "pretext"
  | "partial"
  | "phish"
  | "payment"
  | "decode"
  | "destroy"
  | "code"
  | "grants"
  | "name"
  | "manner"
  | "reach"

/** Whether a manifest grants a host; `granted` are its hosts without ports, `*.` standing for every name below one. */
export const isGranted = (host: string, granted: ReadonlyArray<string>): boolean =>
  granted.some((entry) => (entry.startsWith("*.") ? host.endsWith(entry.slice(1)) : host === entry))

export interface Signal {
  readonly kind: Kind
  /** 1 is enough to hold a package; lesser ones count only together with other kinds. */
  readonly weight: number
  readonly line: number
  readonly file: string
  /** What was seen, for the finding's message; never the text itself. */
  readonly what: string
}
