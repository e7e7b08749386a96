/** The REST API for these pages: the browser's session, its CSRF token, and problems as errors with words. */

let csrfToken

/** An answer that is no success. `errors` are the fields at fault. */
export class Problem extends Error {
  constructor(status, body, retryAfter) {
    super(body.detail ?? body.title ?? `The registry answered ${status}`)
    this.status = status
    this.detail = body.detail
    this.title = body.title ?? "That did not work"
    this.slug = String(body.type ?? "").replace("/problems/", "")
    this.errors = body.errors ?? []
    this.retryAfter = retryAfter
  }
}

const problemOf = async (response) => {
  const json = (response.headers.get("content-type") ?? "").includes("json")
  const body = json ? await response.json().catch(() => ({})) : {}
  return new Problem(response.status, body, response.headers.get("retry-after"))
}

const send = async (method, path, { body, headers } = {}) => {
  let response
  try {
    response = await fetch(path, {
      method,
      credentials: "same-origin",
      headers: {
        accept: "application/json",
        ...(method === "GET" || csrfToken === undefined ? {} : { "x-csrf-token": csrfToken }),
        ...headers
      },
      body
    })
  } catch {
    throw new Problem(0, { title: "No connection", detail: "The registry does not answer. Try again in a moment." })
  }
  if (response.status === 401) dispatchEvent(new Event("signed-out"))
  if (!response.ok) throw await problemOf(response)
  return response.status === 204 ? undefined : response.json()
}

const json = (body) =>
  body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }

export const get = (path) => send("GET", path)
export const post = (path, body, headers) => {
  const options = json(body)
  return send("POST", path, { ...options, headers: { ...options.headers, ...headers } })
}
export const put = (path, body) => send("PUT", path, json(body))
export const patch = (path, body) => send("PATCH", path, json(body))
export const remove = (path) => send("DELETE", path)

/** Sends a file as the body; the browser streams it. */
export const upload = (path, file) =>
  send("POST", path, { body: file, headers: { "content-type": "application/octet-stream" } })

/** Path of names, each escaped. Two dots would lead a browser to another path than was meant. */
export const path = (place, ...names) => {
  if (names.some((name) => name === "." || name === "..")) throw new Problem(404, { title: "Not found" })
  return [place, ...names.map(encodeURIComponent)].join("/")
}

/** The signed-in account, or null. */
export const whoAmI = async () => {
  try {
    const profile = await get("/api/v1/user/")
    csrfToken = profile.csrfToken
    return profile
  } catch (problem) {
    if (problem.status === 401) return null
    throw problem
  }
}

/** The words for a problem. */
export const words = (problem) => {
  if (!(problem instanceof Problem)) return "Something went wrong on this page."
  if (problem.status === 401) return "Your session has ended. Sign in again."
  if (problem.status === 429) return `Too many requests. Try again in ${problem.retryAfter ?? "a few"} seconds.`
  if (problem.status === 404 && problem.detail === undefined)
    return "There is nothing here, or it is not for you to see."
  if (problem.status === 403 && problem.detail === undefined) return "Your account may not see or change this."
  return problem.message
}
