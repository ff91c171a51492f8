import type { SessionEvent } from '../../protocol/session-event.js'
import { accumulate, isResult, nothingYet, type Accumulated, type ResultEvent } from '../accumulate-milestones.js'
import type { CaptionCue } from './caption-cue.js'
import { CaptionLane, type Said } from './caption-lane.js'
import type { LostStretch } from './caption-layout.js'
import type { CaptionRules } from './caption-options.js'

/**
 * All channels of one session. What it has to say waits in one line, so that a cue which a reader causes while it gets
 * another comes behind it.
 */
export class CaptionBook {
  readonly #rules: CaptionRules
  readonly #lanes = new Map<number, CaptionLane>()
  readonly #outbox: CaptionCue[] = []
  readonly #lost: LostStretch[] = []
  readonly #readyMs: number
  #streamingMs: number | undefined
  #heard: Accumulated = nothingYet
  #lastId = 0

  constructor(rules: CaptionRules) {
    this.#rules = rules
    this.#readyMs = rules.scheduler.now()
  }

  take(event: SessionEvent): Iterable<CaptionCue> {
    if (isResult(event)) this.#takeResult(event)
    else this.#takeOther(event)
    return this.#told()
  }

  end(): Iterable<CaptionCue> {
    for (const lane of this.#lanes.values()) this.#outbox.push(...lane.end())
    return this.#told()
  }

  #takeResult(event: ResultEvent): void {
    const channel = event.channel ?? 0
    const committed = this.#laneText(channel).committed.length
    this.#heard = accumulate(this.#heard, event)
    const text = this.#laneText(channel)
    const said: Said = {
      definitive: text.committed.slice(committed),
      partial: text.partial,
      span: this.#spanOf(event, committed > 0),
      isLast: event.type === 'final',
    }
    this.#outbox.push(...this.#lane(channel).hear(said))
  }

  #takeOther(event: SessionEvent): void {
    if (event.type === 'ledger') return this.#heardUntil(event.finalizedMs, event.channel)
    if (event.type === 'event') return this.#heardUntil(event.startMs, event.channel < 0 ? undefined : event.channel)
    if (event.type !== 'connection') return
    if (event.state === 'streaming') this.#streamingMs ??= this.#rules.scheduler.now()
    // No word is lost in silence.
    if (event.state === 'gap' && event.cause !== 'silence') this.#lose(event, event.channel)
  }

  #heardUntil(ms: number, channel: number | undefined): void {
    for (const [one, lane] of this.#lanes) {
      if (channel === undefined || channel === one) this.#outbox.push(...lane.heardUntil(ms))
    }
  }

  #lose({ fromMs, toMs }: LostStretch, channel: number | undefined): void {
    if (channel === undefined) {
      this.#lost.push({ fromMs, toMs })
      if (this.#lost.length > rememberedGaps) this.#lost.shift()
      for (const lane of this.#lanes.values()) lane.lose({ fromMs, toMs })
    } else this.#lane(channel).lose({ fromMs, toMs })
  }

  #laneText(channel: number): { readonly committed: string; readonly partial: string } {
    return this.#heard.transcript.lanes.find((lane) => lane.channel === channel) ?? { committed: '', partial: '' }
  }

  #lane(channel: number): CaptionLane {
    const known = this.#lanes.get(channel)
    if (known !== undefined) return known
    const lane = new CaptionLane(channel, this.#rules, () => ++this.#lastId)
    for (const stretch of this.#lost) lane.lose(stretch)
    this.#lanes.set(channel, lane)
    return lane
  }

  /** A final names the time of its whole recognition, which says nothing of its last words where others came before. */
  #spanOf(event: ResultEvent, isContinued: boolean): Said['span'] {
    const words = event.type === 'milestone' ? event.words : undefined
    return {
      startMs: event.type === 'final' && isContinued ? undefined : event.startMs,
      endMs: event.endMs ?? this.#audioMs(),
      times: event.endMs === undefined ? 'arrival' : 'results',
      ...(words !== undefined && { words }),
    }
  }

  #audioMs(): number {
    const { audioMs, scheduler } = this.#rules
    return audioMs?.() ?? scheduler.now() - (this.#streamingMs ?? this.#readyMs)
  }

  *#told(): Generator<CaptionCue> {
    for (let cue = this.#outbox.shift(); cue !== undefined; cue = this.#outbox.shift()) yield cue
  }
}

const rememberedGaps = 64
