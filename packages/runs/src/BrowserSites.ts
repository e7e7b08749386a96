/** Which sites a hosted browser may be sent to. Spec: Errors, browser-site. */
import { isPublicUnicast } from "@quickagents/platform"
import { isIP } from "node:net"

const privateSuffixes = [".localhost", ".local", ".internal", ".home.arpa"]

/** Why no host can open the address; undefined when one can. `value` is an absolute http or https address. */
export const unopenable = (value: string): string | undefined => {
  const url = new URL(value)
  const host = url.hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase()
  if (url.port !== "" && url.port !== "80" && url.port !== "443") return "only ports 80 and 443 can be opened"
  if (isIP(host) !== 0) return isPublicUnicast(host) ? undefined : "the address is not public"
  if (!host.includes(".")) return "the name has one label only"
  return privateSuffixes.some((suffix) => host.endsWith(suffix)) ? "the name is not public" : undefined
}
