/** bubblewrap, the program that makes the namespaces of a sandbox. */
import { existsSync, lstatSync, readlinkSync } from "node:fs"

export const bubblewrap = "/usr/bin/bwrap"

const temporaryBytes = 256 * 1024 * 1024
const systemPaths = ["/bin", "/sbin", "/lib", "/lib32", "/lib64"]
const systemFiles = ["/etc/ld.so.cache", "/etc/ssl/certs", "/etc/alternatives"]

/** Arguments for an empty sandbox with the system's programs, before anything of a run is put into it. */
export const namespaceArguments = (): ReadonlyArray<string> => [
  "--unshare-all",
  "--unshare-user",
  // A namespace of its own would give the run back what it was denied.
  "--disable-userns",
  "--uid",
  "1000",
  "--gid",
  "1000",
  "--die-with-parent",
  "--new-session",
  "--clearenv",
  "--hostname",
  "sandbox",
  "--ro-bind",
  "/usr",
  "/usr",
  ...systemPaths
    .filter((path) => existsSync(path))
    .flatMap((path) =>
      lstatSync(path).isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : ["--ro-bind", path, path]
    ),
  ...systemFiles.flatMap((path) => ["--ro-bind-try", path, path]),
  "--proc",
  "/proc",
  "--dev",
  "/dev",
  "--size",
  String(temporaryBytes),
  "--tmpfs",
  "/tmp"
]
