/** The request that the runner reads on stdin: a hand-off without what only the host may know. */
import type { HostedRequest } from "@quickagents/runner"
import type { HandOff } from "@quickagents/schema"
import type { PinnedKey } from "./HostIdentity.ts"
import type { RunPlaces } from "./Sandbox.ts"

export const hostedRequest = (
  handOff: HandOff,
  places: RunPlaces,
  pinnedKeys: ReadonlyArray<PinnedKey>,
  runtime: ReadonlyArray<string>
): HostedRequest => ({
  ref: handOff.ref,
  digest: handOff.archive,
  archive: places.archive,
  attestation: handOff.attestation,
  pinnedKeys,
  task: handOff.task,
  intake: handOff.intake,
  mode: handOff.mode,
  workspace: places.workspace,
  inputs: handOff.inputs.map(({ bytes, digest, name }) => ({ name, bytes, digest })),
  secrets: handOff.secrets,
  caps: handOff.caps,
  model: { provider: handOff.model.provider, model: handOff.model.model, socket: places.modelSocket },
  egressSocket: places.egressSocket,
  maxOutputBytes: handOff.maxOutputBytes,
  runtime
})
