import { defer, Observable, takeWhile, type OperatorFunction, type Subscriber } from 'rxjs'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { Mailbox } from 'rxspeech/internal/kernel/mailbox'
import type { Word } from 'rxspeech/internal/protocol/session-event'
import { checkOptions, functionValue, jsonObject, optionsOf } from 'rxspeech/internal/protocol/validation'
import { textOf } from './decoded-words.js'
import type {
  Engine,
  EngineCapabilities,
  EngineSegment,
  Hypothesis,
  OpenSegment,
  PhraseFault,
  RecognizeSettings,
  SegmentListener,
  SegmentPart,
  SegmentText,
} from './engine.js'

/** The parts of an engine. */
export interface SegmentEngineOptions {
  /** What the engine needs, and what its results contain. */
  readonly capabilities: EngineCapabilities
  /**
   * Called for every channel, and when its language changes, with what its session asks for; returns what opens its
   * segments.
   */
  readonly openChannel: (settings: RecognizeSettings) => OpenSegment
  /** See `Engine.ready`. @default always */
  readonly ready?: Engine['ready'] | undefined
  /** See `Engine.checkPhrases`. @default every phrase is taken */
  readonly checkPhrases?: Engine['checkPhrases'] | undefined
  /** See `Engine.busyMs`. @default undefined */
  readonly busyMs?: Engine['busyMs'] | undefined
  /** See `Engine.memoryBytes`. @default undefined */
  readonly memoryBytes?: Engine['memoryBytes'] | undefined
  /** See `Engine.waitMs`. @default 0 */
  readonly waitMs?: Engine['waitMs'] | undefined
  /** See `Engine.partialIntervalMs`. @default 0 */
  readonly partialIntervalMs?: Engine['partialIntervalMs'] | undefined
  /** Called once, before running channels fail. @default nothing */
  readonly close?: Engine['close'] | undefined
}

const segmentEngineOptions = optionsOf<SegmentEngineOptions>()(
  { capabilities: jsonObject, openChannel: functionValue },
  {
    ready: functionValue,
    checkPhrases: functionValue,
    busyMs: functionValue,
    memoryBytes: functionValue,
    waitMs: functionValue,
    partialIntervalMs: functionValue,
    close: functionValue,
  },
)

const nothing = (): Promise<void> => Promise.resolve()
const takeAll = (): Promise<readonly PhraseFault[]> => Promise.resolve([])

/**
 * Creates an engine from a function that opens one segment. It decodes at most one segment of a channel at a time, so
 * that results keep their order; parts that arrive until the segment is decided wait. The caller bounds them by
 * `progress`, with a window of more than 100 ms if the decoder works in frames of 100 ms.
 *
 * `close` fails running and later channels with `engine-failed`.
 *
 * @example
 * ```ts
 * const openSegment: OpenSegment = (startMs, { progress, decided }) => ({
 *   write: (samples) => progress(samples.length),
 *   close: (endMs) => decided([{ text: 'hello', startMs, endMs, confidence: 1 }]),
 *   abort: () => undefined,
 * })
 * const engine = createSegmentEngine({
 *   capabilities: { sampleRateHz: 8000, partials: false, words: true, kind: 'dictation', segmentsAtOnce: 1000 },
 *   openChannel: () => openSegment,
 * })
 * ```
 */
export const createSegmentEngine = (options: SegmentEngineOptions): Engine => {
  checkOptions(segmentEngineOptions, options)
  const {
    capabilities,
    openChannel,
    ready = nothing,
    checkPhrases = takeAll,
    busyMs,
    memoryBytes,
    waitMs,
    partialIntervalMs,
    close = nothing,
  } = options
  const channels = new Set<Channel>()
  let closing: Promise<void> | undefined
  return {
    capabilities,
    recognize:
      (settings = {}) =>
      (part$) =>
        defer(() => {
          if (closing !== undefined) throw engineClosed()
          return part$.pipe(decodeSegments(openerOf(openChannel, settings), capabilities.sampleRateHz, channels))
        }),
    ready: () => (closing === undefined ? ready() : Promise.reject(engineClosed())),
    checkPhrases: (phrases) => (closing === undefined ? checkPhrases(phrases) : Promise.reject(engineClosed())),
    busyMs: () => busyMs?.(),
    memoryBytes: () => memoryBytes?.(),
    waitMs: (speakers) => waitMs?.(speakers) ?? 0,
    partialIntervalMs: () => partialIntervalMs?.() ?? 0,
    close: () => {
      closing ??= close()
      for (const channel of [...channels]) channel.fail(engineClosed())
      return closing
    },
  }
}

const engineClosed = (): SpeechError =>
  new SpeechError('engine-failed', 'The recognition engine was closed.', { retryable: false })

type OpenIn = (language: string | undefined) => OpenSegment

/** What opens the segments of a channel in a language, which is rarely another one than that of the segment before. */
const openerOf = (openChannel: SegmentEngineOptions['openChannel'], settings: RecognizeSettings): OpenIn => {
  let last = settings.language
  let openSegment = openChannel(settings)
  return (language = settings.language) => {
    if (language !== last) openSegment = openChannel({ ...settings, language })
    last = language
    return openSegment
  }
}

/** Decodes the segments of one channel, which is in `channels` as long as it is subscribed. */
const decodeSegments =
  (openIn: OpenIn, sampleRateHz: number, channels: Set<Channel>): OperatorFunction<SegmentPart, Hypothesis> =>
  (part$) =>
    new Observable((subscriber) => {
      const channel = new Channel(openIn, sampleRateHz, subscriber)
      channels.add(channel)
      subscriber.add(() => {
        channels.delete(channel)
        channel.abort()
      })
      subscriber.add(
        part$.pipe(takeWhile(() => !subscriber.closed)).subscribe({
          next: (part) => channel.post(part),
          error: (error: unknown) => channel.fail(error),
          complete: () => channel.post({ type: 'completed' }),
        }),
      )
    })

type State =
  | { readonly type: 'idle' }
  | { readonly type: 'open'; startMs: number; readonly segment: EngineSegment; sampleCount: number }
  /** The segment is closed and its result pending. Parts that arrive belong to the next segment and wait. */
  | {
      readonly type: 'deciding'
      startMs: number
      sampleCount: number
      readonly endMs: number
      readonly segment: EngineSegment
      readonly waiting: SegmentPart[]
    }
  | { readonly type: 'over' }

type Input =
  | SegmentPart
  | {
      readonly type: 'decided'
      /** Of the part of the segment that is decided; absent if that is all of it. */
      readonly sampleCount?: number
      readonly words: readonly Word[]
      readonly text: SegmentText
    }
  | { readonly type: 'checked'; readonly isComplete: boolean }
  | { readonly type: 'completed' }

class Channel {
  readonly #openIn: OpenIn
  readonly #sampleRateHz: number
  readonly #out: Subscriber<Hypothesis>
  readonly #mailbox = new Mailbox<Input>((input) => this.#handle(input))
  #state: State = { type: 'idle' }
  #isCompleted = false

  constructor(openIn: OpenIn, sampleRateHz: number, out: Subscriber<Hypothesis>) {
    this.#openIn = openIn
    this.#sampleRateHz = sampleRateHz
    this.#out = out
  }

  post(input: Input): void {
    this.#mailbox.post(input)
  }

  fail(error: unknown): void {
    this.abort()
    this.#out.error(error)
  }

  abort(): void {
    const state = this.#state
    this.#state = { type: 'over' }
    if (state.type === 'open' || state.type === 'deciding') state.segment.abort()
  }

  #handle(input: Input): void {
    if (this.#state.type === 'over') return
    if (input.type === 'decided' && input.sampleCount !== undefined) this.#decidePart(input, input.sampleCount)
    else if (input.type === 'decided') this.#finishSegment(input)
    else if (input.type === 'checked') {
      if (this.#state.type === 'open') this.#out.next(input)
    } else if (input.type === 'completed') {
      this.#isCompleted = true
      this.#flush()
    } else this.#take(input)
  }

  #take(part: SegmentPart): void {
    const state = this.#state
    if (state.type === 'over') return
    if (state.type === 'deciding') state.waiting.push(part)
    else if (state.type === 'open' && part.type === 'audio') {
      state.sampleCount += part.samples.length
      state.segment.write(part.samples)
    } else if (state.type === 'open' && part.type === 'check') this.#check(state.segment)
    else if (state.type === 'open' && part.type === 'close') this.#close(state, part.endMs, part.isCut, part.after)
    else if (state.type === 'idle' && part.type === 'open') this.#open(part)
    else this.fail(outOfOrder())
  }

  #open({ startMs, traceparent, before, language, attempt }: SegmentPart & { readonly type: 'open' }): void {
    const listener: SegmentListener = {
      progress: (sampleCount, text, stableLength) => {
        if (sampleCount > 0) this.#out.next({ type: 'progress', sampleCount })
        if (text !== undefined) this.#showPartial(startMs, text, stableLength)
      },
      decidedPart: (sampleCount, words, text = { text: textOf(words) }) =>
        this.post({ type: 'decided', sampleCount, words, text }),
      decided: (words, text = { text: textOf(words) }) => this.post({ type: 'decided', words, text }),
      checked: (isComplete) => this.post({ type: 'checked', isComplete }),
      failed: (error) => this.fail(error),
    }
    const segment = this.#openIn(language)(startMs, listener, traceparent, before, attempt)
    this.#state = { type: 'open', startMs, segment, sampleCount: 0 }
  }

  /** A partial belongs to what is not decided of its segment, which may call before it is known here. */
  #showPartial(openedMs: number, text: string, stableLength: number | undefined): void {
    const state = this.#state
    if (state.type === 'over') return
    const startMs = state.type === 'idle' ? openedMs : state.startMs
    this.#out.next({ type: 'partial', startMs, text, ...(stableLength !== undefined && { stableLength }) })
  }

  #check(segment: EngineSegment): void {
    if (segment.check === undefined) this.post({ type: 'checked', isComplete: false })
    else segment.check()
  }

  #close(
    { startMs, sampleCount, segment }: State & { readonly type: 'open' },
    endMs: number,
    isCut = false,
    after?: Int16Array,
  ): void {
    this.#state = { type: 'deciding', startMs, sampleCount, endMs, segment, waiting: [] }
    segment.close(endMs, isCut, after)
  }

  /** The segment continues as one that begins where its decided part ends. */
  #decidePart({ words, text }: Input & { readonly type: 'decided' }, decidedSamples: number): void {
    const state = this.#state
    if (state.type !== 'open' && state.type !== 'deciding') return
    const { startMs } = state
    const endMs = startMs + Math.round((decidedSamples * 1000) / this.#sampleRateHz)
    state.startMs = endMs
    state.sampleCount -= decidedSamples
    this.#out.next({ type: 'segment', startMs, endMs, decidedSamples, words, ...text })
  }

  #finishSegment({ words, text }: Input & { readonly type: 'decided' }): void {
    const state = this.#state
    if (state.type !== 'deciding') return
    this.#out.next({ type: 'segment', startMs: state.startMs, endMs: state.endMs, words, ...text })
    if (this.#state !== state) return
    this.#state = { type: 'idle' }
    for (const part of state.waiting) this.#take(part)
    if (this.#isCompleted) this.#flush()
  }

  /** The input completed: closes the open segment where its audio ends, and completes when nothing is open. */
  #flush(): void {
    const state = this.#state
    if (state.type === 'idle') this.#out.complete()
    else if (state.type === 'open') {
      this.#close(state, state.startMs + Math.round((state.sampleCount * 1000) / this.#sampleRateHz), true)
    }
  }
}

const outOfOrder = (): SpeechError =>
  new SpeechError(
    'internal',
    'Parts of segments are out of order; each segment must open, then have audio, then close.',
  )
