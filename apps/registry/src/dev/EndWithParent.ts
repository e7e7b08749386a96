/**
 * Preloaded into every process of the development stack: when the supervisor is
 * gone, however it went, the kernel closes the channel to it and the process
 * ends as it would on SIGTERM.
 */
const graceMs = 15_000

if (process.channel !== undefined) {
  process.once("disconnect", () => {
    setTimeout(() => process.exit(1), graceMs).unref()
    process.kill(process.pid, "SIGTERM")
  })
  // Listening must not keep a process alive that has nothing else to do.
  process.channel.unref()
}
