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
import { useResource } from '../../kernel/use-resource.js'
import type { SegmentPart } from '../engines/engine.js'
import type { EndCause } from './channel-event.js'
import type { EngineProgress } from './engine-progress.js'
import { quietCheckMs, type IdleMonitor } from './idle-monitor.js'
import type { SegmenterOutput, Silence, VoiceEvent } from './segment-machine.js'
import type { SegmenterParameters } from './segmenter-parameters.js'
import type { Segmenter } from './segmenter.js'

type Input =
  | { readonly type: 'samples'; readonly samples: Int16Array }
  | { readonly type: 'parameters'; readonly parameters: SegmenterParameters }
  | { readonly type: 'completed' | 'tick' | 'drain' | 'check-quiet' }

/** `atMs`, in audio time, is set when the audio itself decided the end; more of it may have arrived in the same message. */
interface Ended {
  readonly type: 'ended'
  readonly cause: EndCause
  readonly atMs?: number
}

/** A silence, with the number of segments before it, which the engine may not have decided yet. */
export interface PendingSilence extends Silence {
  readonly segmentsBefore: number
}

/** What segmentation emits; `pushed` follows all items of one input. */
export type SegmentItem = SegmentPart | VoiceEvent | PendingSilence | { readonly type: 'pushed' } | Ended

const pushed: SegmentItem = { type: 'pushed' }

export const isPart = (item: SegmentItem | SegmenterOutput): item is SegmentPart =>
  item.type === 'open' || item.type === 'audio' || item.type === 'close'

export const isNotPart = (item: SegmentItem): item is Exclude<SegmentItem, SegmentPart> => !isPart(item)

export interface SegmentSamplesOptions {
  readonly progress: EngineProgress
  readonly idle: IdleMonitor
  readonly open: () => PromiseLike<Segmenter>
  readonly parameters$?: Observable<SegmenterParameters> | undefined
  /** After this emits, segmentation ends as soon as no segment is open or no audio arrives any more. */
  readonly drain$?: Observable<unknown> | undefined
  readonly scheduler: SchedulerLike
}

/**
 * Cuts samples into segments and counts what the engine is sent. The segmenter opens on subscription; inputs that arrive
 * before it is open wait in order. Ends with `ended`, which unsubscribes the samples and frees the segmenter.
 */
export const segmentSamples = (
  samples$: Observable<Int16Array>,
  { progress, idle, open, parameters$ = EMPTY, drain$ = EMPTY, scheduler }: SegmentSamplesOptions,
): Observable<SegmentItem> =>
  merge(
    samples$.pipe(
      map((samples): Input => ({ type: 'samples', samples })),
      endWith<Input>({ type: 'completed' }),
    ),
    idle.ticks$.pipe(map((): Input => ({ type: 'tick' }))),
    drain$.pipe(switchMap(() => drainInputs(scheduler))),
    parameters$.pipe(map((parameters): Input => ({ type: 'parameters', parameters }))),
  ).pipe(
    useResource(open, (segmenter: Segmenter, input: Input) => step(segmenter, input, progress, idle)),
    takeWhile(({ type }) => type !== 'ended', true),
  )

const drainInputs = (scheduler: SchedulerLike): Observable<Input> =>
  concat(
    of<Input>({ type: 'drain' }),
    interval(quietCheckMs, scheduler).pipe(map((): Input => ({ type: 'check-quiet' }))),
  )

const step = (
  segmenter: Segmenter,
  input: Input,
  progress: EngineProgress,
  idle: IdleMonitor,
): readonly SegmentItem[] => {
  switch (input.type) {
    case 'samples':
      idle.receive(progress.receive(input.samples.length))
      return itemsOf(segmenter.push(input.samples), progress)
    case 'parameters':
      segmenter.setParameters(input.parameters)
      return []
    case 'completed':
      return itemsOf(segmenter.finish(), progress, 'finalized')
    case 'drain':
      idle.beginQuietChecks()
      return itemsOf(segmenter.drain(), progress)
    case 'check-quiet':
      return idle.isQuiet() ? itemsOf(segmenter.finish(), progress, 'finalized') : []
    case 'tick': {
      const { due } = idle
      if (due === 'finalize') return itemsOf(segmenter.finish(), progress, 'idle')
      if (due === 'nothing') return []
      if (!progress.isEngineBehind) return itemsOf(segmenter.interrupt(), progress)
      // While the engine is behind, the client is held back; its silence counts from the end of that.
      idle.touch()
      return []
    }
  }
}

/** Counts what goes to the engine. A graceful silence and the awaited pause end the items; later outputs are dropped. */
const itemsOf = (
  outputs: readonly SegmenterOutput[],
  progress: EngineProgress,
  end?: EndCause,
): readonly SegmentItem[] => {
  const items: SegmentItem[] = []
  for (const output of outputs) {
    if (output.type === 'graceful-silence' || output.type === 'pause') {
      const cause = output.type === 'pause' ? 'finalized' : output.type
      return [...items, { type: 'ended', cause, atMs: output.atMs }]
    }
    if (output.type === 'silence') items.push({ ...output, segmentsBefore: progress.sentSegments })
    else {
      if (isPart(output)) progress.send(output)
      items.push(output)
    }
  }
  items.push(end === undefined ? pushed : { type: 'ended', cause: end })
  return items
}
