import type { TimestampProvider } from 'rxjs'
import type { Hypothesis } from 'rxspeech-engines/engine'
import { withoutUndefined } from 'rxspeech-engines/without-undefined'
import type { Word } from 'rxspeech/internal/protocol/session-event'
import type { ChannelEvent, EndCause } from './channel-event.js'
import type { EngineProgress } from './engine-progress.js'
import type { Silence } from './segment-machine.js'

type DecidedSegment = Extract<Hypothesis, { type: 'segment' }>

/** A silence, with the number of segments before it, which the engine may not have decided yet. */
interface PendingSilence extends Silence {
  readonly segmentsBefore: number
}

/** Why a channel ends, and at which time of the audio; where the received audio ends if `atMs` is undefined. */
interface ChannelEnd {
  readonly cause: EndCause
  readonly atMs?: number | undefined
}

const none: readonly ChannelEvent[] = []

/** How often a channel may have a partial. */
export interface PartialLimit {
  /** The shortest time between two partials, in milliseconds, which may change at any time. @default () => 0 */
  readonly intervalMs?: (() => number) | undefined
  /** See `Engine.partialIntervalMs`. @default () => 0 */
  readonly engineIntervalMs?: (() => number) | undefined
  readonly clock: TimestampProvider
}

const unlimited: PartialLimit = { clock: { now: () => 0 } }

/** Turns the hypotheses of an engine into results whose milestones concatenate to the final text (PROTOCOL 5). */
export class ChannelResults {
  readonly #progress: EngineProgress
  readonly #separator: string
  readonly #partialLimit: PartialLimit
  #partialAtMs = -Infinity
  /** The interval while partials are thinned. */
  #thinnedTo = 0
  #text = ''
  #partialText = ''
  #stableLength = 0
  #startMs: number | undefined
  #endMs = 0
  readonly #confidence = new MeanConfidence()
  /** Silences behind segments that are not decided yet: at most one for each 30 s of audio. */
  #silences: PendingSilence[] = []

  constructor(progress: EngineProgress, separator: string, partialLimit = unlimited) {
    this.#progress = progress
    this.#separator = separator
    this.#partialLimit = partialLimit
  }

  of(hypothesis: Exclude<Hypothesis, { readonly type: 'progress' | 'checked' }>): readonly ChannelEvent[] {
    switch (hypothesis.type) {
      case 'partial':
        return this.#partial(hypothesis)
      case 'segment':
        if (hypothesis.decidedSamples === undefined) this.#progress.decideOldest()
        else this.#progress.decidePart(hypothesis.decidedSamples, hypothesis.endMs)
        return [
          ...this.#decided(withinAudio(hypothesis, this.#progress.receivedMs)),
          ...this.#processed(),
          ...this.dueSilences(),
        ]
      case 'fault':
        return [{ ...hypothesis, startMs: Math.round(hypothesis.startMs) }]
    }
  }

  /** A silence states that all audio before its end has its results, so it waits for the segments before it. */
  addSilence(silence: Silence): void {
    this.#silences.push({ ...silence, segmentsBefore: this.#progress.sentSegments })
  }

  /** The end, once the engine has decided everything: the remaining progress and the final. */
  end({ cause, atMs = Infinity }: ChannelEnd): readonly ChannelEvent[] {
    const heardMs = Math.min(atMs, this.#progress.receivedMs)
    const confidence = this.#confidence.value
    return [
      ...this.#processed(),
      {
        type: 'final',
        startMs: this.#startMs ?? 0,
        endMs: this.#startMs === undefined ? heardMs : this.#endMs,
        text: this.#text,
        ...(confidence === undefined ? {} : { confidence }),
        heardMs: Math.floor(heardMs),
        cause,
      },
    ]
  }

  #processed(): readonly ChannelEvent[] {
    const sampleCount = this.#progress.takeProcessed()
    return sampleCount === 0 ? none : [{ type: 'progress', sampleCount }]
  }

  /** The silences whose segments before them are decided. */
  dueSilences(): readonly ChannelEvent[] {
    if (this.#silences.length === 0) return none
    const isDue = ({ segmentsBefore }: PendingSilence): boolean => segmentsBefore <= this.#progress.decidedSegments
    const due = this.#silences.filter(isDue)
    this.#silences = this.#silences.slice(due.length)
    return due.map(({ type, startMs, endMs }) => ({ type, startMs, endMs }))
  }

  #partial(hypothesis: Extract<Hypothesis, { readonly type: 'partial' }>): readonly ChannelEvent[] {
    const startMs = Math.round(hypothesis.startMs)
    const text = hypothesis.text.trim()
    // What the text loses at its start is stable.
    const stableLength = hypothesis.text.slice(0, hypothesis.stableLength ?? 0).trim().length
    if (text === this.#partialText && stableLength === this.#stableLength) return none
    const intervalMs = this.#serviceIntervalMs
    const nowMs = this.#partialLimit.clock.now()
    if (nowMs - this.#partialAtMs < intervalMs) return this.#setThinned(intervalMs)
    this.#partialText = text
    this.#stableLength = stableLength
    this.#partialAtMs = nowMs
    const stable = stableLength > 0 ? { stableLength } : undefined
    const partial = { type: 'partial', startMs, endMs: this.#progress.processedMs, text, ...stable } as const
    return [...this.thinning(), partial]
  }

  get #serviceIntervalMs(): number {
    return this.#partialLimit.intervalMs?.() ?? 0
  }

  /**
   * Reports when partials begin to be thinned, and when no longer; call it as audio arrives. The service thins them
   * only when it withholds one, and the engine only those of an open segment, but both may end without any speech.
   */
  thinning(): readonly ChannelEvent[] {
    const isOpen = this.#progress.sentSegments > this.#progress.decidedSegments
    if (!isOpen && this.#thinnedTo === 0) return none
    const engineMs = this.#partialLimit.engineIntervalMs?.() ?? 0
    if (isOpen && engineMs > 0) return this.#setThinned(engineMs)
    return engineMs + this.#serviceIntervalMs === 0 ? this.#setThinned(0) : none
  }

  #setThinned(to: number): readonly ChannelEvent[] {
    const from = this.#thinnedTo
    if ((from === 0) === (to === 0)) return none
    this.#thinnedTo = to
    const startMs = this.#progress.processedMs
    return [
      to > 0
        ? { type: 'partials-thinned', phase: 'begun', startMs, intervalMs: to }
        : { type: 'partials-thinned', phase: 'ended', startMs, intervalMs: from },
    ]
  }

  #decided(segment: DecidedSegment): readonly ChannelEvent[] {
    const shown = this.#partialText
    this.#partialText = ''
    this.#stableLength = 0
    if (segment.text.trim() !== '') return [this.#milestone(segment)]
    const { startMs, endMs } = segment
    // The text of the partials is withdrawn.
    const empty = shown === '' ? [] : [{ type: 'partial', startMs, endMs, text: '' } as const]
    return [...empty, { type: 'no-match', startMs, endMs }]
  }

  #milestone({ decidedSamples: _ofPart, isIncomplete, ...segment }: DecidedSegment): ChannelEvent {
    const { startMs, endMs, words, confidence } = segment
    const trimmed = segment.text.trim()
    const text = this.#text === '' ? trimmed : this.#separator + trimmed
    this.#text += text
    this.#startMs = Math.min(this.#startMs ?? startMs, startMs)
    this.#endMs = Math.max(this.#endMs, endMs)
    const isUnrated = words.every((word) => word.confidence === undefined)
    const rated = isUnrated && confidence !== undefined ? [{ text: trimmed, startMs, endMs, confidence }] : words
    this.#confidence.add(rated)
    const mean = new MeanConfidence().add(rated).value
    const result = withoutUndefined({ ...segment, text, confidence: mean })
    return { ...result, type: 'milestone', ...(isIncomplete && { isIncomplete }) }
  }
}

/** The mean of posteriors from 0 to 1, weighted by the duration of their words; words without one do not count. */
class MeanConfidence {
  #weighted = 0
  #durationMs = 0

  add(words: readonly Word[]): this {
    for (const { startMs, endMs, confidence } of words) {
      if (confidence === undefined) continue
      const lengthMs = Math.max(endMs - startMs, 1)
      this.#weighted += lengthMs * Math.min(Math.max(confidence, 0), 1)
      this.#durationMs += lengthMs
    }
    return this
  }

  /** Undefined before the first word. */
  get value(): number | undefined {
    return this.#durationMs === 0 ? undefined : this.#weighted / this.#durationMs
  }
}

/**
 * The segment in whole milliseconds, none of them beyond the received audio: an engine may count its times in frames,
 * and clients take the span of a result as confirmed.
 */
const withinAudio = (segment: DecidedSegment, receivedMs: number): DecidedSegment => {
  const clip = <Span extends { readonly startMs: number; readonly endMs: number }>(span: Span): Span => {
    const endMs = Math.min(Math.round(span.endMs), receivedMs)
    return { ...span, startMs: Math.min(Math.round(span.startMs), endMs), endMs }
  }
  return { ...clip(segment), words: segment.words.map(clip) }
}
