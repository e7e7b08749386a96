import { badge, h } from "./dom.js"

/** Findings of the scan, one line each. */
export const findingList = (findings) =>
  h(
    "ul",
    null,
    findings.map(({ chunk, file, line, message, rule, severity, stage }) =>
      h(
        "li",
        null,
        badge(severity),
        ` ${stage} ${rule}`,
        file === undefined
          ? ""
          : ` in ${file}${line === undefined ? (chunk === undefined ? "" : `, part ${chunk + 1}`) : `:${line}`}`,
        `: ${message}`
      )
    )
  )
