import {
  concatMap,
  defer,
  delay,
  finalize,
  map,
  of,
  timer,
  type Observable,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs'
import type { Word } from '../../../../src/protocol/session-event.js'
import type { Engine, Hypothesis, SegmentPart } from '../../../engines/src/engine.js'
import type { ChannelEvent } from '../../src/recognition/channel-event.js'
import { joinSegmenter, type Segmenter, type SegmenterOptions } from '../../src/recognition/segmenter.js'

/** A rate of one sample a millisecond, so that chunks and marbles count alike. */
export const channelRateHz = 1000

export const speech = (durationMs: number): Int16Array => new Int16Array(durationMs).fill(1)
export const silence = (durationMs: number): Int16Array => new Int16Array(durationMs)
export const join = (...chunks: readonly Int16Array[]): Int16Array =>
  Int16Array.from(chunks.flatMap((chunk) => [...chunk]))

export interface EngineScript {
  /** The texts of the segments, in order. */
  readonly texts: readonly string[]
  readonly words?: readonly (readonly Word[])[]
  /** The hypothesis of the engine after each audio part. */
  readonly partials?: readonly string[]
  /** The answers to checks, in order, and false after the last; without them the engine cannot check. */
  readonly checks?: readonly boolean[]
  /** How long the engine takes for an answer to a check. */
  readonly checkMs?: number
  /** How long the engine takes for the end of a segment, and for each audio part. */
  readonly decideMs?: number
  readonly takeMs?: number | undefined
  readonly fails?: Error
}

export interface ScriptedEngine extends Engine {
  /** Every part that any recognition received. */
  readonly parts: readonly SegmentPart[]
  /** Running recognitions. */
  readonly running: () => number
}

const later = <T>(waitMs: number | undefined): OperatorFunction<T, T> =>
  waitMs === undefined ? map((value) => value) : delay(waitMs)

/** An engine with scripted output, in virtual time if it has to wait. */
export const scriptedEngine = (script: EngineScript): ScriptedEngine => {
  const parts: SegmentPart[] = []
  let running = 0
  const recognize = (): OperatorFunction<SegmentPart, Hypothesis> => (part$) => {
    let startMs = 0
    let segment = -1
    let audio = -1
    let check = -1
    function answer(part: SegmentPart): Observable<Hypothesis> {
      parts.push(part)
      if (part.type === 'open') {
        startMs = part.startMs
        segment += 1
        return of()
      }
      if (part.type === 'audio') {
        if (script.fails !== undefined) throw script.fails
        audio += 1
        const partial = script.partials?.[audio]
        const progress: Hypothesis = { type: 'progress', sampleCount: part.samples.length }
        const partials: readonly Hypothesis[] =
          partial === undefined ? [] : [{ type: 'partial', startMs, text: partial }]
        return of(progress, ...partials).pipe(later(script.takeMs))
      }
      if (part.type === 'check') {
        check += 1
        const checked: Hypothesis = { type: 'checked', isComplete: script.checks?.[check] ?? false }
        return of(checked).pipe(later(script.checkMs))
      }
      const words = script.words?.[segment] ?? []
      const decided: Hypothesis = {
        type: 'segment',
        startMs,
        endMs: part.endMs,
        text: script.texts[segment] ?? '',
        words,
      }
      return of(decided).pipe(later(script.decideMs))
    }
    return defer(() => {
      running += 1
      return part$.pipe(
        concatMap(answer),
        finalize(() => {
          running -= 1
        }),
      )
    })
  }
  return {
    capabilities: {
      sampleRateHz: channelRateHz,
      partials: true,
      words: true,
      kind: 'grammar',
      segmentsAtOnce: 1,
      checks: script.checks !== undefined,
    },
    recognize,
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
    parts,
    running: () => running,
  }
}

export interface ScriptedFront {
  readonly open: (options: SegmenterOptions) => PromiseLike<Segmenter>
  readonly held: () => number
}

const ready = <T>(value$: Observable<T>): PromiseLike<T> => {
  const thenable = {
    then: (onValue: (value: T) => unknown, onError?: (error: unknown) => unknown) => {
      value$.subscribe({ next: (value) => onValue(value), error: (error: unknown) => onError?.(error) })
      return thenable
    },
  }
  return thenable as unknown as PromiseLike<T>
}

/** Treats every nonzero frame as speech. */
export const nonzeroDetector = {
  isSpeech: (frame: Int16Array): boolean => frame[0] !== 0,
  isDoubtful: false,
  soundFrames: 0,
  freezeFloor: (_isFrozen: boolean): unknown => undefined,
  setSensitivity: (_sensitivity: number): unknown => undefined,
  free: (): unknown => undefined,
}

/**
 * The real machine with a detector that treats every nonzero frame as speech; it opens after `waitMs`, or immediately.
 */
export const scriptedFront = (
  opening: { readonly waitMs?: number; readonly scheduler?: SchedulerLike; readonly fails?: Error } = {},
): ScriptedFront => {
  let held = 0
  const segmenter = (options: SegmenterOptions): Segmenter => {
    held += 1
    const detector = { ...nonzeroDetector, free: () => (held -= 1) }
    return joinSegmenter(detector, options.parameters, channelRateHz, options.asksEngine)
  }
  const opened$ = opening.waitMs === undefined ? of(0) : timer(opening.waitMs, opening.scheduler)
  return {
    open: (options) =>
      ready(
        opened$.pipe(
          map(() => {
            if (opening.fails !== undefined) throw opening.fails
            return segmenter(options)
          }),
        ),
      ),
    held: () => held,
  }
}

/** An event in short form, for marbles. */
export const brief = (event: ChannelEvent): string => {
  switch (event.type) {
    case 'speech-started':
      return `started ${event.startMs} @${event.atMs}`
    case 'speech-ended':
      return `ended ${event.startMs}-${event.endMs}`
    case 'silence':
      return `silence ${event.startMs}-${event.endMs}`
    case 'no-match':
      return `no match ${event.startMs}-${event.endMs}`
    case 'progress':
      return `progress ${event.sampleCount}`
    case 'partials-thinned':
      return `thinned ${event.phase} @${event.startMs}`
    case 'fault':
      return `fault ${event.startMs} ${event.error.code} ${event.retried ? 'retried' : 'over'}`
    case 'partial':
    case 'milestone':
      return `${event.type} ${event.startMs}-${event.endMs} "${event.text}"`
    case 'final':
      return `final ${event.startMs}-${event.endMs} "${event.text}" ${event.cause}`
  }
}
