import { open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { either } from 'fp-ts'
import { codeOf, isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { backoffMs } from 'rxspeech/internal/kernel/backoff'
import { parseJsonObject } from 'rxspeech/internal/protocol/parse-json'
import { checkSpace, type FreeBytes } from './disk-space.js'
import { httpGet, type GetAnswer, type GetOptions } from './http-get.js'

export interface DownloadOptions extends Pick<GetOptions, 'proxy' | 'signal' | 'idleMs'> {
  readonly url: URL
  /** Where the bytes go. What is there of an earlier attempt is continued, if the server still has the same file. */
  readonly file: string
  /** How many bytes there are, of how many, if that is known. */
  readonly onProgress?: ((doneBytes: number, totalBytes: number | undefined) => void) | undefined
  /** Called when a lost connection is opened again, and when a file is loaded from its start again. */
  readonly onNote?: ((sentence: string) => void) | undefined
  /** @default that of the file system */
  readonly freeBytes?: FreeBytes | undefined
  /** The upper bound of the first wait before another attempt, in milliseconds. @default 1000 */
  readonly firstDelayMs?: number | undefined
}

/** How often in a row a connection may fail without any more bytes. */
const maxFailures = 5

/** No model is larger. */
const maxFileBytes = 20e9

/**
 * Downloads a file. A connection that is lost is opened again and continues (RFC 9110 section 14.2), also in a later
 * call for the same file: beside it, `FILE.json` has the validator of its version, and another version is loaded from
 * its start.
 *
 * Rejects with `connection-failed`, `connection-lost` or `invalid-options`; what has arrived stays.
 */
export const download = async (options: DownloadOptions): Promise<void> => {
  const { file, signal, firstDelayMs = 1000, onNote } = options
  for (let failures = 0; ;) {
    const before = await sizeOf(file)
    try {
      await attempt(options)
      return
    } catch (error) {
      signal.throwIfAborted()
      if (!isSpeechError(error) || !error.retryable) throw error
      failures = (await sizeOf(file)) > before ? 1 : failures + 1
      if (failures > maxFailures) throw error
      onNote?.(`${error.message} Trying again.`)
      await wait(backoffMs({ firstDelayMs, maxDelayMs: 10_000 }, failures, Math.random), undefined, { signal }).catch(
        () => signal.throwIfAborted(),
      )
    }
  }
}

const sizeOf = async (file: string): Promise<number> => (await stat(file).catch(() => undefined))?.size ?? 0

/** Which version of a file the bytes are of. */
interface Version {
  /** A strong ETag, or the date of the last change (RFC 9110 section 13.1.5). */
  readonly validator: string
  readonly totalBytes: number
}

const versionFile = (file: string): string => `${file}.json`

/** Removes what a download left. */
const removeDownload = async (file: string): Promise<void> => {
  await rm(versionFile(file), { force: true })
  await rm(file, { force: true })
}

const readVersion = async (file: string): Promise<Version | undefined> => {
  const text = await readFile(versionFile(file), 'utf8').catch(() => '')
  const json = parseJsonObject(text)
  if (either.isLeft(json)) return undefined
  const { validator, totalBytes } = json.right
  return typeof validator === 'string' && typeof totalBytes === 'number' ? { validator, totalBytes } : undefined
}

const versionOf = ({ header }: GetAnswer, totalBytes: number | undefined): Version | undefined => {
  const etag = header('etag')
  const validator = etag === undefined || etag.startsWith('W/') ? header('last-modified') : etag
  return validator === undefined || totalBytes === undefined ? undefined : { validator, totalBytes }
}

/** A whole number of a header. */
const lengthOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined

/** One request, which continues what is there. */
const attempt = async (options: DownloadOptions): Promise<void> => {
  const { url, file, signal, onNote } = options
  const version = await readVersion(file)
  const size = version === undefined ? 0 : await sizeOf(file)
  const resumed = version !== undefined && size > 0
  const headers = resumed ? { range: `bytes=${size}-`, 'if-range': version.validator } : {}
  const answer = await httpGet(url, { ...options, headers })
  const abandon = async (): Promise<void> => {
    answer.body.destroy()
    await removeDownload(file)
  }
  const [, from, ofTotal] = /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(answer.header('content-range') ?? '') ?? []
  const isSameFile = resumed && lengthOf(ofTotal) === version.totalBytes
  if (answer.status === 416 && isSameFile && size === version.totalBytes) {
    answer.body.destroy()
    return
  }
  if (answer.status === 206 && isSameFile && lengthOf(from) === size) {
    await receive(answer, options, size, version.totalBytes)
    return
  }
  if (answer.status === 206 || answer.status === 416) {
    await abandon()
    throw new SpeechError('connection-lost', `${answer.host} does not continue the file.`)
  }
  if (answer.status !== 200) {
    answer.body.destroy()
    throw refusedFile(answer, url)
  }
  if (resumed) onNote?.(`${answer.host} has another version of the file now; it is loaded from its start.`)
  const totalBytes = lengthOf(answer.header('content-length'))
  await removeDownload(file)
  const found = versionOf(answer, totalBytes)
  if (found !== undefined) await writeFile(versionFile(file), JSON.stringify(found))
  signal.throwIfAborted()
  await receive(answer, options, 0, totalBytes)
}

const refusedFile = ({ status, host }: GetAnswer, { pathname }: URL): SpeechError => {
  const isTemporary = status >= 500 || status === 429
  const remedy =
    status === 404 ? 'check its name' : isTemporary ? 'try again later' : 'check the address and your access'
  const name = decodeURIComponent(pathname.split('/').at(-1) ?? '')
  return new SpeechError('connection-failed', `${host} does not send ${name} (HTTP ${status}); ${remedy}.`, {
    retryable: isTemporary,
  })
}

/** Appends the body. */
const receive = async (
  { body, host }: GetAnswer,
  { file, signal, onProgress, freeBytes }: DownloadOptions,
  fromBytes: number,
  totalBytes: number | undefined,
): Promise<void> => {
  let doneBytes = fromBytes
  const maxBytes = totalBytes ?? maxFileBytes
  try {
    if (totalBytes !== undefined) await checkSpace(file, totalBytes - fromBytes, freeBytes)
    const handle = await open(file, 'a', 0o600)
    try {
      onProgress?.(doneBytes, totalBytes)
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        doneBytes += chunk.length
        if (doneBytes > maxBytes) {
          throw new SpeechError('connection-failed', `${host} sends more than it announced.`, { retryable: false })
        }
        await handle.writeFile(chunk)
        onProgress?.(doneBytes, totalBytes)
      }
    } finally {
      await handle.close()
    }
  } catch (error) {
    body.destroy()
    signal.throwIfAborted()
    if (isSpeechError(error)) throw error
    const code = codeOf(error) ?? 'unknown'
    if (code === 'ENOSPC' || code === 'EDQUOT') throw new SpeechError('invalid-options', `The disk of ${file} is full.`)
    const isNetwork = /^(ECONN|EPIPE|ERR_STREAM|ETIMEDOUT|HPE_|ERR_SSL)/.test(code)
    const sentence = isNetwork
      ? `The connection to ${host} was lost (${code}).`
      : `${file} cannot be written (${code}).`
    throw new SpeechError('connection-lost', sentence, { cause: error, retryable: isNetwork })
  }
  if (totalBytes !== undefined && doneBytes < totalBytes) {
    throw new SpeechError('connection-lost', `${host} ended the file early.`)
  }
}
