// What the engines that are clients of another recognition server share: `openai`, `wyoming` and `vosk`.
import { connectFailure } from 'rxspeech/internal/errors/connection-errors'
import { sanitizePeerText } from 'rxspeech/internal/errors/refusal'
import { codeOf, isSpeechError, SpeechError, type SpeechErrorOptions } from 'rxspeech/internal/errors/speech-error'
import { listOf } from 'rxspeech/internal/protocol/collections'
import { languageTag } from 'rxspeech/internal/protocol/language'
import { isLoopback } from 'rxspeech/internal/protocol/loopback'
import { flag, oneOf, wholeNumber } from 'rxspeech/internal/protocol/validation'
import type { ModelDescription } from './engine.js'
import { invalidModel, modelLabel, textOption } from './models/model-json.js'

/** Keys of `model.json` that all of these engines have. */
export const serverKeys = {
  // Allows an address without TLS on another machine.
  insecure: flag,
  ca: textOption('the name of a PEM file'),
  // Of the audio that is sent, in Hz.
  sampleRateHz: oneOf(8000, 16_000),
  segmentsAtOnce: wholeNumber({ min: 1, max: 1000 }),
  // Read by the service.
  batch: flag,
}

/** Keys of `model.json` about languages, for servers that take one. */
export const languageKeys = {
  // Of sessions that name none.
  language: languageTag,
  // Those that a session may choose.
  languages: listOf(languageTag),
}

/** The schemes of an address, such as `http:`; `plain` is without TLS. */
export interface Schemes {
  readonly plain: string
  readonly secure: string
}

/**
 * The address that `model.json` names. Throws `invalid-model` for an address of another kind, with a user or a
 * password, and for one without TLS that leads to another machine, unless `insecure` allows it.
 */
export const serverUrl = (
  model: ModelDescription,
  { url: given, insecure = false }: { readonly url: string; readonly insecure?: boolean | undefined },
  { plain, secure }: Schemes,
): URL => {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined || ![plain, secure].includes(url.protocol) || url.hostname === '') {
    throw invalidModel(model, `"url" in model.json must be an address that begins with ${secure}// or ${plain}//.`)
  }
  if (url.username !== '' || url.password !== '' || url.hash !== '') {
    throw invalidModel(model, '"url" in model.json must have no user, password or fragment; put a key in "secretFrom".')
  }
  if (url.protocol === plain && !insecure && !isLoopback(url.hostname)) {
    const sentence = `"url" in model.json must begin with ${secure}//, otherwise speech could be read in transit; "insecure": true allows it.`
    throw invalidModel(model, sentence)
  }
  return url
}

/** `host:port`, the only part of an address that an error may contain. */
const peerOf = ({ hostname, port, protocol }: URL): string =>
  port === '' && !/^https?:|^wss?:/.test(protocol)
    ? hostname
    : `${hostname}:${port || (protocol.endsWith('s:') ? 443 : 80)}`

/** The server of a model, as errors name it. */
export interface ServerName {
  /** Of the model, such as `Default/whisper/1`: for clients. */
  readonly model: string
  /** `host:port`: for the operator, in causes only. */
  readonly peer: string
}

export const serverName = (model: ModelDescription, url: URL): ServerName => ({
  model: modelLabel(model),
  peer: peerOf(url),
})

/** The server failed to read something: `engine-failed`. The cause is for the operator. */
export const serverFailed = ({ model }: ServerName, cause: unknown, options: SpeechErrorOptions = {}): SpeechError =>
  new SpeechError('engine-failed', `The recognition server of the model ${model} failed; try again.`, {
    cause,
    ...options,
  })

/** The server does not accept more work now. */
export const serverOverloaded = (cause: SpeechError, retryAfterMs: number | undefined): SpeechError =>
  new SpeechError('overloaded', 'The recognition server is overloaded; try again later.', { cause, retryAfterMs })

/** The server cannot be reached, or a connection to it broke: a loss of the engine, unless it would fail again. */
export const serverLost = (server: ServerName, error: unknown): SpeechError => {
  const cause = isSpeechError(error) ? error : brokenConnection(server, error)
  return cause.code === 'overloaded'
    ? serverOverloaded(cause, cause.retryAfterMs)
    : serverFailed(server, cause, { retryable: cause.retryable })
}

/** A connection that was open, unless the peer expects TLS. */
const brokenConnection = ({ peer }: ServerName, error: unknown): SpeechError =>
  /^(ECONNRESET|EPIPE)$/.test(codeOf(error) ?? '')
    ? new SpeechError('connection-lost', `${peer} closed the connection before it answered; check that it runs.`)
    : connectFailure(peer, error)

/** The server did not answer in time: a loss. */
export const serverSilent = (server: ServerName, waitedMs: number): SpeechError =>
  serverLost(server, new SpeechError('connection-lost', `${server.peer} did not answer within ${waitedMs} ms.`))

/** The message of the server, as the cause of an error: one short line. */
export const refusedBy = ({ peer }: ServerName, what: string, text = ''): SpeechError => {
  const line = /^\s*</.test(text) ? 'a page of HTML' : sanitizePeerText(text)
  return new SpeechError('refused', `${peer} ${what}${line === '' ? '' : `: ${line}`}`)
}

/**
 * How long connecting and the fixed part of an answer may take, in milliseconds. Whisper has half a second of work with
 * any audio, which on a busy machine takes many seconds; a deadline that ends it too early makes the server do it
 * again.
 */
const fixedMs = 20_000
/** How much longer than its audio a reading may take, with one request at a time. */
const maxTimeFactor = 3
/** A server that did nothing for a while may have unloaded its model, and a large one takes a while to load. */
const idleMs = 60_000
const loadMs = 60_000

/** How long a server may take for an answer. Servers read several requests at once on the same processors. */
export class AnswerDeadline {
  #inFlight = 0
  #lastAnswerMs = -Infinity

  get inFlight(): number {
    return this.#inFlight
  }

  /** A request begins; returns its deadline, in milliseconds from now. */
  begin(audioMs: number, nowMs: number): number {
    this.#inFlight += 1
    const isCold = nowMs - this.#lastAnswerMs > idleMs
    return fixedMs + Math.ceil(maxTimeFactor * audioMs * this.#inFlight) + (isCold ? loadMs : 0)
  }

  /** A request ended; `hasAnswer` if the server answered it. */
  end(hasAnswer: boolean, nowMs: number): void {
    this.#inFlight -= 1
    if (hasAnswer) this.#lastAnswerMs = nowMs
  }
}

/** A second of a quiet tone, which no server reads as speech; sent to check the server when its model is opened. */
export const warmUpTone = (sampleRateHz: number): Int16Array =>
  Int16Array.from({ length: sampleRateHz }, (_, at) =>
    Math.round(1000 * Math.sin((2 * Math.PI * 440 * at) / sampleRateHz)),
  )
