import {
  asyncScheduler,
  concat,
  connect,
  defer,
  EMPTY,
  filter,
  merge,
  map,
  mergeMap,
  type Observable,
  type OperatorFunction,
  type SchedulerLike,
} from 'rxjs'
import type { Engine, SegmentPart } from '../engine/engine.js'
import { EngineProgress } from './engine-progress.js'
import { IdleMonitor } from './idle-monitor.js'
import type { ChannelEvent } from './channel-event.js'
import { createResamplingSegmenter, type ResamplingSegmenterOptions } from './resampling-segmenter.js'
import { ChannelResults, type ChannelEnd } from './channel-results.js'
import { isNotPart, isPart, segmentInput, type Segmented } from './segment-samples.js'
import type { SegmenterParameters } from './segmenter-parameters.js'
import type { Segmenter } from './segmenter.js'

export type { ChannelEvent } from './channel-event.js'

export interface RecognizeChannelOptions {
  readonly engine: Engine
  readonly parameters: SegmenterParameters
  /** Other parameters, valid ones, that hold from when nobody speaks; a segment that is open keeps to its own. */
  readonly parameters$?: Observable<SegmenterParameters>
  /**
   * Emits when the recognition is to end where nobody speaks: with the open segment, at once where none is, and however
   * long that segment, when no audio has come for a second. What comes after that is dropped.
   */
  readonly drain$?: Observable<unknown>
  /** The rate of the samples that come in; they are resampled where the engine has another. */
  readonly sampleRateHz: number
  /** No audio for so long by the wall clock closes the open segment. Default 1000; 0 switches it off. */
  readonly closeAfterSilentWallMs?: number
  /** No audio for so long by the wall clock ends the recognition. Default 30 000; 0 switches it off. */
  readonly finalizeAfterMs?: number
  /** Whether audio is kept from the lane for others to catch up, so that none comes and nobody is silent. */
  readonly isPaused?: () => boolean
  /** Whether silence as long as `gracefulSilenceMs` ends the recognition. Default `finalize`. */
  readonly graceful?: 'finalize' | 'off'
  /** What stands between milestones. Default a space. */
  readonly separator?: string
  readonly scheduler?: SchedulerLike
}

/**
 * Recognizes the speech of one channel: samples in, of any number at a time, and `ChannelEvent`s out. Voice activity is told
 * when it is decided, so an engine that lags may tell the milestone of a segment after the start of the next; partials
 * and milestones themselves come in the order of the segments.
 *
 * Completion of the samples flushes the open segment; after its milestone comes the one `final`, then the lane
 * completes. A graceful silence, a silence of the wall clock and `drain$` end it the same way; what comes then is dropped and the
 * samples are unsubscribed. An error of the samples or of the engine (`engine-failed`) passes through, without a final;
 * so do `invalid-field`, `invalid-format` and `missing-dependency` of what is opened on subscription. Unsubscription
 * aborts the engine and frees the detector and the resampler at once.
 *
 * Buffered are the input until the detector has loaded, and in the engine what it has not taken in: both without a
 * bound of their own. Whoever gives samples bounds them by the `progress` events. The segmenter holds back at most the
 * silence trigger, or 30 s with the audio segmenter.
 */
export const recognizeChannel =
  (
    options: RecognizeChannelOptions,
    openFront: (options: ResamplingSegmenterOptions) => PromiseLike<Segmenter> = createResamplingSegmenter,
  ): OperatorFunction<Int16Array, ChannelEvent> =>
  (samples$) =>
    defer(() => {
      const { engine, sampleRateHz, graceful = 'finalize', separator = ' ', scheduler = asyncScheduler } = options
      const { closeAfterSilentWallMs = 1000, finalizeAfterMs = 30_000 } = options
      const engineRateHz = engine.capabilities.sampleRateHz
      const account = new EngineProgress(sampleRateHz, engineRateHz)
      const { isPaused = () => false } = options
      const watch = new IdleMonitor({ closeAfterSilentWallMs, finalizeAfterMs, isPaused }, scheduler)
      const results = new ChannelResults(account, separator)
      const adapted = (parameters: SegmenterParameters): SegmenterParameters =>
        graceful === 'off' ? { ...parameters, gracefulSilenceMs: 0 } : parameters
      const parameters = adapted(options.parameters)
      const open = () => openFront({ parameters, inputRateHz: sampleRateHz, engineRateHz })
      const { parameters$ = EMPTY, drain$ = EMPTY } = options
      const signals = { parameters$: parameters$.pipe(map(adapted)), drain$ }
      let end: ChannelEnd = { cause: 'finalized' }

      const told = (item: Exclude<Segmented, SegmentPart>): readonly ChannelEvent[] => {
        if (item.type === 'pushed') return results.progress()
        if (item.type === 'silence') return results.silence(item)
        if (item.type !== 'ended') return [item]
        end = item
        return []
      }
      return concat(
        segmentInput(samples$, account, watch, open, signals, scheduler).pipe(
          connect((item$) =>
            merge(
              item$.pipe(filter(isNotPart), mergeMap(told)),
              item$.pipe(
                filter(isPart),
                engine.recognize(),
                mergeMap((hypothesis) => {
                  if (hypothesis.type === 'progress' || hypothesis.type === 'fault') watch.touch()
                  return results.of(hypothesis)
                }),
              ),
            ),
          ),
        ),
        defer(() => results.end(end)),
      )
    })
