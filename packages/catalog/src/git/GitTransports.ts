/** Git as it is reached from outside: by HTTP, and by SSH where a port is set. Both together keep to one set of limits. */
import { Settings } from "@quickagents/platform"
import { Effect, Layer } from "effect"
import { GitAdmission } from "./GitAdmission.ts"
import { GitHttp } from "./GitHttp.ts"
import { GitRepositories } from "./GitRepositories.ts"
import { GitSsh } from "./GitSsh.ts"

/** Without `git.directory` there is neither. */
export const GitTransports = Layer.unwrap(
  Effect.map(Settings.Settings, (settings) => {
    const { "git.directory": directory, "git.sshHostKey": hostKey, "git.sshPort": port } = settings
    if (directory === null) return Layer.empty
    const ssh = port === null || hostKey === null ? Layer.empty : GitSsh(port, hostKey)
    return Layer.mergeAll(GitHttp, ssh).pipe(Layer.provide([GitAdmission.layer, GitRepositories.layer(directory)]))
  })
)
