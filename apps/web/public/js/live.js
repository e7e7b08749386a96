/** Server-sent events. The browser itself reconnects after the last event it saw; `done` ends it. */

/**
 * @param onEvent called with the event's name and its data
 * @returns stops listening
 */
export const listen = (address, names, onEvent, onEnd) => {
  const source = new EventSource(address)
  const stop = () => source.close()
  for (const name of names) source.addEventListener(name, (event) => onEvent(name, JSON.parse(event.data)))
  source.addEventListener("done", () => {
    stop()
    onEnd()
  })
  source.addEventListener("error", () => {
    // A refusal, and not a connection that the browser opens again.
    if (source.readyState === EventSource.CLOSED) onEnd()
  })
  return stop
}
