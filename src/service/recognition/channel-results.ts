import type { Hypothesis } from '../engine/engine.js'
import { Confidence } from './confidence.js'
import type { EngineProgress } from './engine-progress.js'
import type { EndCause, ChannelEvent } from './channel-event.js'
import type { SilenceBehind } from './segment-samples.js'

type DecidedSegment = Extract<Hypothesis, { type: 'segment' }>

/** Why a lane ends, and where in the audio; without `atMs` where the audio received ends. */
export interface ChannelEnd {
  readonly cause: EndCause
  readonly atMs?: number
}

const none: readonly ChannelEvent[] = []

/** Turns an engine's hypotheses into results whose milestones concatenate to the final text (service.md 4.2 rules 4 to 6). */
export class ChannelResults {
  private text = ''
  private partialText = ''
  private startMs: number | undefined
  private endMs = 0
  private readonly confidence = new Confidence()
  /** Behind segments that are not decided yet. One for each 30 s of audio at most. */
  private silences: SilenceBehind[] = []

  constructor(
    private readonly account: EngineProgress,
    private readonly separator: string,
  ) {}

  of(hypothesis: Hypothesis): readonly ChannelEvent[] {
    switch (hypothesis.type) {
      case 'partial':
        return this.partial(Math.round(hypothesis.startMs), hypothesis.text.trim())
      case 'segment':
        this.partialText = ''
        this.account.decide()
        return [
          ...this.milestone(heardOf(hypothesis, this.account.receivedMs)),
          ...this.progress(),
          ...this.dueSilences(),
        ]
      case 'progress':
        this.account.take(hypothesis.sampleCount)
        return this.progress()
      case 'fault':
        return [{ ...hypothesis, startMs: Math.round(hypothesis.startMs) }]
    }
  }

  /** It says that all before its end has its result, so it waits for the milestones of the segments before it. */
  silence(silence: SilenceBehind): readonly ChannelEvent[] {
    this.silences.push(silence)
    return this.dueSilences()
  }

  progress(): readonly ChannelEvent[] {
    const sampleCount = this.account.settle()
    return sampleCount === 0 ? none : [{ type: 'progress', sampleCount }]
  }

  /** The end, when the engine has decided all: what was not reported as progress yet, and the one final. */
  end({ cause, atMs = Infinity }: ChannelEnd): readonly ChannelEvent[] {
    const confidence = this.confidence.mean
    const heardMs = Math.min(atMs, this.account.receivedMs)
    const span =
      this.startMs === undefined ? { startMs: 0, endMs: heardMs } : { startMs: this.startMs, endMs: this.endMs }
    const sure = confidence === undefined ? {} : { confidence }
    return [
      ...this.progress(),
      { type: 'final', ...span, text: this.text, ...sure, heardMs: Math.floor(heardMs), cause },
    ]
  }

  private dueSilences(): readonly ChannelEvent[] {
    if (this.silences.length === 0) return none
    const isDue = ({ segmentsBefore }: SilenceBehind): boolean => segmentsBefore <= this.account.decidedSegments
    const due = this.silences.filter(isDue)
    this.silences = this.silences.slice(due.length)
    return due.map(({ type, startMs, endMs }) => ({ type, startMs, endMs }))
  }

  private partial(startMs: number, text: string): readonly ChannelEvent[] {
    if (text === this.partialText) return none
    this.partialText = text
    return [{ type: 'partial', startMs, endMs: this.account.heardMs, text }]
  }

  private milestone({ startMs, endMs, text, words, confidence: whole }: DecidedSegment): readonly ChannelEvent[] {
    const said = text.trim()
    if (said === '') return none
    const piece = this.text === '' ? said : this.separator + said
    this.text += piece
    this.startMs = Math.min(this.startMs ?? startMs, startMs)
    this.endMs = Math.max(this.endMs, endMs)
    const sure = words.length === 0 && whole !== undefined ? [{ text: said, startMs, endMs, confidence: whole }] : words
    this.confidence.add(sure)
    const confidence = new Confidence().add(sure).mean ?? 0
    return [{ type: 'milestone', startMs, endMs, text: piece, words, confidence }]
  }
}

/**
 * An engine may count its times in frames; on the wire they are whole milliseconds, and none is beyond the audio that came:
 * clients take what a result spans for confirmed.
 */
const heardOf = (segment: DecidedSegment, receivedMs: number): DecidedSegment => {
  const within = <Span extends { readonly startMs: number; readonly endMs: number }>(span: Span): Span => {
    const endMs = Math.min(Math.round(span.endMs), receivedMs)
    return { ...span, startMs: Math.min(Math.round(span.startMs), endMs), endMs }
  }
  return { ...within(segment), words: segment.words.map(within) }
}
