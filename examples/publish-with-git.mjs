/**
 * From a folder to an installed agent with nothing but git and HTTP: creates the
 * agent, pushes the folder with the tag of its version, waits for the scan, and
 * installs the version with consent to what it asks for.
 *
 *   QUICKAGENTS_TOKEN=... node examples/publish-with-git.mjs [folder] [address of the registry]
 *
 * The token (page "Tokens" of the registry) needs the scopes agent:read,
 * agent:publish, repo:read, repo:write and user:profile. The agent is public,
 * has the name that the folder's agent.yaml gives, and belongs to the token's account.
 */
import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const [folder = fileURLToPath(new URL("release-notes", import.meta.url)), registry = "http://127.0.0.1:4000"] =
  process.argv.slice(2)
const token = process.env["QUICKAGENTS_TOKEN"]
if (token === undefined) {
  console.error('Make a token on the page "Tokens" of the registry and set QUICKAGENTS_TOKEN.')
  process.exit(2)
}

const call = async (method, path, body) => {
  const response = await fetch(registry + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) })
  }).catch((error) => {
    throw new Error(`${registry} cannot be reached: ${error.cause?.message ?? error.message}`)
  })
  return { status: response.status, answer: await response.json() }
}
const expected = ({ status, answer }, ...others) => {
  if (status < 400 || others.includes(status)) return answer
  throw new Error(`${status} ${answer.title}. ${answer.detail ?? ""} ${JSON.stringify(answer.errors ?? [])}`)
}

const work = mkdtempSync(join(tmpdir(), "publish-with-git-"))
const clone = join(work, "clone")
// Git asks for the token and finds it in the environment: no command line and no configuration of the clone shows it.
const git = (...args) =>
  execFileSync(
    "git",
    ["-c", 'credential.helper=!f() { echo username=token; echo "password=$QUICKAGENTS_TOKEN"; }; f', ...args],
    {
      cwd: work,
      env: { ...process.env, GIT_TERMINAL_PROMPT: "0" },
      stdio: ["ignore", "inherit", "inherit"]
    }
  )

try {
  const { handle } = expected(await call("GET", "/api/v1/user"))
  const manifest = readFileSync(join(folder, "agent.yaml"), "utf8")
  const name = /^name: *(?:[^/\s]+\/)?(\S+)/m.exec(manifest)?.[1]
  const version = /^version: *(\S+)/m.exec(manifest)?.[1]
  const agent = `${handle}/${name}`

  console.log(`== The agent ${agent}`)
  if ((await call("GET", `/api/v1/agents/${agent}`)).status === 404)
    expected(await call("POST", "/api/v1/agents", { namespace: handle, name, visibility: "public" }))

  console.log(`== Its repository, with the tag v${version}`)
  git("clone", "--quiet", `${registry}/git/${agent}.git`, clone)
  cpSync(folder, clone, { recursive: true })
  writeFileSync(join(clone, "agent.yaml"), manifest.replace(/^name: .*$/m, `name: ${agent}`))
  git("-C", clone, "add", "--all")
  git(
    "-C",
    clone,
    "-c",
    `user.name=${handle}`,
    "-c",
    `user.email=${handle}@users.invalid`,
    "commit",
    "--quiet",
    "--message",
    `Version ${version}`
  )
  git("-C", clone, "tag", `v${version}`)
  git("-C", clone, "push", "--quiet", "--tags", "origin", "HEAD")

  console.log("== Its scan")
  let found = expected(await call("GET", `/api/v1/agents/${agent}/versions/${version}`))
  while (found.status === "scanning") {
    await sleep(300)
    found = expected(await call("GET", `/api/v1/agents/${agent}/versions/${version}`))
  }
  console.log(`${agent}@${version} is ${found.status}`)
  if (found.status !== "published") throw new Error(`It cannot be installed: ${JSON.stringify(found.holding)}`)

  console.log("== Its installation")
  const install = (acceptCapabilities) => call("PUT", `/api/v1/user/installs/${agent}`, { version, acceptCapabilities })
  let installed = expected(await install([]), 409)
  if (installed.missing !== undefined) {
    console.log(`It asks for ${installed.missing.join(", ")}, and gets it.`)
    installed = expected(await install(installed.missing))
  }
  console.log(`Installed ${installed.ref}@${installed.installedVersion}${installed.signed ? ", signed" : ""}`)
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
} finally {
  rmSync(work, { recursive: true, force: true })
}
