import { Subject, Subscription } from 'rxjs'
import { isSpeechError, SpeechError } from '../../../errors/speech-error.js'
import type { TraceSpan } from '../../../tracing/open-telemetry.js'
import type { Engine, Hypothesis, RecognizeSettings, SegmentPart } from '../engine.js'
import { isLoss } from '../segment-retry.js'
import type { EngineAnswer, EngineRequest } from './protocol.js'

/** An edge is gone when it has not sent anything for this many ticks of 100 ms; it sends something in each tick. */
const silentTicks = 20
/** Edges have at most 2 s of audio on the way; one that sends more does not keep to the protocol. */
const maxUnreadMs = 4_000

/** What a segment needs of its host. */
export interface SegmentHost {
  readonly answer: (answer: EngineAnswer) => void
  readonly onFault: (error: unknown) => void
  /** The attempt at this engine, if it is traced. */
  readonly span?: TraceSpan | undefined
  /** The segment has ended and its place is free. Called once. */
  readonly ended: () => void
}

/** The start of a segment. */
export interface HostedSegmentStart {
  readonly startMs: number
  readonly settings: RecognizeSettings
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
  #silentTicks = 0
  #isClosed = false
  #isOver = false

  constructor(engine: Engine, { startMs, settings }: HostedSegmentStart, host: SegmentHost) {
    this.#host = host
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
      this.#part$.next({ type: 'open', startMs, traceparent: host.span?.traceparent })
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
    if (this.#silentTicks >= silentTicks) this.#end()
  }

  /** Ends it without a result; the edge recognizes it elsewhere if it is told so. */
  abort(answer?: EngineAnswer): void {
    this.#end(answer)
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

  #close({ total, endMs, isCut }: Extract<EngineRequest, { readonly type: 'close' }>): void {
    if (total !== this.#receivedSamples || this.#isClosed) this.#end({ t: 'lost', why: 'gap' })
    else {
      this.#isClosed = true
      this.#host.span?.event('audio ended')
      this.#part$.next({ type: 'close', endMs, isCut })
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
    else if (hypothesis.type === 'segment') {
      const { text, words, confidence, slots, isIncomplete } = hypothesis
      this.#end({
        t: 'decided',
        text,
        words,
        ...(confidence !== undefined && { confidence }),
        ...(slots && { slots }),
        ...(isIncomplete && { isIncomplete }),
      })
      return
    }
    this.#answerSoon()
  }

  /** One answer for all that the engine says in one turn. */
  #answerSoon(): void {
    if (this.#isAnswerDue) return
    this.#isAnswerDue = true
    queueMicrotask(() => {
      this.#isAnswerDue = false
      if (this.#isOver) return
      const { text: partial, stableLength } = this.#partial ?? {}
      this.#partial = undefined
      const at = Math.min(this.#readSamples, this.#receivedSamples)
      this.#host.answer({
        ...{ t: 'taken', at },
        ...(partial !== undefined && { partial }),
        ...(stableLength !== undefined && { stableLength }),
      })
    })
  }

  #fail(error: unknown): void {
    if (this.#isOver) return
    this.#host.onFault(error)
    this.#host.span?.fail(isSpeechError(error) ? error.code : 'internal')
    this.#end(answerTo(error))
  }

  #end(answer?: EngineAnswer): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#subscription.unsubscribe()
    if (answer?.t === 'lost') this.#host.span?.fail(answer.why)
    else if (answer === undefined) this.#host.span?.event('aborted')
    this.#host.span?.end()
    if (answer !== undefined) this.#host.answer(answer)
    this.#host.ended()
  }
}

/** An engine that is overloaded itself, or lost what it depends on, does not fail the segment. */
const answerTo = (error: unknown): EngineAnswer => {
  if (!isSpeechError(error)) return { t: 'failed' }
  if (error.code === 'overloaded' || isLoss(error)) return { t: 'lost', why: 'engine' }
  return error.retryable ? { t: 'failed' } : { t: 'failed', final: true }
}
