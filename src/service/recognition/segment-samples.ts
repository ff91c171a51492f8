import {
  concat,
  EMPTY,
  endWith,
  interval,
  map,
  merge,
  of,
  switchMap,
  takeWhile,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import type { SegmentPart } from '../engine/engine.js'
import type { EngineProgress } from './engine-progress.js'
import { stillMs, type IdleMonitor } from './idle-monitor.js'
import type { EndCause } from './channel-event.js'
import type { SegmenterParameters } from './segmenter-parameters.js'
import type { SegmenterOutput, Silence, VoiceEvent } from './segmenter-output.js'
import type { Segmenter } from './segmenter.js'
import { useResource } from './use-resource.js'

type Input =
  | { readonly type: 'samples'; readonly samples: Int16Array }
  | { readonly type: 'parameters'; readonly parameters: SegmenterParameters }
  | { readonly type: 'completed' | 'tick' | 'drain' | 'look' }

/** `atMs`, in audio time, where the audio itself decided the end, and more of it may have come in the same message. */
interface Ended {
  readonly type: 'ended'
  readonly cause: EndCause
  readonly atMs?: number
}

/** How many segments came before it, which the engine may still be busy with. */
export interface SilenceBehind extends Silence {
  readonly segmentsBefore: number
}

/** What the segmenting half of a lane hands on; `pushed` follows all that one input gave. */
export type Segmented = SegmentPart | VoiceEvent | SilenceBehind | { readonly type: 'pushed' } | Ended

const pushed: Segmented = { type: 'pushed' }

export const isPart = (item: Segmented | SegmenterOutput): item is SegmentPart =>
  item.type === 'open' || item.type === 'audio' || item.type === 'close'

export const isNotPart = (item: Segmented): item is Exclude<Segmented, SegmentPart> => !isPart(item)

/** One recognition's segmenting half: its state lives as long as one subscription. */
class Feed {
  constructor(
    private readonly account: EngineProgress,
    private readonly watch: IdleMonitor,
  ) {}

  take(front: Segmenter, input: Input): readonly Segmented[] {
    switch (input.type) {
      case 'samples':
        this.watch.receive(this.account.receive(input.samples.length))
        return this.given(front.push(input.samples))
      case 'parameters':
        front.setParameters(input.parameters)
        return []
      case 'completed':
        return this.given(front.finish(), 'finalized')
      case 'drain':
        return this.given(front.drain())
      case 'look':
        return this.watch.isStill ? this.given(front.finish(), 'finalized') : []
      case 'tick': {
        const due = this.watch.due
        if (due === 'finalize') return this.given(front.finish(), 'idle')
        if (due === 'nothing') return []
        if (!this.account.isBehind) return this.given(front.interrupt())
        // The client is held back while the engine lags, and falls silent only after that.
        this.watch.touch()
        return []
      }
    }
  }

  /** Books what goes to the engine. Behind a graceful silence, and the pause that was waited for, nothing counts any more. */
  private given(outputs: readonly SegmenterOutput[], end?: EndCause): readonly Segmented[] {
    const items: Segmented[] = []
    for (const output of outputs) {
      if (output.type === 'graceful-silence' || output.type === 'pause') {
        const cause = output.type === 'pause' ? 'finalized' : output.type
        return [...items, { type: 'ended', cause, atMs: output.atMs }]
      }
      if (output.type === 'silence') items.push({ ...output, segmentsBefore: this.account.givenSegments })
      else {
        if (isPart(output)) this.account.give(output)
        items.push(output)
      }
    }
    items.push(end === undefined ? pushed : { type: 'ended', cause: end })
    return items
  }
}

/** What may be asked of the segmenting half while it runs. */
export interface SegmentSignals {
  readonly parameters$?: Observable<SegmenterParameters>
  /** From then on it ends as soon as no segment is open, or no audio comes any more. */
  readonly drain$?: Observable<unknown>
}

/**
 * Cuts the samples into segments and books what the engine is given; the front opens on subscription, and what comes
 * before it has opened waits in order. Ends with `ended` and lets go of the samples and of the front then.
 */
export function segmentInput(
  samples$: Observable<Int16Array>,
  account: EngineProgress,
  watch: IdleMonitor,
  open: () => PromiseLike<Segmenter>,
  { parameters$ = EMPTY, drain$ = EMPTY }: SegmentSignals,
  scheduler: SchedulerLike,
): Observable<Segmented> {
  const feed = new Feed(account, watch)
  return merge(
    samples$.pipe(
      map((samples): Input => ({ type: 'samples', samples })),
      endWith<Input>({ type: 'completed' }),
    ),
    watch.ticks$.pipe(map((): Input => ({ type: 'tick' }))),
    drain$.pipe(switchMap(() => drainInputs(scheduler))),
    parameters$.pipe(map((parameters): Input => ({ type: 'parameters', parameters }))),
  ).pipe(
    useResource(open, (front: Segmenter, input: Input) => feed.take(front, input)),
    takeWhile(({ type }) => type !== 'ended', true),
  )
}

const drainInputs = (scheduler: SchedulerLike): Observable<Input> =>
  concat(of<Input>({ type: 'drain' }), interval(stillMs, scheduler).pipe(map((): Input => ({ type: 'look' }))))
