export * from "./Host.ts"
export { type HostConfig, HostConfigInvalid, readHostConfig } from "./HostConfig.ts"
