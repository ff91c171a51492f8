import { Subject, Subscription } from 'rxjs'
import type { Engine, Hypothesis, RecognizeSettings, SegmentPart } from 'rxspeech-engines/engine'
import { isLoss } from 'rxspeech-engines/segment-retry'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { withoutUndefined } from 'rxspeech-engines/without-undefined'
import type { TraceSpan } from 'rxspeech/internal/tracing/open-telemetry'
import { decodeSamples, type EngineAnswer, type EngineRequest } from './protocol.js'

/** An edge is gone when it has not sent anything for this many ticks of 100 ms; it sends something in each tick. */
const silentTicks = 20
/** Edges have at most 2 s of audio on the way; one that sends more does not keep to the protocol. */
const maxUnreadMs = 4_000

type DecidedSegment = Extract<Hypothesis, { readonly type: 'segment' }>

/** What a segment needs of its host. */
export interface SegmentHost {
  readonly answer: (answer: EngineAnswer) => void
  readonly onFault: (error: unknown) => void
  /** The attempt at this engine, if it is traced. */
  readonly span?: TraceSpan | undefined
  /** The segment has ended and its place is free. Called once; with why, if it was not asked for and no fault says so. */
  readonly ended: (lost: string | undefined) => void
}

/** The start of a segment. */
export interface HostedSegmentStart {
  readonly startMs: number
  readonly settings: RecognizeSettings
  readonly before?: Int16Array | undefined
  /** Whether the edge takes a result in parts. @default false */
  readonly parts?: boolean | undefined
}

/** One segment of an edge, in the engine of this process. */
export class HostedSegment {
  readonly #host: SegmentHost
  readonly #part$ = new Subject<SegmentPart>()
  readonly #subscription = new Subscription()
  readonly #maxUnreadSamples: number
  #receivedSamples = 0
  #readSamples = 0
  #partial: Extract<Hypothesis, { readonly type: 'partial' }> | undefined
  #isAnswerDue = false
  /** A check of all audio so far, and its answer. */
  #check: 'none' | 'asked' | { readonly isComplete: boolean } = 'none'
  readonly #takesParts: boolean
  #decidedSamples = 0
  /** Results of parts for an edge that takes only one. */
  readonly #parts: DecidedSegment[] = []
  #silentTicks = 0
  #isClosed = false
  #isOver = false

  constructor(engine: Engine, { startMs, settings, before, parts = false }: HostedSegmentStart, host: SegmentHost) {
    this.#host = host
    this.#takesParts = parts
    this.#maxUnreadSamples = (engine.capabilities.sampleRateHz * maxUnreadMs) / 1000
    this.#subscription.add(
      this.#part$.pipe(engine.recognize(settings)).subscribe({
        next: (hypothesis) => this.#handle(hypothesis),
        error: (error: unknown) => this.#fail(error),
        complete: () => this.#fail(new SpeechError('engine-failed', 'The engine ended a segment without a result.')),
      }),
    )
    if (this.#isOver) this.#subscription.unsubscribe()
    else {
      this.#host.answer({ t: 'yes' })
      this.#part$.next({ type: 'open', startMs, traceparent: host.span?.traceparent, before })
    }
  }

  receive(request: EngineRequest | undefined): void {
    if (this.#isOver) return
    this.#silentTicks = 0
    if (request === undefined || request.type === 'open' || request.type === 'phrases')
      this.#end({ t: 'lost', why: 'violation' })
    else if (request.type === 'abort') this.#end()
    else if (request.type === 'audio') this.#write(request.from, request.samples)
    else if (request.type === 'check') this.#ask(request.total)
    else if (request.type === 'close') this.#close(request)
    else if (request.sent !== undefined) this.#compare(request.sent)
  }

  tick(): void {
    this.#silentTicks += 1
    if (this.#silentTicks >= silentTicks) this.#end(undefined, 'edge-silent')
  }

  /** Ends it without a result; with an answer, the edge recognizes it elsewhere. */
  abort(lost: string, answer?: EngineAnswer): void {
    this.#end(answer, lost)
  }

  #write(from: number, samples: Int16Array): void {
    // A message of the bus was lost: never recognize audio with a hole.
    if (from !== this.#receivedSamples || this.#isClosed) {
      this.#end({ t: 'lost', why: 'gap' })
      return
    }
    this.#receivedSamples += samples.length
    this.#check = 'none'
    if (this.#receivedSamples - this.#readSamples > this.#maxUnreadSamples) this.#end({ t: 'lost', why: 'violation' })
    else this.#part$.next({ type: 'audio', samples })
  }

  #ask(total: number): void {
    if (total !== this.#receivedSamples || this.#isClosed) this.#end({ t: 'lost', why: 'gap' })
    else {
      this.#check = 'asked'
      this.#part$.next({ type: 'check' })
    }
  }

  /** The edge waits: what it has sent is all here, or a message of the bus was lost; so may have been an answer. */
  #compare({
    total,
    isChecking,
    isClosed,
  }: NonNullable<Extract<EngineRequest, { readonly type: 'ping' }>['sent']>): void {
    const isMissing = isChecking && this.#check === 'none'
    if (total !== this.#receivedSamples || isClosed !== this.#isClosed || isMissing) {
      this.#end({ t: 'lost', why: 'gap' })
      return
    }
    if (isChecking) this.#answerCheck()
    this.#answerSoon()
  }

  #answerCheck(): void {
    if (typeof this.#check === 'string') return
    this.#host.answer({ t: 'checked', ...this.#check, total: this.#receivedSamples })
  }

  #close({ total, endMs, isCut, after }: Extract<EngineRequest, { readonly type: 'close' }>): void {
    if (total !== this.#receivedSamples || this.#isClosed) this.#end({ t: 'lost', why: 'gap' })
    else {
      this.#isClosed = true
      this.#host.span?.event('audio ended')
      this.#part$.next({ type: 'close', endMs, isCut, ...(after !== undefined && { after: decodeSamples(after) }) })
    }
  }

  #handle(hypothesis: Hypothesis): void {
    if (this.#isOver) return
    if (hypothesis.type === 'checked') {
      this.#check = { isComplete: hypothesis.isComplete }
      this.#answerCheck()
      return
    }
    if (hypothesis.type === 'progress') this.#readSamples += hypothesis.sampleCount
    else if (hypothesis.type === 'partial') this.#partial = hypothesis
    else if (hypothesis.type === 'segment' && hypothesis.decidedSamples !== undefined) {
      this.#decidePart(hypothesis, hypothesis.decidedSamples)
    } else if (hypothesis.type === 'segment') {
      this.#decide(this.#parts.length === 0 ? hypothesis : joined([...this.#parts, hypothesis]))
      return
    }
    this.#answerSoon()
  }

  /** A partial from before the result of the part is outdated. */
  #decidePart(part: DecidedSegment, samples: number): void {
    this.#partial = undefined
    if (!this.#takesParts) {
      this.#parts.push(part)
      return
    }
    const from = this.#decidedSamples
    this.#decidedSamples += samples
    this.#host.answer({ t: 'part', from, samples, ...resultOf(part) })
  }

  #decide(segment: DecidedSegment): void {
    const from = this.#decidedSamples
    this.#end({ t: 'decided', ...resultOf(segment), ...(from > 0 && { from }) })
  }

  /** One answer for all outputs of the engine in one turn. */
  #answerSoon(): void {
    if (this.#isAnswerDue) return
    this.#isAnswerDue = true
    queueMicrotask(() => {
      this.#isAnswerDue = false
      if (this.#isOver) return
      const { text: partial, stableLength } = this.#shown()
      this.#partial = undefined
      const at = Math.min(this.#readSamples, this.#receivedSamples)
      this.#host.answer({
        t: 'taken',
        at,
        ...(partial !== undefined && { partial }),
        ...(stableLength !== undefined && { stableLength }),
      })
    })
  }

  /** The text so far, from the begin of what the edge has no result of. */
  #shown(): { readonly text?: string; readonly stableLength?: number | undefined } {
    const partial = this.#partial
    if (partial === undefined || this.#parts.length === 0) return partial ?? {}
    const decided = joined(this.#parts).text
    const text = `${decided} ${partial.text}`.trim()
    return { text, stableLength: text.length - partial.text.length + (partial.stableLength ?? 0) }
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    this.#host.onFault(error)
    this.#host.span?.fail(isSpeechError(error) ? error.code : 'internal')
    this.#end(answerTo(error))
  }

  #end(answer?: EngineAnswer, lost = lostOf(answer)): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#subscription.unsubscribe()
    if (answer?.t === 'lost') this.#host.span?.fail(answer.why)
    else if (answer === undefined) this.#host.span?.event('aborted')
    this.#host.span?.end()
    if (answer !== undefined) this.#host.answer(answer)
    this.#host.ended(lost)
  }
}

/** Why the segment is lost. A failure of the engine is reported as a fault. */
const lostOf = (answer: EngineAnswer | undefined): string | undefined =>
  answer?.t === 'lost' && answer.why !== engineLost.why ? answer.why : undefined

/** The fields that the edge cannot derive. */
const resultOf = ({ type: _type, startMs: _start, endMs: _end, decidedSamples: _count, ...result }: DecidedSegment) =>
  withoutUndefined(result)

/** The results of several parts as one. */
const joined = (parts: readonly DecidedSegment[]): DecidedSegment => {
  const [first] = parts
  const last = parts.at(-1)
  if (first === undefined || last === undefined) throw new RangeError('There is no part.')
  const texts = parts.map(({ text }) => text.trim()).filter((text) => text !== '')
  const rated = parts.flatMap(({ confidence }) => confidence ?? [])
  return {
    ...last,
    startMs: first.startMs,
    text: texts.join(' '),
    words: parts.flatMap(({ words }) => words),
    ...(rated.length > 0 && { confidence: rated.reduce((sum, one) => sum + one, 0) / rated.length }),
  }
}

const engineLost = { t: 'lost', why: 'engine' } as const

/** An engine that is overloaded itself, or lost what it depends on, does not fail the segment. */
const answerTo = (error: unknown): EngineAnswer => {
  if (!isSpeechError(error)) return { t: 'failed' }
  if (error.code === 'overloaded' || isLoss(error)) return engineLost
  return error.retryable ? { t: 'failed' } : { t: 'failed', final: true }
}
