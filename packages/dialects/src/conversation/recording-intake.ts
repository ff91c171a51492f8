import { Semaphore } from 'rxspeech-engines/semaphore'
import type { DialectClient } from 'rxspeech-server/listen/dialect'
import { decode, DecodingError, type DecodeOptions } from 'rxspeech-server/recognition/ffmpeg'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { readRecording, type Recording } from './recording.js'
import { incompleteUpload, UploadError } from './upload-error.js'
import type { Upload, UploadBounds } from './upload.js'

/** Limits of the recordings that clients send. */
export interface UploadLimits {
  /** The longest file, in bytes. @default 26214400 */
  readonly maxUploadBytes: number
  /** How long a file may take to arrive, in seconds. @default 120 */
  readonly maxUploadSeconds: number
  /** The longest recording, in minutes: a small file can be hours of audio. @default 240 */
  readonly maxRecordingMinutes: number
  /** Files of one tenant at the same time, and of one address, in each process. @default 20 */
  readonly maxUploadsPerTenant: number
  /**
   * How many processes of ffmpeg decode files at the same time, with all worker processes; further files wait, for
   * `maxUploadSeconds`. @default 2 for each CPU
   */
  readonly maxDecoders: number
}

export const defaultUploadLimits: Omit<UploadLimits, 'maxDecoders'> = {
  maxUploadBytes: 25 * 1_048_576,
  maxUploadSeconds: 120,
  maxRecordingMinutes: 240,
  maxUploadsPerTenant: 20,
}

/** Receives the recordings of all dialects within their limits. */
export class RecordingIntake {
  readonly #limits: UploadLimits
  readonly #ffmpeg: string | undefined
  readonly #ofTenants: Semaphore
  readonly #ofAddresses: Semaphore
  readonly #decoders: Semaphore

  /** @param ffmpeg its path; without it only WAV files are read */
  constructor(limits: UploadLimits, ffmpeg?: string) {
    this.#limits = limits
    this.#ffmpeg = ffmpeg
    const places = { permits: Infinity, permitsPerKey: limits.maxUploadsPerTenant }
    this.#ofTenants = new Semaphore(places)
    this.#ofAddresses = new Semaphore(places)
    const { maxDecoders } = limits
    // One tenant leaves one to the others.
    this.#decoders = new Semaphore({ permits: maxDecoders, permitsPerKey: Math.max(1, maxDecoders - 1) })
  }

  /**
   * Receives a file, and removes it when `use` has settled. Rejects with `overloaded` without a free place, and with
   * `UploadError` for a file that is refused.
   *
   * @param receive stores the file of the request; rejects with the reason of the signal once it is aborted
   * @param use `open` returns the recording in the file
   */
  async receive<Received extends { readonly file: Upload }, Result>(
    client: DialectClient,
    receive: (bounds: UploadBounds) => Promise<Received>,
    use: (received: Received, open: () => Promise<Recording>) => Promise<Result>,
  ): Promise<Result> {
    const { request, signal } = client
    // It can leave while its token is checked; then nothing of the request is to come, not even its end.
    if (signal.aborted) throw endOf(signal)
    const { 'content-encoding': encoding = 'identity' } = request.headers
    if (encoding !== 'identity') throw encoded(encoding)
    const release = this.#admit(client)
    const used = new AbortController()
    try {
      const received = await this.#inTime(client, receive)
      try {
        return await use(received, () => this.#open(client, received.file, AbortSignal.any([signal, used.signal])))
      } finally {
        used.abort()
        await received.file.remove()
      }
    } catch (error) {
      throw signal.aborted ? endOf(signal) : error
    } finally {
      release()
    }
  }

  #admit({ tenant, address }: DialectClient): () => void {
    const places = [this.#ofTenants.tryAcquire(tenant), this.#ofAddresses.tryAcquire(address)]
    const release = (): void => {
      for (const place of places) place?.()
    }
    if (!places.includes(undefined)) return release
    release()
    const { maxUploadsPerTenant: max } = this.#limits
    throw new SpeechError('overloaded', `The tenant or the address sends ${max} files, its limit; try again later.`)
  }

  async #inTime<T>(
    { request, scheduler, signal }: DialectClient,
    receive: (bounds: UploadBounds) => Promise<T>,
  ): Promise<T> {
    const { maxUploadBytes, maxUploadSeconds } = this.#limits
    const ended = new AbortController()
    const end = (): void => ended.abort(endOf(signal))
    signal.addEventListener('abort', end, { once: true })
    const endLate = (): void => ended.abort(tooSlow(maxUploadSeconds))
    const deadline = schedule(scheduler, maxUploadSeconds * 1000, endLate)
    // Without a listener the connection of a client that stalls is closed without an answer.
    request.once('timeout', endLate)
    try {
      return await receive({ maxBytes: maxUploadBytes, signal: ended.signal })
    } finally {
      deadline.unsubscribe()
      request.off('timeout', endLate)
      signal.removeEventListener('abort', end)
    }
  }

  /** Rejects with `UploadError` for a file that is no recording, also while the audio is read. */
  async #open(client: DialectClient, file: Upload, signal: AbortSignal): Promise<Recording> {
    if (file.byteCount === 0) throw new UploadError(400, 'invalid_audio', 'The file is empty; send a recording.')
    const { maxRecordingMinutes } = this.#limits
    const recording = await this.#read(client, file, { signal, maxCpuSeconds: minCpuSeconds + maxRecordingMinutes })
    return { ...recording, audio: upTo(maxRecordingMinutes, recording) }
  }

  async #read(client: DialectClient, file: Upload, options: DecodeOptions): Promise<Recording> {
    try {
      return await readRecording(file.read())
    } catch (error) {
      if (!isSpeechError(error) || error.code !== 'invalid-wav') throw error
      if (this.#ffmpeg !== undefined) {
        const release = await this.#waitForDecoder(client, options.signal)
        return readRecording(releasing(decoded(this.#ffmpeg, file, options), options.signal, release))
      }
      throw new UploadError(
        400,
        'invalid_audio',
        `${error.message} With ffmpeg on its PATH the service reads other files, too.`,
      )
    }
  }

  /** Waits for a place for ffmpeg, as long as a file may take to arrive. */
  async #waitForDecoder({ tenant, scheduler }: DialectClient, signal: AbortSignal): Promise<() => void> {
    const late = new AbortController()
    const { maxUploadSeconds } = this.#limits
    const deadline = schedule(scheduler, maxUploadSeconds * 1000, () => late.abort(tooBusy(maxUploadSeconds)))
    try {
      return await this.#decoders.acquire(AbortSignal.any([signal, late.signal]), tenant)
    } finally {
      deadline.unsubscribe()
    }
  }
}

/** Calls back when the parts end for any reason, or are no longer read. */
async function* releasing(
  parts: AsyncGenerator<Uint8Array, undefined>,
  signal: AbortSignal,
  release: () => void,
): AsyncGenerator<Uint8Array, undefined> {
  // A reader that fails may leave the parts unread, or never begin.
  signal.addEventListener('abort', release, { once: true })
  try {
    yield* parts
  } finally {
    release()
  }
}

/** Refuses a file that ffmpeg does not read. */
async function* decoded(ffmpeg: string, file: Upload, options: DecodeOptions): AsyncGenerator<Uint8Array, undefined> {
  try {
    yield* decode(ffmpeg, file.fd, options)
  } catch (error) {
    if (!(error instanceof DecodingError)) throw error
    const message = `The file ${error.problem}; send another copy of it, or convert it to WAV.`
    throw new UploadError(400, 'invalid_audio', message)
  }
}

/** ffmpeg needs about a second for the sound of five minutes, on one processor. */
const minCpuSeconds = 10

async function* upTo(
  maxMinutes: number,
  { audio, sampleRateHz }: Recording,
): AsyncGenerator<readonly Int16Array[], undefined> {
  let sampleCount = 0
  for await (const channels of audio) {
    sampleCount += channels[0]?.length ?? 0
    if (sampleCount > maxMinutes * 60 * sampleRateHz) {
      const message = `The recording is longer than ${maxMinutes} minutes; send it in parts.`
      throw new UploadError(400, 'recording_too_long', message)
    }
    yield channels
  }
}

/** Why the service ended the request, or that the client did. */
const endOf = ({ reason }: AbortSignal): Error => (isSpeechError(reason) ? reason : incompleteUpload())

const tooSlow = (seconds: number): UploadError =>
  new UploadError(408, 'upload_too_slow', `The file did not arrive within ${seconds} s; send a smaller one.`)

const tooBusy = (seconds: number): UploadError =>
  new UploadError(
    503,
    'decoders_busy',
    `The service decodes other files, and this one has waited for ${seconds} s; try again later, or send WAV.`,
  )

const encoded = (encoding: string): UploadError =>
  new UploadError(
    415,
    'unsupported_encoding',
    `Content-Encoding ${JSON.stringify(encoding.slice(0, 40))} is not supported; send the body as it is.`,
  )
