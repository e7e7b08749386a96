export * from "./ClusterClient.ts"
export * from "./HostClient.ts"
export type { NodeIdentity } from "./NodeIdentity.ts"
