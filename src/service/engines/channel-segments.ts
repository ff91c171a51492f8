import { Observable, takeWhile, type OperatorFunction } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { Word } from '../../protocol/session-event.js'
import type { Hypothesis, SegmentPart } from './engine.js'

/** A segment's text, and how sure the engine is of it, 0 to 1. */
export interface DecidedWhole {
  readonly text: string
  readonly confidence?: number
}

/** What becomes of a segment; nothing follows `decided`, `failed` or an abort. */
export interface SegmentListener {
  readonly taken: (sampleCount: number, partial: string | undefined) => void
  /** `whole` where the engine gives no words, or more than they say. */
  readonly decided: (words: readonly Word[], whole?: DecidedWhole) => void
  readonly failed: (error: SpeechError) => void
}

/** One segment on its way through an engine, from its opening on. */
export interface LaneSegment {
  write(samples: Int16Array): void
  close(endMs: number): void
  /** Gives back all that it held, at any time; does nothing once it is decided. */
  abort(): void
}

/** Where segments are opened: the decoders of an engine. The listener is not called before it returns. */
export type OpenSegment = (startMs: number, listener: SegmentListener) => LaneSegment

export interface SegmentLaneOptions {
  readonly openSegment: OpenSegment
  readonly sampleRateHz: number
  /** Takes an error that ends the lane; gives what takes it back. */
  readonly onClose: (fail: (error: SpeechError) => void) => () => void
}

type State =
  | { readonly type: 'idle' }
  | { readonly type: 'open'; readonly startMs: number; readonly segment: LaneSegment; sampleCount: number }
  /** Closed, its answer awaited; what comes meanwhile belongs to the next and waits. */
  | {
      readonly type: 'deciding'
      readonly startMs: number
      readonly endMs: number
      readonly segment: LaneSegment
      readonly later: SegmentPart[]
    }
  | { readonly type: 'over' }

const textOf = (words: readonly Word[]): string => words.map(({ text }) => text).join(' ')

const outOfOrder = (): SpeechError =>
  new SpeechError('internal', 'Parts of segments came out of order; each must open, then hold audio, then close.')

/** One channel of one session: at most one segment of it is decoded at a time, so that answers keep their order. */
class Lane {
  private state: State = { type: 'idle' }
  private completed = false

  constructor(
    private readonly openSegment: OpenSegment,
    private readonly sampleRateHz: number,
    private readonly out: { next(value: Hypothesis): void; error(error: unknown): void; complete(): void },
  ) {}

  next(part: SegmentPart): void {
    const { state } = this
    if (state.type === 'over') return
    if (state.type === 'deciding') state.later.push(part)
    else if (state.type === 'idle' && part.type === 'open') this.open(part.startMs)
    else if (state.type === 'open' && part.type === 'audio') this.write(state, part.samples)
    else if (state.type === 'open' && part.type === 'close') this.close(state, part.endMs)
    else this.fail(outOfOrder())
  }

  /** What is open is flushed; its end is where its audio ended. */
  complete(): void {
    this.completed = true
    this.finish()
  }

  fail(error: unknown): void {
    this.abort()
    this.out.error(error)
  }

  abort(): void {
    const { state } = this
    this.state = { type: 'over' }
    if (state.type === 'open' || state.type === 'deciding') state.segment.abort()
  }

  private open(startMs: number): void {
    const segment = this.openSegment(startMs, {
      taken: (sampleCount, text) => {
        if (sampleCount > 0) this.out.next({ type: 'progress', sampleCount })
        if (text !== undefined && this.state.type !== 'over') this.out.next({ type: 'partial', startMs, text })
      },
      decided: (words, whole = { text: textOf(words) }) => this.decided(words, whole),
      failed: (error) => this.fail(error),
    })
    this.state = { type: 'open', startMs, segment, sampleCount: 0 }
  }

  private write(state: State & { readonly type: 'open' }, samples: Int16Array): void {
    state.sampleCount += samples.length
    state.segment.write(samples)
  }

  private close({ startMs, segment }: State & { readonly type: 'open' }, endMs: number): void {
    this.state = { type: 'deciding', startMs, endMs, segment, later: [] }
    segment.close(endMs)
  }

  private decided(words: readonly Word[], whole: DecidedWhole): void {
    const { state } = this
    if (state.type !== 'deciding') return
    // What comes while this is said still waits behind what waits already
    this.out.next({ type: 'segment', startMs: state.startMs, endMs: state.endMs, words, ...whole })
    if (this.state !== state) return
    this.state = { type: 'idle' }
    for (const part of state.later) this.next(part)
    if (this.completed) this.finish()
  }

  private finish(): void {
    const { state } = this
    if (state.type === 'idle') this.out.complete()
    else if (state.type === 'open') {
      this.close(state, state.startMs + Math.round((state.sampleCount * 1000) / this.sampleRateHz))
    }
  }
}

/**
 * Decodes the segments of one channel. Nothing is held until a segment opens. On completion the open segment is
 * flushed, and the output completes after its `segment`; an error of the source aborts and passes on; unsubscription
 * aborts at once. Audio that a decoder has not taken yet is kept: the source bounds it by `progress`, with a window of
 * more than 100 ms, for audio is decoded in steps of 100 ms.
 */
export const segmentLane =
  ({ openSegment, sampleRateHz, onClose }: SegmentLaneOptions): OperatorFunction<SegmentPart, Hypothesis> =>
  (source$) =>
    new Observable((subscriber) => {
      const lane = new Lane(openSegment, sampleRateHz, subscriber)
      subscriber.add(onClose((error) => lane.fail(error)))
      subscriber.add(() => lane.abort())
      subscriber.add(
        source$.pipe(takeWhile(() => !subscriber.closed)).subscribe({
          next: (part) => lane.next(part),
          error: (error: unknown) => lane.fail(error),
          complete: () => lane.complete(),
        }),
      )
    })
