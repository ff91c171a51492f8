import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { extname, join, sep } from 'node:path'
import { codeOf } from 'rxspeech/internal/errors/speech-error'

/** A file that is served; its content was read at the start. */
interface StaticFile {
  readonly bytes: Buffer
  readonly contentType: string
  readonly etag: string
  /** Whether its name contains a hash of its content, as bundlers write it. */
  readonly isImmutable: boolean
}

/** The files of a page by the path of their address. */
export type StaticFiles = ReadonlyMap<string, StaticFile>

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
  '.wav': 'audio/wav',
}

const readStatic = async (path: string): Promise<StaticFile> => {
  const bytes = await readFile(path)
  return {
    bytes,
    contentType: contentTypes[extname(path).toLowerCase()] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    isImmutable: /-[\w-]{8,}\.\w+$/.test(path) && path.includes(`${sep}assets${sep}`),
  }
}

/** A page has some hundred kilobytes; more would be another folder by mistake. */
const maxFiles = 1_000

/**
 * Reads the files of a folder and of the folders in it, hidden ones excepted; none if there is no folder. Requests find
 * a file only by its name in the result, so that no request names a path of this machine.
 */
export const readStaticFiles = async (folder: string): Promise<StaticFiles> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  })
  const files = new Map<string, StaticFile>()
  for (const entry of entries.slice(0, maxFiles)) {
    const path = join(entry.parentPath, entry.name)
    const address = path.slice(folder.length).replaceAll(sep, '/')
    // Symbolic links are no files here: they can lead out of the folder.
    if (entry.isFile() && !address.includes('/.')) files.set(address, await readStatic(path))
  }
  return files
}

/** One file under an address of its own; none if it cannot be read. */
export const readStaticFile = async (path: string): Promise<StaticFile | undefined> =>
  readStatic(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  })

/** Answers GET and HEAD with the file, or 304 if the client has it (RFC 9110 section 13.1.2). */
export const sendStatic = (
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  { bytes, contentType, etag, isImmutable }: StaticFile,
  more: Readonly<Record<string, string>>,
): void => {
  const caching = {
    ETag: etag,
    'Cache-Control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
  }
  const known = (headers['if-none-match'] ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  if (known.includes(etag) || known.includes('*')) {
    response.writeHead(304, { ...more, ...caching }).end()
    return
  }
  response.writeHead(200, { ...more, ...caching, 'Content-Type': contentType, 'Content-Length': bytes.length })
  response.end(method === 'HEAD' ? undefined : bytes)
}
