/**
 * What sealed transfers are compared with: node:http and the file system. PUT
 * writes the body to a file and has it on disk when it answers, GET streams it back.
 */
import { createReadStream, createWriteStream } from "node:fs"
import { open, stat } from "node:fs/promises"
import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { pipeline } from "node:stream/promises"

const [port, path] = process.argv.slice(2) as [string, string]

const answer = async (request: IncomingMessage, response: ServerResponse) => {
  if (request.method === "PUT") {
    await pipeline(request, createWriteStream(path))
    const file = await open(path, "r")
    await file.sync()
    await file.close()
    response.writeHead(201).end()
  } else {
    response.writeHead(200, { "content-length": (await stat(path)).size })
    await pipeline(createReadStream(path), response)
  }
}

createServer((request, response) => {
  answer(request, response).catch(() => response.destroy())
}).listen(Number(port), "127.0.0.1")
