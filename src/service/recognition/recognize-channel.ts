import {
  asyncScheduler,
  concat,
  connect,
  defer,
  EMPTY,
  filter,
  map,
  merge,
  mergeMap,
  type Observable,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs'
import type { Engine, SegmentPart } from '../engines/engine.js'
import type { ChannelEvent } from './channel-event.js'
import { ChannelResults, type ChannelEnd } from './channel-results.js'
import { EngineProgress } from './engine-progress.js'
import { IdleMonitor } from './idle-monitor.js'
import { isNotPart, isPart, segmentSamples, type SegmentItem } from './segment-samples.js'
import type { SegmenterParameters } from './segmenter-parameters.js'
import { createSegmenter, type Segmenter, type SegmenterOptions } from './segmenter.js'

export type { ChannelEvent } from './channel-event.js'

export interface RecognizeChannelOptions {
  readonly engine: Engine
  readonly parameters: SegmenterParameters
  /** Changed parameters, which must be valid. They apply from the next silence on; an open segment keeps its own. */
  readonly parameters$?: Observable<SegmenterParameters> | undefined
  /**
   * Emits when the recognition is to end in a pause: with the open segment, at once if none is open, and in any case when
   * no audio has arrived for a second. Later audio is dropped.
   */
  readonly drain$?: Observable<unknown> | undefined
  /** The rate of the samples; they are resampled if the engine has another one. */
  readonly sampleRateHz: number
  /** No audio for this long by the wall clock closes the open segment; 0 turns it off. @default 1000 */
  readonly closeAfterSilentWallMs?: number | undefined
  /** No audio for this long by the wall clock ends the recognition; 0 turns it off. @default 30000 */
  readonly finalizeAfterMs?: number | undefined
  /** Whether the source is paused, so that missing audio does not count as silence. @default () => false */
  readonly isPaused?: (() => boolean) | undefined
  /** Whether a silence of `gracefulSilenceMs` ends the recognition. @default 'finalize' */
  readonly graceful?: 'finalize' | 'off' | undefined
  /** The separator of milestones. @default ' ' */
  readonly separator?: string | undefined
  /** @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/**
 * Recognizes the speech of one channel: chunks of samples in, `ChannelEvent`s out. Voice events are emitted when they are
 * decided, so with an engine that lags, the milestone of a segment may follow the start of the next one. Partials and
 * milestones come in the order of the segments.
 *
 * When the samples complete, the open segment is flushed; after its milestone comes the one `final`, and the output
 * completes. A graceful silence, silence by the wall clock and `drain$` end it the same way: later samples are dropped and
 * the source is unsubscribed. An error of the samples or of the engine (`engine-failed`) passes through, without a final, and
 * so do the errors of `createSegmenter`. Unsubscribing aborts the engine and frees the segmenter at once.
 *
 * The input waits, without a bound, until the segmenter is open and in the engine until it is processed. The caller bounds
 * both by the `progress` events. The segmenter holds back at most the silence trigger, or 30 s with the audio segmenter.
 */
export const recognizeChannel =
  (
    options: RecognizeChannelOptions,
    openSegmenter: (options: SegmenterOptions) => PromiseLike<Segmenter> = createSegmenter,
  ): OperatorFunction<Int16Array, ChannelEvent> =>
  (samples$) =>
    defer(() => {
      const { engine, sampleRateHz, graceful = 'finalize', separator = ' ', scheduler = asyncScheduler } = options
      const { closeAfterSilentWallMs = 1000, finalizeAfterMs = 30_000, isPaused } = options
      const { parameters$ = EMPTY, drain$ } = options
      const engineRateHz = engine.capabilities.sampleRateHz
      const progress = new EngineProgress(sampleRateHz, engineRateHz)
      const idle = new IdleMonitor({ closeAfterSilentWallMs, finalizeAfterMs, isPaused }, scheduler)
      const results = new ChannelResults(progress, separator)
      const adapted = (parameters: SegmenterParameters): SegmenterParameters =>
        graceful === 'off' ? { ...parameters, gracefulSilenceMs: 0 } : parameters
      const segmenterOptions = { parameters: adapted(options.parameters), inputRateHz: sampleRateHz, engineRateHz }
      let end: ChannelEnd = { cause: 'finalized' }

      const eventsOf = (item: Exclude<SegmentItem, SegmentPart>): readonly ChannelEvent[] => {
        if (item.type === 'pushed') return results.progress()
        if (item.type === 'silence') return results.silence(item)
        if (item.type !== 'ended') return [item]
        end = item
        return []
      }
      const segmented$ = segmentSamples(samples$, {
        progress,
        idle,
        open: () => openSegmenter(segmenterOptions),
        parameters$: parameters$.pipe(map(adapted)),
        drain$,
        scheduler,
      })
      return concat(
        segmented$.pipe(
          connect((item$) =>
            merge(
              item$.pipe(filter(isNotPart), mergeMap(eventsOf)),
              item$.pipe(
                filter(isPart),
                engine.recognize(),
                mergeMap((hypothesis) => {
                  if (hypothesis.type === 'progress' || hypothesis.type === 'fault') idle.touch()
                  return results.of(hypothesis)
                }),
              ),
            ),
          ),
        ),
        defer(() => results.end(end)),
      )
    })
