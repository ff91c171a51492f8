import { randomUUID } from 'node:crypto'
import type { ErrorCode } from '../../errors/error-code.js'
import {
  authFailureOf,
  type NodeFailed,
  type NotedFields,
  type ServiceMonitor,
  type SessionFacts,
  type SessionInterface,
  type SessionOutcome,
  type SessionPhase,
  type WireLoss,
} from './service-monitor.js'
import { SpeechTimes, type SpeechMark } from './speech-times.js'
import { Observable } from 'rxjs'
import { isSpeechError } from '../../errors/speech-error.js'

export interface SessionWatchOptions {
  readonly monitor: ServiceMonitor
  readonly interface: SessionInterface
  readonly peer: string
  /** Milliseconds of the wall clock. */
  readonly now: () => number
}

/** What a session runs, once that is granted. */
export interface StartedSession extends Pick<SessionFacts, 'tenant' | 'project' | 'model' | 'recognitionId'> {
  readonly sampleRateHz: number
  /** Samples of one channel that were taken in and not consumed yet. */
  readonly pendingSamples: () => number
}

/** Of a `SpeechError`, as the client is told it. */
export interface SessionError {
  readonly code: ErrorCode
  readonly cause?: unknown
}

interface Stream extends StartedSession {
  /** When the first audio came. */
  firstAtMs: number | undefined
  /** Samples of one channel: all, and those that no account tells of yet. */
  samples: number
  untold: number
}

/**
 * Keeps the account of one session and tells the monitor: what a conversation says here is put together to durations
 * and about one account a second of audio, so a message of audio costs two additions.
 */
export class SessionWatch {
  readonly #monitor: ServiceMonitor
  readonly #now: () => number
  readonly #openedAtMs: number
  readonly #channels = new Map<number, SpeechTimes>()
  #facts: SessionFacts
  #phase: SessionPhase | undefined = 'opened'
  #started = false
  #stream: Stream | undefined
  #audioMs = 0

  constructor({ monitor, interface: by, peer, now }: SessionWatchOptions) {
    this.#monitor = monitor
    this.#now = now
    this.#openedAtMs = now()
    this.#facts = { sessionId: randomUUID(), interface: by, peer }
    monitor.sessionMoved(this.#facts, undefined, 'opened')
  }

  get facts(): SessionFacts {
    return this.#facts
  }

  /** Its token is good. */
  granted(clientId: string): void {
    this.#facts = { ...this.#facts, clientId }
  }

  started(session: StartedSession): void {
    const { sampleRateHz: _rate, pendingSamples: _pending, ...facts } = session
    this.#tellAudio()
    this.#stream = { ...session, firstAtMs: undefined, samples: 0, untold: 0 }
    this.#channels.clear()
    this.#started = true
    this.#facts = { ...this.#facts, ...facts }
    this.#move('running')
    this.#monitor.sessionStarted(this.#facts)
  }

  /** So many samples of each channel came in. */
  audio(sampleCount: number): void {
    const stream = this.#stream
    if (stream === undefined) return
    stream.samples += sampleCount
    stream.untold += sampleCount
    if (stream.firstAtMs === undefined) {
      stream.firstAtMs = this.#now() - (sampleCount * 1000) / stream.sampleRateHz
    } else if (stream.untold >= stream.sampleRateHz) this.#tellAudio()
  }

  heard(mark: SpeechMark, channel: number): void {
    let times = this.#channels.get(channel)
    // Custom nodes may name any channel; sessions have two.
    if (times === undefined && this.#channels.size >= 2) return
    this.#channels.set(channel, (times ??= new SpeechTimes()))
    const afterMs = times.mark(mark, this.#now())
    if (afterMs === undefined) return
    if (mark.type === 'partial') this.#monitor.firstPartial(this.#facts, afterMs)
    else this.#monitor.milestone(this.#facts, afterMs)
  }

  flushing(): void {
    this.#move('flushing')
  }

  /** A recognition is over, and the connection waits for another. */
  rests(): void {
    this.#tellAudio()
    this.#stream = undefined
    this.#move('idle')
  }

  /** The client was told an error, and the session lives on. */
  refused(code: ErrorCode): void {
    this.#monitor.refused(this.#facts.interface, code)
  }

  /** What a node has to say to the operator. */
  noted(node: string, message: string, fields: NotedFields = {}): void {
    this.#monitor.noted(this.#facts, node, message, fields)
  }

  dropped(loss: WireLoss): void {
    this.#monitor.dropped(this.#facts, loss)
  }

  nodeFailed(failure: NodeFailed): void {
    this.#monitor.nodeFailed(this.#facts, failure)
  }

  /** The first call counts; an error's outcome depends on whether the session ever ran. */
  ended(end: Exclude<SessionOutcome, 'refused' | 'failed'> | SessionError): void {
    if (this.#phase === undefined) return
    this.#tellAudio()
    const code = typeof end === 'string' ? undefined : end.code
    if (code !== undefined) this.#monitor.refused(this.#facts.interface, code)
    if (code === 'unauthenticated' && !this.#started) {
      this.#monitor.authFailed(authFailureOf(end), this.#facts.interface, this.#facts.peer)
    }
    this.#move(undefined)
    this.#monitor.sessionEnded(this.#facts, {
      outcome: typeof end === 'string' ? end : this.#started ? 'failed' : 'refused',
      ...(code === undefined ? {} : { code }),
      durationMs: this.#now() - this.#openedAtMs,
      audioMs: Math.round(this.#audioMs),
    })
  }

  #move(to: SessionPhase | undefined): void {
    const from = this.#phase
    if (from === to || from === undefined) return
    this.#phase = to
    this.#monitor.sessionMoved(this.#facts, from, to)
  }

  #tellAudio(): void {
    const stream = this.#stream
    if (stream?.firstAtMs === undefined || stream.untold === 0) return
    const { sampleRateHz, samples, firstAtMs } = stream
    const audioMs = (stream.untold * 1000) / sampleRateHz
    stream.untold = 0
    this.#audioMs += audioMs
    this.#monitor.audio(this.#facts, {
      audioMs,
      lateMs: Math.max(0, this.#now() - firstAtMs - (samples * 1000) / sampleRateHz),
      queuedMs: Math.max(0, (stream.pendingSamples() * 1000) / sampleRateHz),
    })
  }
}

/**
 * The conversation itself; its end is told to the watch, unless that knows of an end by then: completion as `completed`,
 * an error by its code, unsubscription as `cut`.
 */
export const watchConversation =
  (watch: SessionWatch) =>
  <Out>(conversation$: Observable<Out>): Observable<Out> =>
    new Observable((subscriber) => {
      subscriber.add(() => {
        watch.ended('cut')
      })
      subscriber.add(
        conversation$.subscribe({
          next: (message) => {
            subscriber.next(message)
          },
          complete: () => {
            watch.ended('completed')
            subscriber.complete()
          },
          error: (error: unknown) => {
            watch.ended(isSpeechError(error) ? error : { code: 'internal' })
            subscriber.error(error)
          },
        }),
      )
    })
