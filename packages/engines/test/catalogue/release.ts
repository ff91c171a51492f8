import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a server has: bytes by their names, with versions that change with the bytes. */
export interface Release {
  readonly url: string
  readonly files: Map<string, Uint8Array>
  /** What was asked for: the name, and the header `Range` if there was one. */
  readonly requests: string[]
  /** The connection of the next answer with a file is cut after these bytes of it. */
  cutAfter: number | undefined
  /** Answers a request instead. */
  answer: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined
  readonly close: () => Promise<void>
}

/** A web server of files on this machine that continues a file from any byte, as those of releases do. */
export const openRelease = async (): Promise<Release> => {
  const server = createServer((request, response) => {
    const { range, 'if-range': ifRange } = request.headers
    const name = decodeURIComponent(request.url ?? '').slice(1)
    release.requests.push(range === undefined ? name : `${name} ${range}`)
    if (release.answer?.(request, response) === true) return
    const bytes = release.files.get(name)
    if (bytes === undefined) {
      response.writeHead(404).end()
      return
    }
    const etag = `"${bytes.length}-${bytes[bytes.length >> 1] ?? 0}"`
    const isPart = range !== undefined && ifRange === etag
    const from = isPart ? Number(/^bytes=(\d+)-$/.exec(range)?.[1]) : 0
    if (isPart && from >= bytes.length) {
      response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end()
      return
    }
    response.writeHead(isPart ? 206 : 200, {
      etag,
      'content-length': bytes.length - from,
      ...(isPart && { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    })
    const { cutAfter } = release
    if (cutAfter === undefined) response.end(bytes.subarray(from))
    else {
      release.cutAfter = undefined
      response.write(bytes.subarray(from, from + cutAfter), () => response.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const release: Release = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    files: new Map(),
    requests: [],
    cutAfter: undefined,
    answer: undefined,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return release
}
