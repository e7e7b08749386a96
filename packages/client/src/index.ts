export * from "./PackageArchive.ts"
export * from "./RegistryClient.ts"
export { EventsLost } from "./ResumingEvents.ts"
