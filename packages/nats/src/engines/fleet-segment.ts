import type { EngineSegment, RecognizeSettings, SegmentAttempt, SegmentListener } from 'rxspeech-engines/engine'
import { FrameCutter } from 'rxspeech-engines/frame-cutter'
import type { SegmentLoss as LossCause } from 'rxspeech-server/operations/nats-use'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { engineParameters, pickParameters } from 'rxspeech/internal/protocol/recognition-parameters'
import {
  encodeSamples,
  loggedSession,
  phrasesVersion,
  protocolVersion,
  type EngineAnswer,
  type EngineRequest,
  type ProcessAddress,
} from './protocol.js'
import type { WantedModel } from './placement.js'
import { tickMs } from './roster.js'

/** Maximum audio that is sent and not yet read by the engine; the rest waits here. */
const windowMs = 2_000
const hopMs = 100
/** Ticks of 100 ms until an opening that was not answered is tried at another engine. */
const openTicks = 5
/**
 * The maximum time without progress with a segment, plus twice the duration of its audio: an engine that begins when it
 * has all of it needs about that duration. The workers of an engine have the same 10 s.
 */
const maxStallMs = 10_000
/** The maximum time without progress of an engine that works but is behind, while no other one is faster. */
const maxSlowMs = 60_000
/** The same before its first progress: it may have a queue, because its places are for all of its models. */
const maxQueueMs = 30_000
/**
 * A segment waits this long for an engine to appear; it waits without a limit while there are engines, but no free one.
 */
const maxTicksWithoutEngine = 150
/** It waits as long for one that answers. Attempts that are further apart do not count together. */
const maxTicksBetweenAttempts = 20

/** What a segment needs of its fleet. */
export interface SegmentFleet {
  /** Sends to an engine, with the attempt as the reply. Returns false while the bus is down. */
  readonly send: (engine: ProcessAddress, attempt: number, request: EngineRequest) => boolean
  /** Puts the segment in the line for a free place. */
  readonly queue: (segment: FleetSegment) => void
  /** The attempt is over, whatever its result. Its place is free if it was that of `freed`. */
  readonly release: (attempt: number, freed?: ProcessAddress) => void
  /** The segment neither has nor needs a place. */
  readonly leave: (segment: FleetSegment) => void
  readonly onLost: (cause: LossCause) => void
  /** The engine did not answer, or cannot be asked; another one is tried. */
  readonly onUntaken: (segment: FleetSegment, engine: ProcessAddress, cause: LossCause) => void
  readonly onDecided: (engine: ProcessAddress) => void
  /** The engine accepted it and did not decide it, or it did not answer; for how many ticks it was waited for. */
  readonly onFailed: (engine: ProcessAddress, afterTicks?: number) => void
  /** The engine has no place for it. */
  readonly onFull: (engine: ProcessAddress) => void
  /** Whether the engine is behind, and works. */
  readonly isSlow: (engine: ProcessAddress) => boolean
  /** Whether another engine could begin with the segment now, and has clearly less lag. */
  readonly hasFaster: (model: WantedModel, engine: ProcessAddress) => boolean
}

/** The start of a segment. */
export interface FleetSegmentStart {
  /** Greater than that of every segment before it. */
  readonly arrival: number
  readonly startMs: number
  readonly settings: RecognizeSettings
  readonly traceparent?: string | undefined
  readonly before?: Int16Array | undefined
  /** How often the segment was begun. @default 1 */
  readonly attempt?: number | undefined
}

/** An attempt at one engine. */
interface Attempt {
  readonly number: number
  readonly engine: ProcessAddress
  isOpen: boolean
  sentSamples: number
  takenSamples: number
  decidedSamples: number
  isClosed: boolean
  readonly canCheck: boolean
  ticksSinceSent: number
  ticksSinceOpened: number
  /** For how long the engine has owed an answer without any progress. */
  stalledTicks: number
  hasProgress: boolean
  partial: string | undefined
}

type State =
  | { readonly type: 'waiting'; ticksWithoutEngine: number }
  | { readonly type: 'attempting'; readonly attempt: Attempt }
  | { readonly type: 'over' }

/**
 * One segment at engines of a fleet: it waits for a free place, opens there, and sends its audio in hops. Until an
 * engine has accepted it nothing is sent, so it can go to another one. Once it is accepted, the loss of the engine
 * fails the segment; the retry around all engines has its audio.
 */
export class FleetSegment implements EngineSegment {
  readonly model: WantedModel
  readonly arrival: number
  /** For the log. */
  readonly attempt: SegmentAttempt
  /** Engines that had no place for it since it last waited in line. */
  readonly tried = new Set<string>()
  readonly #settings: RecognizeSettings
  readonly #traceparent: string | undefined
  readonly #before: Int16Array | undefined
  #after: Int16Array | undefined
  readonly #listener: SegmentListener
  readonly #fleet: SegmentFleet
  readonly #cutter: FrameCutter
  readonly #windowSamples: number
  /** Hops that were not sent, oldest first. The caller bounds them by `progress`. */
  readonly #hops: Int16Array[] = []
  /** Whether a check waits for the audio before it, or for its answer. */
  #check: 'none' | 'due' | 'sent' = 'none'
  #endMs: number | undefined
  #isCut = false
  #ticks = 0
  /** Attempts that no engine has answered: when the first of them failed, and the last. */
  #unanswered: { readonly sinceTick: number; readonly lastTick: number } | undefined
  #state: State = { type: 'waiting', ticksWithoutEngine: 0 }

  constructor(
    model: WantedModel,
    { arrival, startMs, settings, traceparent, before, attempt = 1 }: FleetSegmentStart,
    listener: SegmentListener,
    fleet: SegmentFleet,
  ) {
    this.model = model
    this.arrival = arrival
    this.attempt = { sessionId: loggedSession(settings.sessionId), startMs, attempt }
    this.#settings = settings
    this.#traceparent = traceparent
    this.#before = before
    this.#listener = listener
    this.#fleet = fleet
    this.#windowSamples = (model.sampleRateHz * windowMs) / 1000
    this.#cutter = new FrameCutter((model.sampleRateHz * hopMs) / 1000, (frame) => this.#hops.push(frame.slice()))
  }

  write(samples: Int16Array): void {
    if (this.#state.type === 'over') return
    this.#cutter.write(samples)
    this.#pump()
  }

  check(): void {
    if (this.#state.type === 'over') return
    this.#check = 'due'
    this.#pump()
  }

  close(endMs: number, isCut = false, after?: Int16Array): void {
    if (this.#state.type === 'over') return
    this.#cutter.flush()
    this.#endMs = endMs
    this.#after = after
    this.#isCut = isCut
    this.#pump()
  }

  abort(): void {
    this.#end('abort')
  }

  /** Ends it if it has no place. */
  refuseWaiting(): void {
    if (this.#state.type !== 'waiting') return
    this.#fail(new SpeechError('overloaded', 'There is no place to spare for a segment of a challenger.'))
  }

  /**
   * An engine may have a place: opens there, under a number that was never used. One of an older version that cannot
   * check counts as one whose sentences can always continue.
   */
  open(engine: ProcessAddress, number: number, canCheck: boolean): void {
    if (this.#state.type !== 'waiting') return
    const attempt = {
      number,
      engine,
      canCheck,
      isOpen: false,
      sentSamples: 0,
      takenSamples: 0,
      decidedSamples: 0,
      isClosed: false,
      ticksSinceSent: 0,
      ticksSinceOpened: 0,
      stalledTicks: 0,
      hasProgress: false,
      partial: undefined,
    }
    this.#state = { type: 'attempting', attempt }
    const traceparent = this.#traceparent
    const { sessionId: session, startMs, attempt: count } = this.attempt
    const settings = pickParameters(engineParameters, this.#settings)
    this.#send(attempt, {
      type: 'open',
      model: this.model.label,
      startMs,
      v: settings.phrases === undefined ? protocolVersion : phrasesVersion,
      ...settings,
      ...(traceparent !== undefined && { traceparent }),
      ...(session !== undefined && { session, attempt: count }),
      ...(this.#before && { before: encodeSamples(this.#before) }),
      parts: true,
    })
  }

  /**
   * An answer to its attempt; `gone` if no process receives what is sent to the engine, undefined if it cannot be read.
   */
  receive(answer: EngineAnswer | 'gone' | undefined): void {
    if (this.#state.type !== 'attempting') return
    const { attempt } = this.#state
    if (answer === 'gone') this.#loseAttempt(attempt, 'gone')
    else if (answer === undefined) this.#lose('violation')
    else this.#handle(attempt, answer)
  }

  /** The engine is lost, or the bus is down. Returns whether the segment was there. */
  lost(engine: ProcessAddress | undefined, cause: LossCause): boolean {
    if (this.#state.type !== 'attempting') return false
    const { attempt } = this.#state
    if (engine !== undefined && attempt.engine.instance !== engine.instance) return false
    this.#loseAttempt(attempt, cause)
    return true
  }

  /** @param hasEngine whether there is an engine for it at all */
  tick(hasEngine: boolean): void {
    const state = this.#state
    this.#ticks += 1
    if (state.type === 'waiting') {
      state.ticksWithoutEngine = hasEngine ? 0 : state.ticksWithoutEngine + 1
      if (state.ticksWithoutEngine > maxTicksWithoutEngine) this.#lose('gone')
    } else if (state.type === 'attempting') this.#tickAttempt(state.attempt)
  }

  #tickAttempt(attempt: Attempt): void {
    attempt.ticksSinceOpened += 1
    attempt.ticksSinceSent += 1
    if (!attempt.isOpen && attempt.ticksSinceOpened >= openTicks) {
      this.#fleet.send(attempt.engine, attempt.number, { type: 'abort' })
      this.#loseAttempt(attempt, 'unanswered')
      return
    }
    const cause = this.#stallOf(attempt)
    if (cause !== undefined) this.#lose(cause)
    else if (attempt.ticksSinceSent > 1) {
      const { sentSamples: total, isClosed } = attempt
      this.#send(attempt, { type: 'ping', sent: { total, isChecking: this.#check === 'sent', isClosed } })
    }
  }

  /**
   * The engine has accepted the segment and answers pings, which is no progress. Audio that is held back waits for it
   * too. One that is slow would be as slow elsewhere, and busier with it, unless another engine has clearly less lag.
   */
  #stallOf(attempt: Attempt): 'stalled' | 'slow' | undefined {
    const isAwaited = attempt.isClosed || this.#check === 'sent' || this.#hops.length > 0
    attempt.stalledTicks = attempt.isOpen && isAwaited ? attempt.stalledTicks + 1 : 0
    const audioMs = (attempt.sentSamples * 1000) / this.model.sampleRateHz
    const waitedMs = attempt.stalledTicks * tickMs - 2 * audioMs
    if (waitedMs <= (attempt.hasProgress ? maxStallMs : maxQueueMs)) return undefined
    if (waitedMs > maxSlowMs || !this.#fleet.isSlow(attempt.engine)) return 'stalled'
    return this.#fleet.hasFaster(this.model, attempt.engine) ? 'slow' : undefined
  }

  #handle(attempt: Attempt, answer: EngineAnswer): void {
    switch (answer.t) {
      case 'yes':
        attempt.isOpen = true
        this.#pump()
        return
      case 'full':
        if (attempt.isOpen) this.#lose('violation')
        else {
          this.#unanswered = undefined
          this.#fleet.onFull(attempt.engine)
          this.#tryAnother(attempt)
        }
        return
      case 'taken':
        this.#take(attempt, answer)
        return
      case 'checked':
        // One that came twice may be of an earlier check.
        if ((answer.total ?? attempt.sentSamples) === attempt.sentSamples) this.#answerCheck(answer.isComplete)
        progressed(attempt)
        return
      case 'part':
        this.#takePart(attempt, answer)
        return
      case 'decided':
        if (!attempt.isClosed) this.#lose('violation')
        // The result of a part was lost on the way.
        else if ((answer.from ?? 0) !== attempt.decidedSamples) this.#lose('gap')
        else if (this.#end('decided')) {
          this.#fleet.onDecided(attempt.engine)
          const { t: _type, from: _from, words, ...text } = answer
          this.#listener.decided(words, text)
        }
        return
      case 'phrases':
        this.#lose('violation')
        return
      case 'failed':
        this.#fleet.onFailed(attempt.engine)
        this.#fail(engineFailed({ retryable: answer.final !== true, cause: undecoded(attempt.engine) }))
        return
      case 'lost':
        this.#loseAttempt(attempt, answer.why === 'gap' ? 'gap' : 'gone')
    }
  }

  /** Answers are cumulative, so one that was lost or doubled does no harm. */
  #take(attempt: Attempt, answer: Extract<EngineAnswer, { readonly t: 'taken' }>): void {
    const { at, partial, stableLength } = answer
    if (at > attempt.sentSamples) {
      this.#lose('violation')
      return
    }
    const sampleCount = Math.max(at - attempt.takenSamples, 0)
    attempt.takenSamples += sampleCount
    if (sampleCount > 0 || (partial ?? attempt.partial) !== attempt.partial) progressed(attempt)
    attempt.partial = partial ?? attempt.partial
    this.#listener.progress(sampleCount, partial, stableLength)
    this.#pump()
  }

  #takePart(attempt: Attempt, part: Extract<EngineAnswer, { readonly t: 'part' }>): void {
    const { t: _type, from, samples, words, ...text } = part
    if (from + samples > attempt.sentSamples) this.#lose('violation')
    else if (from > attempt.decidedSamples) this.#lose('gap')
    // One that came twice.
    else if (from === attempt.decidedSamples) {
      attempt.decidedSamples += samples
      attempt.partial = undefined
      progressed(attempt)
      this.#listener.decidedPart(samples, words, text)
    }
  }

  /** Sends as much as the window permits, and the end after the last hop. */
  #pump(): void {
    while (this.#state.type === 'attempting' && this.#state.attempt.isOpen) {
      const { attempt } = this.#state
      const hop = this.#hops[0]
      if (hop === undefined) {
        this.#sendCheck(attempt)
        this.#sendEnd(attempt)
        return
      }
      if (attempt.sentSamples - attempt.takenSamples + hop.length > this.#windowSamples) return
      this.#hops.shift()
      const from = attempt.sentSamples
      attempt.sentSamples += hop.length
      this.#send(attempt, { type: 'audio', from, samples: hop })
    }
  }

  #sendCheck(attempt: Attempt): void {
    if (this.#check !== 'due') return
    this.#check = 'sent'
    if (attempt.canCheck) this.#send(attempt, { type: 'check', total: attempt.sentSamples })
    else this.#answerCheck(false)
  }

  #answerCheck(isComplete: boolean): void {
    if (this.#check !== 'sent') return
    this.#check = 'none'
    this.#listener.checked(isComplete)
  }

  #sendEnd(attempt: Attempt): void {
    if (this.#endMs === undefined || attempt.isClosed) return
    attempt.isClosed = true
    this.#send(attempt, {
      type: 'close',
      total: attempt.sentSamples,
      endMs: this.#endMs,
      isCut: this.#isCut,
      ...(this.#after && { after: encodeSamples(this.#after) }),
    })
  }

  #send(attempt: Attempt, request: EngineRequest): void {
    attempt.ticksSinceSent = 0
    if (!this.#fleet.send(attempt.engine, attempt.number, request)) this.#loseAttempt(attempt, 'bus')
  }

  /** An engine that was lost before it accepted the segment costs nothing, unless none answers at all. */
  #loseAttempt(attempt: Attempt, cause: LossCause): void {
    if (attempt.isOpen || this.#isUnanswered()) this.#lose(cause)
    else {
      if (cause === 'refused' || cause === 'unanswered') this.#fleet.onUntaken(this, attempt.engine, cause)
      if (cause !== 'bus') this.#fleet.onFailed(attempt.engine)
      this.#tryAnother(attempt)
    }
  }

  /** Counts an attempt that was not answered. Returns whether that has been so for too long. */
  #isUnanswered(): boolean {
    const { sinceTick, lastTick } = this.#unanswered ?? { sinceTick: this.#ticks, lastTick: this.#ticks }
    const isNext = this.#ticks - lastTick <= maxTicksBetweenAttempts
    this.#unanswered = { sinceTick: isNext ? sinceTick : this.#ticks, lastTick: this.#ticks }
    return this.#ticks - this.#unanswered.sinceTick > maxTicksWithoutEngine
  }

  #tryAnother({ number, engine }: Attempt): void {
    this.tried.add(engine.instance)
    this.#fleet.release(number)
    this.#state = { type: 'waiting', ticksWithoutEngine: 0 }
    if (this.model.isSpare === true) this.refuseWaiting()
    else this.#fleet.queue(this)
  }

  #lose(cause: LossCause): void {
    this.#fleet.onLost(cause)
    const attempt = this.#state.type === 'attempting' ? this.#state.attempt : undefined
    const engine = attempt?.engine
    if (attempt !== undefined && cause !== 'bus' && cause !== 'slow')
      this.#fleet.onFailed(attempt.engine, attempt.stalledTicks)
    const sentence = engine ? lossSentence(engine, cause) : 'There is no engine process for this model.'
    // One that is stalled or slow is there; the segment is retried as after a failure of the decoder.
    const code = cause === 'stalled' || cause === 'slow' ? 'engine-failed' : 'connection-lost'
    this.#fail(engineFailed({ cause: new SpeechError(code, sentence) }))
  }

  #fail(error: SpeechError): void {
    if (this.#end('abort')) this.#listener.failed(error)
  }

  /** Frees the place, unless the engine has done so itself. Returns whether this was the end. */
  #end(how: 'decided' | 'abort'): boolean {
    const state = this.#state
    if (state.type === 'over') return false
    this.#state = { type: 'over' }
    this.#hops.length = 0
    if (state.type === 'attempting') {
      const { engine, number } = state.attempt
      if (how === 'abort') this.#fleet.send(engine, number, { type: 'abort' })
      this.#fleet.release(number, engine)
    }
    this.#fleet.leave(this)
    return true
  }
}

const progressed = (attempt: Attempt): void => {
  attempt.hasProgress = true
  attempt.stalledTicks = 0
}

const lossSentence = ({ name, instance }: ProcessAddress, cause: LossCause): string => {
  const engine = `${name} (${instance})`
  switch (cause) {
    case 'gone':
      return `The engine process ${engine} ended, or gave the segment back.`
    case 'silent':
      return `The engine process ${engine} has been silent for a second.`
    case 'bus':
      return 'The connection to NATS was lost.'
    case 'gap':
      return `The engine process ${engine} missed a part of the audio.`
    case 'unanswered':
      return `The engine process ${engine} did not answer.`
    case 'stalled':
      return `The engine process ${engine} accepted the segment, but made no progress.`
    case 'slow':
      return `The engine process ${engine} accepted the segment, but is behind; another one is not.`
    case 'violation':
      return `The engine process ${engine} broke the protocol.`
    case 'refused':
      return `The NATS server does not allow this service to send to the engine process ${engine}.`
  }
}

/** Without the code of a loss, so that it is retried as a failure of the decoder. */
const undecoded = ({ name, instance }: ProcessAddress): SpeechError =>
  new SpeechError(
    'engine-failed',
    `The engine process ${name} (${instance}) could not decode the segment; its log says why.`,
  )

const engineFailed = (options: { readonly cause?: SpeechError; readonly retryable?: boolean }): SpeechError =>
  new SpeechError('engine-failed', 'The recognition engine failed; try again.', options)
