export { commandLine } from "./CommandLine.ts"
