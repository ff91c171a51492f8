import { randomUUID } from 'node:crypto'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { httpGet, type GetAnswer } from 'rxspeech-engines/catalogue/http-get'
import { codeOf, isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { ProxyOption } from 'rxspeech/internal/protocol/proxy-option'
import { usageError } from '../process/failure.js'

export interface OpenOptions {
  readonly signal: AbortSignal
  /** The proxy of addresses; false for none. @default the environment */
  readonly proxy?: ProxyOption | undefined
  /** Called while a file is downloaded. */
  readonly onDownload?: ((doneBytes: number, totalBytes: number | undefined) => void) | undefined
}

/** The longest file, and how long it may take. */
const [maxBytes, maxMs] = [4 * 1024 ** 3, 3_600_000]

/**
 * Downloads a recording to a file that has no name, so that it is gone with the process. Rejects with `source-failed`,
 * or with `connection-failed` if the service of the address cannot be reached.
 *
 * @param name how messages name the address, without its query
 */
export const download = async (url: URL, name: string, options: OpenOptions): Promise<FileHandle> => {
  const tooLong = new AbortController()
  const deadline = setTimeout(() => tooLong.abort(failed(name, `took longer than ${maxMs / 60_000} minutes`)), maxMs)
  const signal = AbortSignal.any([options.signal, tooLong.signal])
  try {
    const answer = await httpGet(url, { signal, proxy: options.proxy, allowsHttp: true })
    if (answer.status !== 200) {
      answer.body.destroy()
      throw failed(name, `was answered with the status ${answer.status}`)
    }
    return await store(answer, name, options.onDownload)
  } catch (error) {
    signal.throwIfAborted()
    throw isSpeechError(error)
      ? error
      : failed(name, `could not be downloaded to its end (${codeOf(error) ?? 'unknown'})`)
  } finally {
    clearTimeout(deadline)
  }
}

const store = async (
  { body, header }: GetAnswer,
  name: string,
  onDownload: OpenOptions['onDownload'],
): Promise<FileHandle> => {
  const length = Number(header('content-length') ?? NaN)
  const totalBytes = Number.isSafeInteger(length) ? length : undefined
  const handle = await namelessFile()
  let doneBytes = 0
  try {
    if ((totalBytes ?? 0) > maxBytes) throw tooBig(name)
    for await (const part of body as AsyncIterable<Uint8Array>) {
      await handle.writeFile(part)
      doneBytes += part.length
      if (doneBytes > maxBytes) throw tooBig(name)
      onDownload?.(doneBytes, totalBytes)
    }
    if (doneBytes < (totalBytes ?? 0)) throw failed(name, `ended after ${doneBytes} of ${String(totalBytes)} bytes`)
    return handle
  } catch (error) {
    body.destroy()
    await handle.close()
    throw codeOf(error) === 'ENOSPC'
      ? usageError(`${tmpdir()} has no space for ${name}; set TMPDIR to another folder.`)
      : error
  }
}

/** On Windows it keeps its name, in the folder of temporary files: an open file must have one. */
const namelessFile = async (): Promise<FileHandle> => {
  const path = join(tmpdir(), `rxspeech-${randomUUID()}`)
  const handle = await open(path, 'wx+', 0o600).catch((error: unknown) => {
    throw usageError(`The folder for temporary files ${tmpdir()} cannot be written to; set TMPDIR to another.`, error)
  })
  await rm(path).catch(() => undefined)
  return handle
}

const failed = (name: string, what: string): SpeechError =>
  new SpeechError('source-failed', `${name} ${what}; check the address.`)

const tooBig = (name: string): SpeechError =>
  new SpeechError(
    'source-failed',
    `${name} is longer than ${maxBytes / 1024 ** 3} GiB; download it, and pass the file.`,
  )
