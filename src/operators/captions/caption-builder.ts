import type { SessionEvent } from '../../protocol/session-event.js'
import {
  accumulate,
  isResult,
  emptyTranscript,
  type Accumulated,
  type ResultEvent,
  type TranscriptChannel,
} from '../results/transcript.js'
import type { CaptionCue } from './caption-cue.js'
import { ChannelCaptions, type SpokenText } from './channel-captions.js'
import type { AudioGap } from './caption-layout.js'
import type { CaptionRules } from './caption-options.js'

/**
 * The captions of all channels of one session. Changed cues wait in one queue, so that a cue which a consumer causes
 * while it handles another one follows it.
 */
export class CaptionBuilder {
  readonly #rules: CaptionRules
  readonly #channels = new Map<number, ChannelCaptions>()
  readonly #changed: CaptionCue[] = []
  readonly #gaps: AudioGap[] = []
  readonly #readyMs: number
  #streamingMs: number | undefined
  #accumulated: Accumulated = emptyTranscript
  #lastId = 0

  constructor(rules: CaptionRules) {
    this.#rules = rules
    this.#readyMs = rules.scheduler.now()
  }

  take(event: SessionEvent): Iterable<CaptionCue> {
    if (isResult(event)) this.#takeResult(event)
    else this.#takeOther(event)
    return this.#takeChanged()
  }

  end(): Iterable<CaptionCue> {
    for (const captions of this.#channels.values()) this.#changed.push(...captions.end())
    return this.#takeChanged()
  }

  #takeResult(event: ResultEvent): void {
    const channel = event.channel ?? 0
    const { committed = '' } = this.#viewOf(channel) ?? {}
    this.#accumulated = accumulate(this.#accumulated, event)
    const { partial = '', stableLength = 0 } = this.#viewOf(channel) ?? {}
    const spoken: SpokenText = {
      definitive: this.#accumulated.added,
      partial,
      stable: partial.slice(0, stableLength),
      span: this.#spanOf(event, committed !== ''),
      isLast: event.type === 'final',
    }
    this.#changed.push(...this.#captionsOf(channel).add(spoken))
  }

  #takeOther(event: SessionEvent): void {
    this.#accumulated = accumulate(this.#accumulated, event)
    if (event.type === 'ledger') return this.#finishUntil(event.finalizedMs, event.channel)
    if (event.type === 'event') return this.#finishUntil(event.startMs, event.channel < 0 ? undefined : event.channel)
    // A gap of silence contains no words.
    if (event.type === 'gap' && event.cause !== 'silence') this.#addGap(event, event.channel)
    if (event.type === 'connection' && event.state === 'streaming') this.#streamingMs ??= this.#rules.scheduler.now()
  }

  #finishUntil(ms: number, channel: number | undefined): void {
    for (const [key, captions] of this.#channels) {
      if (channel === undefined || channel === key) this.#changed.push(...captions.finishUntil(ms))
    }
  }

  #addGap({ fromMs, toMs }: AudioGap, channel: number | undefined): void {
    if (channel === undefined) {
      this.#gaps.push({ fromMs, toMs })
      if (this.#gaps.length > rememberedGaps) this.#gaps.shift()
      for (const captions of this.#channels.values()) captions.addGap({ fromMs, toMs })
    } else this.#captionsOf(channel).addGap({ fromMs, toMs })
  }

  #viewOf(channel: number): TranscriptChannel | undefined {
    return this.#accumulated.transcript.channels.find((view) => view.channel === channel)
  }

  #captionsOf(channel: number): ChannelCaptions {
    const existing = this.#channels.get(channel)
    if (existing !== undefined) return existing
    const captions = new ChannelCaptions(channel, this.#rules, () => ++this.#lastId)
    for (const gap of this.#gaps) captions.addGap(gap)
    this.#channels.set(channel, captions)
    return captions
  }

  /** A final has the times of its whole recognition, which do not locate its last words if other words came before. */
  #spanOf(event: ResultEvent, isContinued: boolean): SpokenText['span'] {
    const words = event.type === 'milestone' ? event.words : undefined
    return {
      startMs: event.type === 'final' && isContinued ? undefined : event.startMs,
      endMs: event.endMs ?? this.#audioMs(),
      times: event.endMs === undefined ? 'arrival' : 'results',
      words,
    }
  }

  #audioMs(): number {
    const { audioMs, scheduler } = this.#rules
    return audioMs?.() ?? scheduler.now() - (this.#streamingMs ?? this.#readyMs)
  }

  *#takeChanged(): Generator<CaptionCue> {
    for (let cue = this.#changed.shift(); cue !== undefined; cue = this.#changed.shift()) yield cue
  }
}

const rememberedGaps = 64
