import { createWriteStream } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ReadableStream, type ReadableWritablePair } from 'node:stream/web'
import { codeOf, isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { bunzip } from './bunzip.js'
import { checkSpace, sizeText, type FreeBytes } from './disk-space.js'

export interface UnpackOptions {
  /** A `.tar.bz2` file. */
  readonly archive: string
  readonly folder: string
  /**
   * Where a file goes within the folder, by its path below the one folder of the archive; undefined if it is not
   * needed. Only these paths are ever written.
   */
  readonly placeOf: (path: string) => string | undefined
  readonly signal: AbortSignal
  /** How many bytes were unpacked. */
  readonly onProgress?: ((doneBytes: number) => void) | undefined
  /** @default that of the file system */
  readonly freeBytes?: FreeBytes | undefined
}

/** The used part of the package `modern-tar`, with the streams of Node. */
interface ModernTar {
  readonly createTarDecoder: (options: { readonly strict: boolean }) => ReadableWritablePair<TarEntry, Uint8Array>
}

interface TarEntry {
  readonly header: { readonly name: string; readonly size: number; readonly type?: string }
  readonly body: ReadableStream<Uint8Array>
}

/** How much an archive may expand: models are numbers, which hardly compress. */
const [maxRatio, minLimitBytes] = [20, 16e6]
const maxEntries = 10_000

/**
 * Unpacks the files of a model that are needed, and returns their places. Memory is bounded.
 *
 * Rejects with `invalid-model` for an archive that is damaged, expands beyond all measure, or has a path that leads out
 * of it; with `invalid-options` if the disk is full.
 */
export const unpack = async (options: UnpackOptions): Promise<readonly string[]> => {
  const { archive, folder, placeOf, signal, onProgress, freeBytes } = options
  const refuse = (sentence: string, cause?: unknown): SpeechError =>
    new SpeechError('invalid-model', `${basename(archive)} ${sentence}`, { cause })
  const { createTarDecoder } = (await import('modern-tar')) as unknown as ModernTar
  const maxBytes = Math.max(minLimitBytes, maxRatio * (await stat(archive)).size)
  const limited = async function* (): AsyncGenerator<Uint8Array, undefined> {
    let doneBytes = 0
    for await (const piece of bunzip(archive, signal)) {
      doneBytes += piece.length
      if (doneBytes > maxBytes) throw refuse(`expands to more than ${sizeText(maxBytes)}, which no model does.`)
      onProgress?.(doneBytes)
      yield piece
    }
    return undefined
  }
  const places = new Set<string>()
  let count = 0
  const entries = ReadableStream.from(limited()).pipeThrough(createTarDecoder({ strict: true }))
  try {
    for await (const { header, body } of entries) {
      count += 1
      if (count > maxEntries) throw refuse(`has more than ${maxEntries} entries, which no model has.`)
      const place = header.type === 'file' ? placeOf(pathBelow(header.name, refuse)) : undefined
      if (place === undefined) {
        // Read rather than cancelled: the package may have the body of the next entry open already, and would cancel
        // that.
        for await (const _skipped of body);
      } else {
        if (places.has(place)) throw refuse(`has ${place} twice.`)
        places.add(place)
        const file = join(folder, place)
        await mkdir(dirname(file), { recursive: true })
        await checkSpace(file, header.size, freeBytes)
        await pipeline(Readable.fromWeb(body), createWriteStream(file, { flags: 'wx' }))
      }
    }
  } catch (error) {
    signal.throwIfAborted()
    if (isSpeechError(error)) throw error
    const code = codeOf(error)
    if (code === 'ENOSPC' || code === 'EDQUOT')
      throw new SpeechError('invalid-options', `The disk of ${folder} is full.`)
    if (code?.startsWith('E') === true && !code.startsWith('ERR_')) throw error
    throw refuse('is not a whole .tar.bz2 archive.', error)
  }
  return [...places]
}

/** The path below the one folder of an archive, without `./`; empty for the folder itself. */
const pathBelow = (name: string, refuse: (sentence: string) => SpeechError): string => {
  const parts = name.split('/').filter((part) => part !== '' && part !== '.')
  if (name.startsWith('/') || /[\\:\0]/.test(name) || parts.includes('..')) {
    throw refuse('has a path that leads out of it, and is refused.')
  }
  return parts.slice(1).join('/')
}
