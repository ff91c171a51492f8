import { randomUUID } from 'node:crypto'
import { Observable } from 'rxjs'
import type { SoundWarning } from 'rxspeech/internal/audio/sound-check/sound-warning'
import type { ErrorCode } from 'rxspeech/internal/errors/error-table'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { type OpenTelemetry, type SpanAttributes, type TraceSpan } from 'rxspeech/internal/tracing/open-telemetry'
import { beginRemoteSpan, parseTraceparent } from './remote-span.js'
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

export interface SessionWatchOptions {
  /** @default a new one */
  readonly sessionId?: string | undefined
  readonly monitor: ServiceMonitor
  readonly interface: SessionInterface
  readonly peer: string
  /** The wall clock, in milliseconds. */
  readonly now: () => number
  /** @default the session is not traced */
  readonly openTelemetry?: OpenTelemetry | undefined
  /** The header of the client. @default none */
  readonly traceparent?: string | undefined
}

/** What was granted at the start of a session. */
export interface StartedSession extends Pick<
  SessionFacts,
  'tenant' | 'project' | 'model' | 'modelVersion' | 'recognitionId'
> {
  readonly sampleRateHz: number
  /** Samples of one channel that were received and not yet consumed. */
  readonly pendingSamples: () => number
}

/** The part of a `SpeechError` that counts here. */
export interface SessionError {
  readonly code: ErrorCode
  readonly cause?: unknown
}

interface Stream extends StartedSession {
  /** When the first audio began. */
  firstAtMs: number | undefined
  /** Samples of one channel: all, and those that were not reported yet. */
  samples: number
  unreported: number
}

/**
 * Observes one session for the monitor: turns its moments into durations and reports audio about once per second of
 * audio, so that an audio message costs two additions.
 */
export class SessionWatch {
  readonly #monitor: ServiceMonitor
  readonly #now: () => number
  readonly #openedAtMs: number
  readonly #channels = new Map<number, SpeechTimes>()
  #facts: SessionFacts
  #phase: SessionPhase | undefined = 'opened'
  #hasStarted = false
  #stream: Stream | undefined
  #audioMs = 0
  readonly #tracing: Pick<SessionWatchOptions, 'openTelemetry' | 'traceparent'>
  #span: TraceSpan | undefined

  constructor({ sessionId, monitor, interface: by, peer, now, openTelemetry, traceparent }: SessionWatchOptions) {
    this.#tracing = { openTelemetry, traceparent }
    this.#monitor = monitor
    this.#now = now
    this.#openedAtMs = now()
    this.#facts = { sessionId: sessionId ?? randomUUID(), interface: by, peer }
    monitor.sessionMoved(this.#facts, undefined, 'opened')
  }

  get facts(): SessionFacts {
    return this.#facts
  }

  /** Of this connection, or of all of a session whose client is traced. Clients present it again when they resume. */
  get key(): string {
    return parseTraceparent(this.#tracing.traceparent)?.traceId ?? this.#facts.sessionId
  }

  /** The span of the session, if it is traced. */
  get span(): TraceSpan | undefined {
    return this.#span
  }

  /** The token was accepted. Strangers cause no spans. */
  granted(clientId: string | undefined): void {
    if (clientId !== undefined) this.#facts = { ...this.#facts, clientId }
    const { openTelemetry, traceparent } = this.#tracing
    this.#span =
      openTelemetry && beginRemoteSpan(openTelemetry, traceparent, { name: 'rxspeech.serve', kind: 'server' })
    if (this.#span !== undefined) this.#facts = { ...this.#facts, traceId: this.#span.traceId }
  }

  started(session: StartedSession): void {
    const { sampleRateHz: _rate, pendingSamples: _pending, ...facts } = session
    this.#reportAudio()
    this.#stream = { firstAtMs: undefined, samples: 0, unreported: 0, ...session }
    this.#channels.clear()
    this.#hasStarted = true
    this.#facts = { ...this.#facts, ...facts }
    this.#move('running')
    this.#span?.set(attributesOf(this.#facts))
    this.#monitor.sessionStarted(this.#facts)
  }

  /** Audio arrived: `sampleCount` samples of each channel. */
  audio(sampleCount: number): void {
    const stream = this.#stream
    if (stream === undefined) return
    stream.samples += sampleCount
    stream.unreported += sampleCount
    if (stream.firstAtMs === undefined) {
      stream.firstAtMs = this.#now() - (sampleCount * 1000) / stream.sampleRateHz
    } else if (stream.unreported >= stream.sampleRateHz) this.#reportAudio()
  }

  /** An event of a channel's speech was sent. */
  speechMark(mark: SpeechMark, channel: number): void {
    let times = this.#channels.get(channel)
    // Custom nodes can name any channel; sessions have at most two.
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

  /** A recognition has ended, and the connection waits for the next. */
  idle(): void {
    this.#reportAudio()
    this.#stream = undefined
    this.#move('idle')
  }

  /** An error was sent to the client, and the session continues. */
  refused(code: ErrorCode): void {
    this.#span?.event('refused', { 'error.type': code })
    this.#monitor.refused(this.#facts.interface, code)
  }

  /** The session was refused a model that it may have. */
  startRefused(...args: Parameters<NonNullable<ServiceMonitor['startRefused']>>): void {
    this.#monitor.startRefused?.(...args)
  }

  /** A message of a node for the operator. */
  noted(node: string, message: string, fields: NotedFields = {}): void {
    this.#monitor.noted(this.#facts, node, message, fields)
  }

  /** A fault of the audio was reported to the client. */
  audioWarning({ kind, found, channel, isOver }: SoundWarning): void {
    if (isOver) return
    this.#monitor.audioWarning(this.#facts, { kind, found, channel })
  }

  dropped(loss: WireLoss): void {
    this.#monitor.dropped(this.#facts, loss)
  }

  nodeFailed(failure: NodeFailed): void {
    this.#monitor.nodeFailed(this.#facts, failure)
  }

  /**
   * Only the first call counts. An error means `failed` if the session has run, otherwise `refused`; `going-away` means
   * that the service closes, which is no failure of a session that has run.
   */
  ended(end: Exclude<SessionOutcome, 'refused' | 'failed'> | SessionError): void {
    if (this.#phase === undefined) return
    this.#reportAudio()
    if (typeof end !== 'string' && end.code === 'going-away' && this.#hasStarted) {
      this.ended('drained')
      return
    }
    const code = typeof end === 'string' ? undefined : end.code
    if (code !== undefined) this.#monitor.refused(this.#facts.interface, code)
    if (code === 'unauthenticated' && !this.#hasStarted) {
      this.#monitor.authFailed(authFailureOf(end), this.#facts.interface, this.#facts.peer)
    }
    this.#move(undefined)
    const outcome = typeof end === 'string' ? end : this.#hasStarted ? 'failed' : 'refused'
    const audioMs = Math.round(this.#audioMs)
    this.#monitor.sessionEnded(this.#facts, { outcome, code, durationMs: this.#now() - this.#openedAtMs, audioMs })
    if (code !== undefined) this.#span?.fail(code)
    this.#span?.set({ 'rxspeech.outcome': outcome, 'rxspeech.audio_ms': audioMs })
    this.#span?.end()
  }

  #move(to: SessionPhase | undefined): void {
    const from = this.#phase
    if (from === to || from === undefined) return
    this.#phase = to
    this.#monitor.sessionMoved(this.#facts, from, to)
  }

  #reportAudio(): void {
    const stream = this.#stream
    if (stream?.firstAtMs === undefined || stream.unreported === 0) return
    const { sampleRateHz, samples, firstAtMs } = stream
    const audioMs = (stream.unreported * 1000) / sampleRateHz
    stream.unreported = 0
    this.#audioMs += audioMs
    this.#monitor.audio(this.#facts, {
      audioMs,
      lateMs: Math.max(0, this.#now() - firstAtMs - (samples * 1000) / sampleRateHz),
      queuedMs: Math.max(0, (stream.pendingSamples() * 1000) / sampleRateHz),
    })
  }
}

/** The facts that a trace shows; they find the session in the log, which has the rest. */
const attributesOf = ({ sessionId, interface: by, tenant, project, model }: SessionFacts): SpanAttributes => ({
  'rxspeech.session_id': sessionId,
  'rxspeech.interface': by,
  ...(tenant !== undefined && { 'rxspeech.tenant': tenant }),
  ...(project !== undefined && { 'rxspeech.project': project }),
  ...(model !== undefined && { 'rxspeech.model': model }),
})

/**
 * Reports the end of a session to the watch, unless the session has reported one: completion as `completed`, an error
 * with its code, unsubscription as `cut`.
 */
export const watchConversation =
  (watch: SessionWatch) =>
  <Out>(output$: Observable<Out>): Observable<Out> =>
    new Observable((subscriber) => {
      subscriber.add(() => {
        watch.ended('cut')
      })
      subscriber.add(
        output$.subscribe({
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

/** A moment of speech: its place in the audio, and when it was detected. */
interface Detection {
  readonly audioMs: number
  readonly atMs: number
}

/** Bounds the memory of a channel without results. */
const maxUnanswered = 64

/** An event of a channel's speech; times are milliseconds of audio. */
export interface SpeechMark {
  readonly type: 'speech-started' | 'speech-ended' | 'partial' | 'milestone'
  readonly startMs: number
  readonly endMs: number
}

/** Measures how long the results of one channel take. Segments are identified by their place in the audio. */
export class SpeechTimes {
  #started: Detection[] = []
  #ended: Detection[] = []

  /** Records an event at `atMs` of the wall clock. Returns the delay of a segment's first partial or milestone. */
  mark({ type, startMs, endMs }: SpeechMark, atMs: number): number | undefined {
    switch (type) {
      case 'speech-started':
        this.#started = [...this.#started.slice(1 - maxUnanswered), { audioMs: startMs, atMs }]
        return undefined
      case 'speech-ended':
        this.#ended = [...this.#ended.slice(1 - maxUnanswered), { audioMs: endMs, atMs }]
        return undefined
      case 'partial': {
        const found = this.#started.findLast(({ audioMs }) => audioMs <= startMs)
        this.#started = this.#started.filter(({ audioMs }) => audioMs > startMs)
        return found && atMs - found.atMs
      }
      case 'milestone': {
        const found = this.#ended.findLast(({ audioMs }) => audioMs <= endMs)
        this.#ended = this.#ended.filter(({ audioMs }) => audioMs > endMs)
        this.#started = this.#started.filter(({ audioMs }) => audioMs >= endMs)
        return found && atMs - found.atMs
      }
    }
  }
}
