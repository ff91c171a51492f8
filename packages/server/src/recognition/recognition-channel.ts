import { asyncScheduler, Subject, type SchedulerLike, type Subscription, type Unsubscribable } from 'rxjs'
import type { Engine, Hypothesis, RecognizeSettings, SegmentPart } from 'rxspeech-engines/engine'
import { schedule } from 'rxspeech/internal/kernel/timers'
import type { ChannelEvent, EndCause } from './channel-event.js'
import { ChannelResults } from './channel-results.js'
import { EngineProgress } from './engine-progress.js'
import { IdleMonitor, quietCheckMs } from './idle-monitor.js'
import type { IncomingAudio } from './incoming-audio.js'
import type { SegmenterOutput } from './segment-machine.js'
import type { SegmenterParameters } from './segmenter-parameters.js'
import { createSegmenter, type Segmenter, type SegmenterOptions } from './segmenter.js'

export interface RecognitionChannelOptions {
  readonly engine: Engine
  /** What the session asks of the engine. @default {} */
  readonly settings?: RecognizeSettings | undefined
  readonly parameters: SegmenterParameters
  /** The rate of the samples; they are resampled if the engine has another one. */
  readonly sampleRateHz: number
  /** No audio for this long by the wall clock closes the open segment; 0 turns it off. @default 1000 */
  readonly closeAfterSilentWallMs?: number | undefined
  /** No audio for this long by the wall clock ends the recognition; 0 turns it off. @default 30000 */
  readonly finalizeAfterMs?: number | undefined
  /** Whether the source is paused, so that missing audio does not count as silence. @default () => false */
  readonly isPaused?: (() => boolean) | undefined
  /** As in `IdleRules`. @default () => true */
  readonly isAnswering?: (() => boolean) | undefined
  /** Holds back the audio of this channel, and of no other one, while nothing can be decided. */
  readonly incoming?: IncomingAudio | undefined
  /** Whether a silence of `gracefulSilenceThresholdMs` ends the recognition. @default 'finalize' */
  readonly graceful?: 'finalize' | 'off' | undefined
  /** The shortest time between two partials, in milliseconds, while the service is overloaded. @default () => 0 */
  readonly partialIntervalMs?: (() => number) | undefined
  /** The separator of milestones. @default ' ' */
  readonly separator?: string | undefined
  /** @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** What receives the output of a channel: events, then an error or the completion. */
export interface ChannelObserver {
  next(event: ChannelEvent): void
  /** The channel takes no more samples; its last results may follow. Called once, also before an error. */
  inputEnded(): void
  error(error: unknown): void
  complete(): void
}

/** `samples` are the common case and come as they are. */
type Input =
  | Int16Array
  | { readonly type: 'parameters'; readonly parameters: SegmenterParameters; readonly language: string | undefined }
  | { readonly type: 'completed' | 'tick' | 'drain' | 'check-quiet' }

/**
 * Recognizes the speech of one channel: chunks of samples in, `ChannelEvent`s out, by plain calls. Voice events are
 * emitted when they are decided, so with an engine that lags, the milestone of a segment may follow the start of the
 * next one. Partials and milestones come in the order of the segments.
 *
 * When the samples complete, the open segment is flushed; after its milestone comes the one `final`, and the output
 * completes. A graceful silence, silence by the wall clock and `drain` end it the same way: later samples are dropped.
 * An error of the engine (`engine-failed`) passes through, without a final, and so do the errors of `createSegmenter`.
 * Unsubscribing aborts the engine and frees the segmenter at once.
 *
 * Samples wait, without a bound, until the segmenter is open and in the engine until it is processed. The caller bounds
 * both by the `progress` events. The segmenter holds back at most the silence trigger, or 30 s with the audio
 * segmenter. Samples that arrive while an event is emitted wait, too, so calls never nest.
 *
 * While the engine is asked whether a sentence is complete, all input waits for its answer: the decision is made at a
 * position of the audio, and is the same however late the engine answers. That audio does not count as processed.
 */
export class RecognitionChannel implements Unsubscribable {
  readonly #options: RecognitionChannelOptions
  readonly #out: ChannelObserver
  readonly #scheduler: SchedulerLike
  readonly #progress: EngineProgress
  readonly #idle: IdleMonitor
  readonly #results: ChannelResults
  readonly #part$ = new Subject<SegmentPart>()
  #engine: Subscription | undefined
  #segmenter: Segmenter | undefined
  /** Inputs that arrive before the segmenter is open, while the engine is asked, and while another one is handled. */
  #waiting: Input[] = []
  #isBusy = false
  /** Whether the sentence is complete, once the engine has answered. */
  #answer: boolean | undefined
  #quietTimer: Unsubscribable | undefined
  /** Undefined: as in the settings. */
  #language: string | undefined
  #cause: EndCause = 'finalized'
  /** The time of the audio at which it ended, if the audio itself decided that. */
  #endMs: number | undefined
  #state: 'open' | 'flushing' | 'over' = 'open'

  constructor(options: RecognitionChannelOptions, out: ChannelObserver) {
    const {
      engine,
      sampleRateHz,
      separator = ' ',
      scheduler = asyncScheduler,
      isPaused,
      isAnswering,
      incoming,
    } = options
    const { closeAfterSilentWallMs = 1000, finalizeAfterMs = 30_000, partialIntervalMs } = options
    this.#options = options
    this.#out = out
    this.#scheduler = scheduler
    this.#progress = new EngineProgress(sampleRateHz, engine.capabilities.sampleRateHz)
    this.#idle = new IdleMonitor(
      { closeAfterSilentWallMs, finalizeAfterMs, isPaused, isAnswering, incoming },
      scheduler,
    )
    this.#results = new ChannelResults(this.#progress, separator, {
      intervalMs: partialIntervalMs,
      engineIntervalMs: () => engine.partialIntervalMs?.() ?? 0,
      clock: scheduler,
    })
  }

  /** Opens the segmenter and subscribes to the engine; for one call. */
  start(openSegmenter: (options: SegmenterOptions) => PromiseLike<Segmenter> = createSegmenter): void {
    const { engine, settings, parameters, sampleRateHz: inputRateHz } = this.#options
    const engineRateHz = engine.capabilities.sampleRateHz
    this.#engine = this.#part$.pipe(engine.recognize(settings)).subscribe({
      next: (hypothesis) => this.#receive(hypothesis),
      error: (error: unknown) => this.fail(error),
      complete: () => this.#complete(),
    })
    if (this.#state === 'over') {
      this.#engine.unsubscribe()
      return
    }
    const { checks: asksEngine, contextMs } = engine.capabilities
    openSegmenter({ parameters: this.#adapted(parameters), inputRateHz, engineRateHz, asksEngine, contextMs }).then(
      (segmenter) => {
        if (this.#state !== 'open') {
          segmenter.free()
          return
        }
        this.#segmenter = segmenter
        this.#handleWaiting()
        this.#hold(segmenter)
      },
      (error: unknown) => this.fail(error),
    )
    if (this.#state === 'open') this.#idle.start(() => this.#postAfterAudio({ type: 'tick' }))
  }

  push(samples: Int16Array): void {
    this.#post(samples)
  }

  /** The samples are complete. */
  complete(): void {
    this.#postAfterAudio({ type: 'completed' })
  }

  /**
   * Applies parameters, which must be valid, from the next silence on, and the language from the next segment on; an
   * open segment keeps its own. Without a language it stays as it is.
   */
  setParameters(parameters: SegmenterParameters, language?: string): void {
    this.#postAfterAudio({ type: 'parameters', parameters: this.#adapted(parameters), language })
  }

  /**
   * Ends the recognition in a pause: with the open segment, at once if none is open, and in any case when no audio has
   * arrived for a second. Later audio is dropped.
   */
  drain(): void {
    this.#postAfterAudio({ type: 'drain' })
    this.#checkQuietLater()
  }

  /** Ends the output with an error of the samples. */
  fail(error: unknown): void {
    this.#close(() => this.#out.error(error))
  }

  unsubscribe(): void {
    this.#close()
  }

  /** Posts an input after the audio that arrived before it. */
  #postAfterAudio(input: Exclude<Input, Int16Array>): void {
    this.#options.incoming?.flush()
    // While the engine is asked, it is behind, not the client: nothing counts as silence, and later checks follow.
    const isCheck = input.type === 'tick' || input.type === 'check-quiet'
    if (isCheck && this.#segmenter?.isAsking === true) this.#idle.touch()
    else this.#post(input)
  }

  #adapted(parameters: SegmenterParameters): SegmenterParameters {
    return this.#options.graceful === 'off' ? { ...parameters, gracefulSilenceThresholdMs: 0 } : parameters
  }

  #checkQuietLater(): void {
    this.#quietTimer?.unsubscribe()
    if (this.#state !== 'open') return
    const check = (): void => {
      this.#checkQuietLater()
      this.#postAfterAudio({ type: 'check-quiet' })
    }
    this.#quietTimer = schedule(this.#scheduler, quietCheckMs, check, { ref: true })
  }

  #post(input: Input): void {
    if (this.#state !== 'open') return
    this.#waiting.push(input)
    this.#handleWaiting()
  }

  /** Handles what waits, as far as nothing else has to come first, and never within itself. */
  #handleWaiting(): void {
    const segmenter = this.#segmenter
    if (this.#isBusy || segmenter === undefined) return
    this.#isBusy = true
    try {
      while (this.#state === 'open' && this.#handleNext(segmenter));
    } catch (error) {
      this.fail(error)
    }
    this.#isBusy = false
  }

  /**
   * Handles the answer of the engine, if it was asked, or the input that has waited longest; returns whether there was
   * one.
   */
  #handleNext(segmenter: Segmenter): boolean {
    if (segmenter.isAsking) {
      const answer = this.#answer
      this.#answer = undefined
      if (answer !== undefined) this.#emitDecided(segmenter, segmenter.answer(answer))
      return answer !== undefined
    }
    const input = this.#waiting.shift()
    if (input instanceof Int16Array) this.#take(input, segmenter)
    else if (input !== undefined) this.#apply(input, segmenter)
    return input !== undefined
  }

  #take(samples: Int16Array, segmenter: Segmenter): void {
    this.#idle.receive(this.#progress.receive(samples.length))
    this.#emitDecided(segmenter, segmenter.push(samples))
  }

  #emitDecided(segmenter: Segmenter, outputs: readonly SegmenterOutput[]): void {
    this.#progress.kept = segmenter.kept
    this.#emitOutputs(outputs)
    this.#emitProgress()
    this.#emit(this.#results.thinning())
    this.#hold(segmenter)
  }

  #hold(segmenter: Segmenter): void {
    if (this.#state === 'open') this.#options.incoming?.hold(segmenter.room)
  }

  #apply(input: Exclude<Input, Int16Array>, segmenter: Segmenter): void {
    switch (input.type) {
      case 'parameters':
        this.#language = input.language ?? this.#language
        this.#emitOutputs(segmenter.setParameters(input.parameters))
        return
      case 'completed':
        this.#finish(segmenter, 'finalized')
        return
      case 'drain':
        this.#idle.beginQuietChecks()
        this.#emitOutputs(segmenter.drain())
        return
      case 'check-quiet':
        if (this.#idle.isQuiet()) this.#finish(segmenter, 'finalized')
        return
      case 'tick':
        this.#tick(segmenter)
    }
  }

  #tick(segmenter: Segmenter): void {
    const { due } = this.#idle
    if (due === 'finalize') this.#finish(segmenter, 'idle')
    else if (due === 'close') {
      if (!this.#progress.isEngineBehind) this.#emitOutputs(segmenter.interrupt())
      // While the engine is behind, the client is held back; its silence counts from the end of that.
      else this.#idle.touch()
    }
  }

  /** The input ends after the outputs of the segmenter. */
  #finish(segmenter: Segmenter, cause: EndCause): void {
    this.#emitOutputs(segmenter.finish())
    this.#endInput(cause)
  }

  /** All outputs count before the first of them reaches the engine, which may answer within the call. */
  #emitOutputs(outputs: readonly SegmenterOutput[]): void {
    for (const output of outputs) {
      if (output.type === 'graceful-silence' || output.type === 'pause') break
      if (output.type === 'open' || output.type === 'audio' || output.type === 'close') this.#progress.send(output)
      else if (output.type === 'silence') this.#results.addSilence(output)
    }
    for (const output of outputs) {
      if (this.#state !== 'open') return
      switch (output.type) {
        case 'open':
          this.#part$.next(this.#language === undefined ? output : { ...output, language: this.#language })
          break
        case 'audio':
        case 'check':
        case 'close':
          this.#part$.next(output)
          break
        case 'speech-started':
        case 'speech-ended':
          this.#out.next(output)
          break
        case 'silence':
          this.#emit(this.#results.dueSilences())
          break
        // Both end the input, and later outputs are dropped.
        case 'graceful-silence':
          this.#endInput('graceful-silence', output.atMs)
          break
        case 'pause':
          this.#endInput('finalized', output.atMs)
      }
    }
  }

  #emitProgress(): void {
    if (this.#state === 'over') return
    const sampleCount = this.#progress.takeProcessed()
    if (sampleCount > 0) this.#out.next({ type: 'progress', sampleCount })
  }

  #emit(events: readonly ChannelEvent[]): void {
    for (const event of events) {
      if (this.#state === 'over') return
      this.#out.next(event)
    }
  }

  #receive(hypothesis: Hypothesis): void {
    if (this.#state === 'over') return
    try {
      if (hypothesis.type === 'progress') {
        this.#idle.touch()
        this.#progress.acknowledge(hypothesis.sampleCount)
        this.#emitProgress()
        return
      }
      if (hypothesis.type === 'checked') {
        // Otherwise it is to a question that was asked before the segment closed.
        if (this.#segmenter?.isAsking === true) this.#answer = hypothesis.isComplete
        this.#handleWaiting()
        return
      }
      if (hypothesis.type === 'fault') this.#idle.touch()
      this.#emit(this.#results.of(hypothesis))
    } catch (error) {
      this.fail(error)
    }
  }

  #endInput(cause: EndCause, endMs?: number): void {
    if (this.#state !== 'open') return
    this.#state = 'flushing'
    this.#cause = cause
    this.#endMs = endMs
    this.#releaseInput()
    this.#part$.complete()
  }

  /** The engine has decided everything. */
  #complete(): void {
    if (this.#state === 'over') return
    this.#emit(this.#results.end({ cause: this.#cause, atMs: this.#endMs }))
    this.#close(() => this.#out.complete())
  }

  /** The engine comes last, because its teardown may throw. */
  #close(report?: () => void): void {
    if (this.#state === 'over') return
    const wasOpen = this.#state === 'open'
    this.#state = 'over'
    if (wasOpen) this.#releaseInput()
    report?.()
    this.#engine?.unsubscribe()
  }

  #releaseInput(): void {
    this.#idle.stop()
    this.#quietTimer?.unsubscribe()
    this.#waiting = []
    this.#segmenter?.free()
    this.#out.inputEnded()
  }
}
