import { bytesOf } from 'rxspeech/internal/audio/pcm'
import { ownValue } from 'rxspeech/internal/protocol/parse-json'
import type { Reader, Reading, ReadRequest } from '../offline/reader.js'
import { AnswerDeadline } from '../recognition-server.js'
import { converse, type WyomingServer } from './connection.js'
import { writeMessage, type WyomingMessage } from './messages.js'

/** Of audio in a message. */
const chunkMs = 100

/** What is requested from the server. */
export interface WyomingChoice {
  readonly model?: string | undefined
  readonly language?: string | undefined
}

/** Reads audio by a Wyoming server: a connection for each reading, because it takes one utterance on each. */
export class WyomingReader implements Reader {
  readonly readsAtOnce: number
  readonly #server: WyomingServer
  readonly #choice: WyomingChoice
  readonly #sampleRateHz: number
  readonly #deadline = new AnswerDeadline()
  readonly #closing = new AbortController()

  constructor(
    server: WyomingServer,
    choice: WyomingChoice,
    { sampleRateHz, readsAtOnce }: { sampleRateHz: number; readsAtOnce: number },
  ) {
    this.#server = server
    this.#choice = choice
    this.#sampleRateHz = sampleRateHz
    this.readsAtOnce = readsAtOnce
  }

  async read(request: ReadRequest, signal: AbortSignal): Promise<Reading> {
    const { scheduler } = this.#server
    const audioMs = (request.samples.length * 1000) / this.#sampleRateHz
    const deadlineMs = this.#deadline.begin(audioMs, scheduler.now())
    let hasAnswer = false
    try {
      const ended = AbortSignal.any([signal, this.#closing.signal])
      const text = await converse(this.#server, this.#messages(request), transcriptReader(), deadlineMs, ended)
      hasAnswer = true
      return { text }
    } finally {
      this.#deadline.end(hasAnswer, scheduler.now())
    }
  }

  close(): Promise<void> {
    this.#closing.abort()
    return Promise.resolve()
  }

  *#messages({ samples, language = this.#choice.language }: ReadRequest): Generator<Uint8Array> {
    const { model } = this.#choice
    // Needed in each message.
    const format = { rate: this.#sampleRateHz, width: 2, channels: 1 }
    yield writeMessage('transcribe', {
      ...(model !== undefined && { name: model }),
      ...(language !== undefined && language !== 'auto' && { language }),
    })
    yield writeMessage('audio-start', format)
    const chunkSamples = (chunkMs * this.#sampleRateHz) / 1000
    for (let at = 0; at < samples.length; at += chunkSamples) {
      yield writeMessage('audio-chunk', format, bytesOf(samples.subarray(at, at + chunkSamples)))
    }
    yield writeMessage('audio-stop', {})
  }
}

/** Resolves to the text of `transcript`. Servers that stream send parts of it before, and a few nothing else. */
const transcriptReader = (): ((message: WyomingMessage) => string | undefined) => {
  let parts = ''
  return ({ type, data }) => {
    const value = ownValue(data, 'text')
    const text = typeof value === 'string' ? value : ''
    if (type === 'transcript-chunk') parts += text
    const isEnd = type === 'transcript' || type === 'transcript-stop'
    return isEnd ? (type === 'transcript' ? text : parts).trim().replaceAll(/\s+/g, ' ') : undefined
  }
}
