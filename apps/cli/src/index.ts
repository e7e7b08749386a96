export { runCommand } from "./commands/Run.ts"
