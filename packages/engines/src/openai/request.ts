import { randomUUID } from 'node:crypto'
import { from, lastValueFrom, type SchedulerLike } from 'rxjs'
import { bytesOf } from 'rxspeech/internal/audio/pcm'
import { wavHeader } from 'rxspeech/internal/audio/wav-header'
import { nodePost, type NodePost } from 'rxspeech/internal/auth/node-fetch'
import { boundedText } from 'rxspeech/internal/auth/token-response'
import { SecretMask } from 'rxspeech/internal/errors/secret-mask'
import { isSpeechError, type SpeechError } from 'rxspeech/internal/errors/speech-error'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { parseJson } from 'rxspeech/internal/protocol/parse-json'
import { retryAfterMs } from 'rxspeech/internal/protocol/retry-after'
import { refusedBy, serverFailed, serverLost, serverSilent, type ServerName } from '../recognition-server.js'
import { errorTextOf } from './transcript.js'

/** The size limit of an answer: minutes of words with times. */
const maxAnswerBytes = 4 * 1_048_576

/** Fields of a form, in order; a name may occur again. */
export type FormFields = readonly (readonly [name: string, value: string])[]

/** An answer of the server, whatever its status. */
export interface Answer {
  readonly status: number
  readonly retryAfterMs: number | undefined
  readonly body: string
}

/** The body of a request (RFC 7578): the fields, then the audio as a WAV file, the one form that every server takes. */
const formData = (boundary: string, fields: FormFields, samples: Int16Array, sampleRateHz: number): Uint8Array => {
  const part = (disposition: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name=${disposition}\r\n`
  const head = fields.map(([name, value]) => `${part(JSON.stringify(name))}\r\n${value}\r\n`).join('')
  const file = `${part('"file"; filename="audio.wav"')}Content-Type: audio/wav\r\n\r\n`
  const header = wavHeader({ encoding: 'pcm', sampleRateHz, channels: 1 }, samples.byteLength)
  return Buffer.concat([Buffer.from(head + file), header, bytesOf(samples), Buffer.from(`\r\n--${boundary}--\r\n`)])
}

/** How a transcription server is reached. */
export interface TranscriptionServer {
  readonly url: URL
  readonly name: ServerName
  readonly key: string | undefined
  readonly ca: string | undefined
  readonly sampleRateHz: number
  readonly scheduler: SchedulerLike
}

/** Sends requests to a server and reads its answers, each over a connection of its own. Redirects are not followed. */
export class TranscriptionClient {
  readonly #server: TranscriptionServer
  readonly #post: NodePost
  readonly #mask: SecretMask

  constructor(server: TranscriptionServer) {
    this.#server = server
    this.#post = nodePost({ ca: server.ca })
    this.#mask = new SecretMask(server.key === undefined ? [] : [server.key])
  }

  /**
   * Resolves with the answer, of any status. Rejects with `engine-failed` if none arrives within the deadline, and as
   * soon as the signal is aborted.
   */
  send(fields: FormFields, samples: Int16Array, deadlineMs: number, signal: AbortSignal): Promise<Answer> {
    const boundary = `rxspeech-${randomUUID()}`
    const headers = { accept: 'application/json', 'content-type': `multipart/form-data; boundary=${boundary}` }
    const body = formData(boundary, fields, samples, this.#server.sampleRateHz)
    return this.#request({ method: 'POST', headers, body }, deadlineMs, signal)
  }

  /** Resolves if the server answers at all. */
  async probe(deadlineMs: number, signal: AbortSignal): Promise<void> {
    await this.#request({ method: 'HEAD', headers: {}, body: '' }, deadlineMs, signal)
  }

  async #request(
    { headers, ...init }: Omit<Parameters<NodePost>[1], 'signal'>,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { url, name, key, scheduler } = this.#server
    const ending = new AbortController()
    const timer = schedule(scheduler, deadlineMs, () => ending.abort(serverSilent(name, deadlineMs)), { ref: true })
    const ended = AbortSignal.any([signal, ending.signal])
    try {
      const response = await this.#post(url.href, {
        ...init,
        headers: { ...headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
        signal: ended,
      })
      const body = await lastValueFrom(boundedText(from(response.body ?? []), maxAnswerBytes, () => tooLong(name)))
      return {
        status: response.status,
        retryAfterMs: retryAfterMs(response.headers.get('retry-after'), scheduler.now()),
        body,
      }
    } catch (error) {
      if (ended.aborted) throw toError(ended.reason)
      throw isSpeechError(error) && error.code === 'engine-failed' ? error : serverLost(name, error)
    } finally {
      timer.unsubscribe()
      // For an answer that was not read to its end.
      ending.abort()
    }
  }

  /** The message of an answer other than a transcript: the cause of an error, without the key. */
  refusal({ status, body }: Answer): SpeechError {
    const text = this.#mask.clean(errorTextOf(body, parseJson(body)))
    return refusedBy(this.#server.name, `answered with status ${status}`, text)
  }
}

const tooLong = (name: ServerName): SpeechError =>
  serverFailed(name, refusedBy(name, `answered with more than ${maxAnswerBytes} bytes`), { retryable: false })

const toError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error('The reading was aborted.'))
