import type { Observable, SchedulerLike, Subscription, Unsubscribable } from 'rxjs'
import { bytesOf } from 'rxspeech/internal/audio/pcm'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { isJsonObject, type JsonObject } from 'rxspeech/internal/protocol/json-object'
import { ownValue, parseJson } from 'rxspeech/internal/protocol/parse-json'
import type { Word } from 'rxspeech/internal/protocol/session-event'
import type { Link, SocketMessage } from 'rxspeech/internal/transport/link'
import { clamp } from '../decoded-words.js'
import type { EngineSegment, SegmentListener } from '../engine.js'
import { FrameCutter } from '../frame-cutter.js'
import { refusedBy, serverFailed, serverLost, serverSilent, type ServerName } from '../recognition-server.js'

/** Exactly so: the server compares it as a string, and takes any other spelling for audio. */
const endOfAudio = '{"eof" : 1}'

/** Frames that the server has and has not answered: with more it does not get faster. */
const maxUnanswered = 10
const answerWithinMs = 10_000

/** What a segment needs of its engine. */
export interface VoskServer {
  readonly name: ServerName
  /** Connects, for one segment. */
  readonly link$: Observable<Link<SocketMessage, SocketMessage>>
  readonly sampleRateHz: number
  readonly scheduler: SchedulerLike
}

const textIn = (object: JsonObject, name: string): string | undefined => {
  const value = ownValue(object, name)
  return typeof value === 'string' ? value.trim() : undefined
}

/** The first of several alternatives, if the server is configured to send them. */
const bestOf = (answer: JsonObject): JsonObject => {
  const alternatives = ownValue(answer, 'alternatives')
  const best: unknown = Array.isArray(alternatives) ? alternatives[0] : undefined
  return isJsonObject(best) ? best : answer
}

/** A word; undefined if it has no time. */
const wordOf = (word: unknown, startMs: number, endMs: number): Word | undefined => {
  if (!isJsonObject(word)) return undefined
  const [text, start, end, conf] = ['word', 'start', 'end', 'conf'].map((name) => ownValue(word, name))
  if (typeof text !== 'string' || typeof start !== 'number' || typeof end !== 'number') return undefined
  const wordStartMs = clamp(startMs + Math.round(start * 1000), startMs, endMs)
  return {
    text,
    startMs: wordStartMs,
    endMs: clamp(startMs + Math.round(end * 1000), wordStartMs, endMs),
    ...(typeof conf === 'number' && { confidence: clamp(conf, 0, 1) }),
  }
}

/**
 * One segment as one stream of a server, which answers each frame of audio in order. Samples count as processed then.
 */
export class VoskSegment implements EngineSegment {
  readonly #server: VoskServer
  readonly #startMs: number
  readonly #listener: SegmentListener
  readonly #cutter: FrameCutter
  /** Frames that are not sent, oldest first. The engine's caller bounds them by `progress`. */
  readonly #frames: Int16Array[] = []
  /** The lengths of the frames without an answer, oldest first; 0 for the end of the audio. */
  readonly #unanswered: number[] = []
  #link: Link<SocketMessage, SocketMessage> | undefined
  #subscription: Subscription | undefined
  #deadline: Unsubscribable | undefined
  #endMs: number | undefined
  #hasEnded = false
  #isOver = false
  #onOver: () => void = () => undefined
  /** The results so far: a stream has one after each pause. */
  readonly #texts: string[] = []
  readonly #words: unknown[] = []
  #isWithoutWords = false
  #partial = ''

  constructor(server: VoskServer, startMs: number, listener: SegmentListener, frameSamples: number) {
    this.#server = server
    this.#startMs = startMs
    this.#listener = listener
    this.#cutter = new FrameCutter(frameSamples, (frame) => {
      this.#frames.push(frame.slice())
      this.#pump()
    })
  }

  /** Connects. Resolves when the segment is over, at once if it was aborted before. */
  run(): Promise<void> {
    if (this.#isOver) return Promise.resolve()
    return new Promise((resolve) => {
      this.#onOver = resolve
      this.#subscription = this.#server.link$.subscribe({
        next: (link) => this.#open(link),
        error: (error: unknown) => this.#fail(serverLost(this.#server.name, error)),
      })
      if (this.#isOver) this.#subscription.unsubscribe()
    })
  }

  write(samples: Int16Array): void {
    if (!this.#isOver) this.#cutter.write(samples)
  }

  close(endMs: number): void {
    if (this.#isOver) return
    this.#cutter.flush()
    this.#endMs = endMs
    this.#pump()
  }

  abort(): void {
    this.#end()
  }

  #open(link: Link<SocketMessage, SocketMessage>): void {
    this.#link = link
    const config = { sample_rate: this.#server.sampleRateHz, words: true, max_alternatives: 0 }
    link.send(JSON.stringify({ config }))
    this.#subscription?.add(
      link.incoming$.subscribe({
        next: (message) => this.#receive(message),
        error: (error: unknown) => this.#fail(serverLost(this.#server.name, error)),
        complete: () => this.#fail(this.#lost()),
      }),
    )
    this.#pump()
  }

  #lost(): SpeechError {
    const { name } = this.#server
    return serverLost(
      name,
      new SpeechError('connection-lost', `${name.peer} closed the connection before its last result.`),
    )
  }

  /** Sends what the server has room for. */
  #pump(): void {
    const link = this.#link
    if (link === undefined || this.#isOver) return
    while (this.#unanswered.length < maxUnanswered) {
      const frame = this.#frames.shift()
      if (frame !== undefined) this.#send(link, bytesOf(frame), frame.length)
      else {
        if (this.#endMs !== undefined && !this.#hasEnded) {
          this.#hasEnded = true
          this.#send(link, endOfAudio, 0)
        }
        return
      }
    }
  }

  #send(link: Link<SocketMessage, SocketMessage>, message: SocketMessage, sampleCount: number): void {
    this.#unanswered.push(sampleCount)
    link.send(message)
    if (this.#unanswered.length === 1) this.#await()
  }

  /** The next answer is due in a while. */
  #await(): void {
    this.#deadline?.unsubscribe()
    const { name, scheduler } = this.#server
    const late = (): void => this.#fail(serverSilent(name, answerWithinMs))
    this.#deadline = schedule(scheduler, answerWithinMs, late, { ref: true })
  }

  #receive(message: SocketMessage): void {
    if (this.#isOver) return
    const answer = typeof message === 'string' ? parseJson(message) : undefined
    const sampleCount = this.#unanswered.shift()
    if (!isJsonObject(answer) || sampleCount === undefined) {
      this.#fail(
        serverFailed(this.#server.name, refusedBy(this.#server.name, 'sent what is no answer of a Vosk server')),
      )
      return
    }
    if (this.#unanswered.length > 0) this.#await()
    else this.#deadline?.unsubscribe()
    const partial = this.#take(answer)
    // Only the end of the audio has no samples.
    if (sampleCount === 0) this.#decide()
    else {
      this.#listener.progress(sampleCount, partial)
      this.#pump()
    }
  }

  /** Keeps a result; returns the text of the segment so far if it changed. */
  #take(answer: JsonObject): string | undefined {
    const best = bestOf(answer)
    const text = textIn(best, 'text')
    if (text !== undefined && text !== '') {
      this.#texts.push(text)
      const words = ownValue(best, 'result')
      if (Array.isArray(words)) this.#words.push(...(words as readonly unknown[]))
      else this.#isWithoutWords = true
    }
    const partial = [...this.#texts, textIn(answer, 'partial') ?? ''].join(' ').trim()
    if (partial === this.#partial) return undefined
    this.#partial = partial
    return partial
  }

  #decide(): void {
    const endMs = this.#endMs ?? this.#startMs
    const words = this.#words.map((word) => wordOf(word, this.#startMs, endMs))
    const isWhole = !this.#isWithoutWords && words.every((word) => word !== undefined)
    if (!this.#end()) return
    this.#listener.decided(isWhole ? words.filter((word) => word !== undefined) : [], { text: this.#texts.join(' ') })
  }

  #fail(error: SpeechError): void {
    if (this.#end()) queueMicrotask(() => this.#listener.failed(error))
  }

  #end(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#frames.length = 0
    this.#deadline?.unsubscribe()
    this.#subscription?.unsubscribe()
    this.#onOver()
    return true
  }
}
