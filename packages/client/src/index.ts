export { packDirectory, PackageInvalid } from "@quickagents/archive"
export type { PackedDirectory } from "@quickagents/archive"
export * from "./RegistryClient.ts"
export { EventsLost } from "./ResumingEvents.ts"
