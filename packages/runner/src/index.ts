export { HostedRequest, PinnedKey } from "./HostedRequest.ts"
export { narrateTo, type Narrate, silent } from "./Narration.ts"
export { fromHosted, run, type RunEnd, type RunRequest } from "./Runner.ts"
export { verifyRelease } from "./Verify.ts"
