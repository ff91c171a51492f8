import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { httpGet, type GetOptions } from './http-get.js'

/** The SHA-256 of a file in hexadecimal. */
export const sha256Of = async (
  file: string,
  signal: AbortSignal,
  onProgress?: (doneBytes: number) => void,
): Promise<string> => {
  const hash = createHash('sha256')
  let doneBytes = 0
  const counted = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      doneBytes += chunk.length
      onProgress?.(doneBytes)
      yield chunk
    }
  }
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), counted, hash, { signal })
  return hash.digest('hex')
}

/** The list of a release has a line of some 120 bytes for each of its files. */
const maxListBytes = 4e6

/**
 * The hash of an archive in `checksum.txt` beside it, which has a line with name, tab and SHA-256 for each file;
 * undefined if there is no such file, or no line.
 */
export const releasedSha256 = async (archive: URL, options: GetOptions): Promise<string | undefined> => {
  const { status, body, host } = await httpGet(new URL('checksum.txt', archive), options)
  if (status !== 200) {
    body.destroy()
    return undefined
  }
  let text = ''
  body.setEncoding('utf8')
  for await (const piece of body) {
    text += String(piece)
    if (text.length > maxListBytes) throw new SpeechError('connection-failed', `${host} sends no list of checksums.`)
  }
  const name = decodeURIComponent(archive.pathname.split('/').at(-1) ?? '')
  const row = text.split('\n').map((line) => line.trim().split(/\t|\s+/))
  return row.find(([file, hash]) => file === name && /^[0-9a-f]{64}$/.test(hash ?? ''))?.[1]
}
