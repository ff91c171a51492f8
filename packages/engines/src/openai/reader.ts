import type { SchedulerLike } from 'rxjs'
import { either } from 'fp-ts'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { parseJsonObject } from 'rxspeech/internal/protocol/parse-json'
import type { Reader, Reading, ReadRequest } from '../offline/reader.js'
import {
  AnswerDeadline,
  refusedBy,
  serverFailed,
  serverLost,
  serverOverloaded,
  type ServerName,
} from '../recognition-server.js'
import type { Answer, FormFields, TranscriptionClient } from './request.js'
import { readTranscript } from './transcript.js'

/** What is sent beside the audio. */
export interface TranscriptionOptions {
  readonly model?: string | undefined
  readonly language?: string | undefined
  /** Further fields of the form. */
  readonly fields?: Readonly<Record<string, string>> | undefined
  /** The field that takes the phrases of a session. */
  readonly phrases?: 'prompt' | 'hotwords' | undefined
  /** Whether partials ask whisper.cpp to read no more than their audio. */
  readonly audioContext?: boolean | undefined
}

/** How often a request for a result is repeated at a busy server, and the longest wait before that. */
const maxWaits = 3
const defaultWaitMs = 1_000
const maxWaitMs = 10_000

/** The window of whisper.cpp: 50 positions a second, 30 s; too short a one breaks its text. */
const audioContextOf = (audioMs: number): number => Math.min(Math.ceil((50 * (audioMs + 2_500)) / 1_000), 1_500)

const isSuccess = ({ status }: Answer): boolean => status >= 200 && status < 300
/** A form that the server does not take. */
const isRefusedForm = ({ status }: Answer): boolean => status === 400 || status === 415 || status === 422
/** A gateway without a server, or a server that does not accept now. */
const isAway = ({ status }: Answer): boolean => status === 408 || (status >= 502 && status <= 504)
const isBusy = (answer: Answer): boolean =>
  answer.status === 429 || (isAway(answer) && answer.retryAfterMs !== undefined)

/** Resolves after the time; rejects when the signal is aborted. */
const wait = (durationMs: number, scheduler: SchedulerLike, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const abort = (): void => {
      timer.unsubscribe()
      reject(new DOMException('The reading was aborted.', 'AbortError'))
    }
    const timer = schedule(
      scheduler,
      durationMs,
      () => {
        signal.removeEventListener('abort', abort)
        resolve()
      },
      { ref: true },
    )
    signal.addEventListener('abort', abort, { once: true })
  })

/** Whether the server answers at all to a request for the model. */
const probeWithinMs = 5_000

const frameMs = 20
/** Minimum speech of a word: its length, its level above the quietest frames of its segment, and its level. */
const minSpeechMs = 200
const minRise = 10
const minPower = 100 ** 2

/** Whether audio rises above its own background long enough for a word. */
const mayBeSpeech = (samples: Int16Array, sampleRateHz: number): boolean => {
  const frameSamples = (frameMs * sampleRateHz) / 1000
  const powers = Array.from({ length: Math.floor(samples.length / frameSamples) }, (_, at) => {
    let sum = 0
    for (const sample of samples.subarray(at * frameSamples, (at + 1) * frameSamples)) sum += sample * sample
    return sum / frameSamples
  })
  const floor = powers.toSorted((a, b) => a - b)[Math.floor(powers.length / 10)] ?? 0
  return powers.filter((power) => power > Math.max(minRise * floor, minPower)).length * frameMs >= minSpeechMs
}

/** Reads audio by a transcription server: a request for each reading. */
export class TranscriptionReader implements Reader {
  readonly readsAtOnce: number
  readonly #client: TranscriptionClient
  readonly #name: ServerName
  readonly #options: TranscriptionOptions
  readonly #sampleRateHz: number
  readonly #scheduler: SchedulerLike
  readonly #deadline = new AnswerDeadline()
  readonly #closing = new AbortController()
  /** Whether the server takes the verbose form, once that is known. */
  #isVerbose: boolean | undefined

  constructor(
    client: TranscriptionClient,
    name: ServerName,
    options: TranscriptionOptions,
    { sampleRateHz, readsAtOnce, scheduler }: { sampleRateHz: number; readsAtOnce: number; scheduler: SchedulerLike },
  ) {
    this.#client = client
    this.#name = name
    this.#options = options
    this.#sampleRateHz = sampleRateHz
    this.#scheduler = scheduler
    this.readsAtOnce = readsAtOnce
  }

  async read(request: ReadRequest, signal: AbortSignal): Promise<Reading> {
    const ended = AbortSignal.any([signal, this.#closing.signal])
    for (let waits = 0; ; waits += 1) {
      const answer = await this.#ask(request, ended)
      if (isSuccess(answer)) return this.#readingOf(answer, request)
      // Servers with a voice activity of their own that leaves nothing to read.
      if (answer.status === 500 && !mayBeSpeech(request.samples, this.#sampleRateHz)) return { text: '' }
      const waitMs = answer.retryAfterMs ?? defaultWaitMs
      if (!isBusy(answer) || request.purpose === 'partial' || waits === maxWaits || waitMs > maxWaitMs) {
        throw this.#failureOf(answer)
      }
      await wait(waitMs, this.#scheduler, ended)
    }
  }

  /** Asks for words and statistics, and without them a server that refuses that. */
  async #ask(request: ReadRequest, signal: AbortSignal): Promise<Answer> {
    const answer = await this.#send(request, this.#isVerbose !== false, signal)
    if (this.#isVerbose !== undefined || (!isRefusedForm(answer) && !isSuccess(answer))) return answer
    if (isSuccess(answer)) {
      this.#isVerbose = true
      return answer
    }
    const plain = await this.#send(request, false, signal)
    if (isSuccess(plain)) this.#isVerbose = false
    return plain
  }

  async #send(request: ReadRequest, isVerbose: boolean, signal: AbortSignal): Promise<Answer> {
    const audioMs = this.#audioMs(request)
    const deadlineMs = this.#deadline.begin(audioMs, this.#scheduler.now())
    let hasAnswer = false
    try {
      const answer = await this.#client.send(this.#fieldsOf(request, isVerbose), request.samples, deadlineMs, signal)
      hasAnswer = true
      return answer
    } finally {
      this.#deadline.end(hasAnswer, this.#scheduler.now())
    }
  }

  #audioMs({ samples }: ReadRequest): number {
    return (samples.length * 1000) / this.#sampleRateHz
  }

  #fieldsOf(request: ReadRequest, isVerbose: boolean): FormFields {
    const { model, fields, phrases, audioContext } = this.#options
    const { language = this.#options.language, purpose } = request
    const named: Record<string, string | undefined> = {
      ...fields,
      ...(model !== undefined && { model }),
      ...(language !== undefined && language !== 'auto' && { language }),
      ...(phrases !== undefined && request.phrases !== undefined && { [phrases]: request.phrases.join(', ') }),
      ...(audioContext && purpose === 'partial' && { audio_ctx: String(audioContextOf(this.#audioMs(request))) }),
      response_format: isVerbose ? 'verbose_json' : 'json',
    }
    const granularities = isVerbose ? ['word', 'segment'] : []
    return [
      ...Object.entries(named).map(([name, value]) => [name, value ?? ''] as const),
      ...granularities.map((value) => ['timestamp_granularities[]', value] as const),
    ]
  }

  #readingOf(answer: Answer, request: ReadRequest): Reading {
    const json = parseJsonObject(answer.body)
    const reading = either.isRight(json) ? readTranscript(json.right, this.#audioMs(request)) : undefined
    if (reading !== undefined) return reading
    // Some report an error under the status 200.
    throw serverFailed(this.#name, either.isRight(json) ? this.#client.refusal(answer) : noJson(this.#name))
  }

  /** The error for an answer without a transcription. */
  #failureOf(answer: Answer): SpeechError {
    const refusal = this.#client.refusal(answer)
    const { status, retryAfterMs } = answer
    if (isBusy(answer)) {
      return serverOverloaded(refusal, retryAfterMs ?? defaultWaitMs)
    }
    if (isAway(answer)) return serverLost(this.#name, new SpeechError('connection-lost', refusal.message))
    return serverFailed(this.#name, refusal, { retryable: status >= 500 })
  }

  /** Resolves if the server can be reached. One that is busy reading may not answer meanwhile. */
  async ready(): Promise<void> {
    await this.#client.probe(probeWithinMs, this.#closing.signal).catch((error: unknown) => {
      if (this.#deadline.inFlight === 0) throw error
    })
  }

  close(): Promise<void> {
    this.#closing.abort()
    return Promise.resolve()
  }
}

const noJson = (name: ServerName): SpeechError =>
  refusedBy(name, 'answered with something other than JSON; check "url"')
