import { commonLength, findContinuation } from './align-words.js'
import type { CaptionCue } from './caption-cue.js'
import { layOut, type CueDraft, type AudioGap, type PlacedToken } from './caption-layout.js'
import type { CaptionRules } from './caption-options.js'
import { timed, type Span, type TimedToken } from './caption-times.js'
import { columnsOf, tokensOf, type CaptionToken } from './caption-tokens.js'

/** A word that can still change, and since when it has been unchanged, in milliseconds of audio. */
interface ChangingToken extends TimedToken {
  readonly sinceMs: number
}

/** The text of a result. */
export interface SpokenText {
  /** Definitive text, after all earlier text. */
  readonly definitive: string
  /** Text after it that can still change. */
  readonly partial: string
  /** What of the beginning of `partial` no later partial changes. */
  readonly stable: string
  /** The times of the result. Without a start of its own it follows the text before. */
  readonly span: Omit<Span, 'startMs'> & { readonly startMs: number | undefined }
  /** Whether the recognition ends with it, so that no definitive text follows for committed partials. */
  readonly isLast: boolean
}

/** An estimate of the duration of speech, in milliseconds per column of text. */
const msPerColumn = 75
const rememberedGaps = 64

const keyOf = ({ text, spaced }: CaptionToken): string => (spaced ? ` ${text}` : text)

/** The captions of one channel: each call returns the cues that it changed. */
export class ChannelCaptions {
  readonly #channel: number
  readonly #rules: CaptionRules
  readonly #speaker: string | undefined
  readonly #labelColumns: number
  readonly #newId: () => number
  /** Committed words that are in no final cue yet. */
  #committed: PlacedToken[] = []
  #changing: readonly ChangingToken[] = []
  /** How many of these no later partial changes. */
  #stableCount = 0
  /** Words that were committed from partials and that no definitive text has covered yet. */
  #ahead: string[] = []
  #gaps: readonly AudioGap[] = []
  /** Cues that can still change. */
  #live: readonly CaptionCue[] = []
  #committedMs = 0
  #cueEndMs = 0
  #flicker = 0
  #contradicted = 0

  /** `newId` returns the id of the next cue. */
  constructor(channel: number, rules: CaptionRules, newId: () => number) {
    this.#channel = channel
    this.#rules = rules
    this.#newId = newId
    this.#speaker = rules.speakers[channel]
    this.#labelColumns = this.#speaker === undefined ? 0 : columnsOf(this.#speaker) + 2
  }

  add({ definitive, partial, stable, span, isLast }: SpokenText): readonly CaptionCue[] {
    const shown = this.#changing.map(keyOf)
    const before = this.#committed.length
    const isNew = this.#tokens(definitive).length > 0
    if (isNew) this.#commitDefinitive(definitive, span)
    this.#setPartial(partial, stable, isNew ? { ...span, startMs: undefined } : span)
    this.#commitStable(span.endMs)
    const remaining = [...this.#committed.slice(before), ...this.#changing].map(keyOf)
    this.#flicker += shown.length - commonLength(shown, remaining)
    if (!isLast) return this.#show()
    this.#contradicted += this.#ahead.length
    return this.end()
  }

  /** No cue spans the gap. */
  addGap(gap: AudioGap): void {
    this.#gaps = [...this.#gaps, gap].slice(-rememberedGaps)
  }

  /** All results up to here have arrived: a cue that no word can join any more becomes final. */
  finishUntil(ms: number): readonly CaptionCue[] {
    const isOver = this.#changing.length === 0 && ms >= this.#committedMs + this.#rules.pauseMs
    return isOver && this.#committed.length > 0 ? this.#show(true) : []
  }

  /** Makes committed words final and withdraws all others. */
  end(): readonly CaptionCue[] {
    this.#flicker += this.#changing.length
    this.#changing = []
    this.#stableCount = 0
    this.#ahead = []
    return this.#show(true)
  }

  #tokens(text: string): readonly CaptionToken[] {
    return tokensOf(text, this.#rules.maxColumns - this.#labelColumns)
  }

  #commitDefinitive(text: string, span: SpokenText['span']): void {
    const tokens = this.#tokens(text)
    const { at, differing } = findContinuation(this.#ahead, tokens.map(keyOf))
    this.#contradicted += differing
    this.#ahead = []
    this.#changing = []
    const placed = timed(tokens, this.#spanOf(span, tokens))
    for (const token of placed.slice(at)) this.#commit(token)
    const last = this.#committed.pop()
    if (last !== undefined) this.#committed.push({ ...last, endsPiece: true })
  }

  /** Words that did not change keep their times. */
  #setPartial(text: string, stable: string, span: SpokenText['span']): void {
    const all = this.#tokens(text)
    const { at } = findContinuation(this.#ahead, all.map(keyOf))
    const tokens = all.slice(at)
    this.#stableCount = Math.max(commonLength(this.#tokens(stable).map(keyOf), all.map(keyOf)) - at, 0)
    const kept = this.#changing.slice(0, commonLength(this.#changing.map(keyOf), tokens.map(keyOf)))
    const added = tokens.slice(kept.length)
    const fromMs = kept.at(-1)?.endMs ?? (this.#ahead.length > 0 ? this.#committedMs : span.startMs)
    const placed = timed(added, this.#spanOf({ ...span, startMs: fromMs }, added))
    this.#changing = [...kept, ...placed.map((token) => ({ ...token, sinceMs: span.endMs }))]
  }

  #commitStable(nowMs: number): void {
    const { commitAfterMs } = this.#rules
    const isStable = (at: number): boolean => commitAfterMs < Infinity && at < this.#stableCount
    const open = this.#changing.findIndex(({ sinceMs }, at) => !isStable(at) && nowMs - sinceMs < commitAfterMs)
    const stable = open === -1 ? this.#changing : this.#changing.slice(0, open)
    for (const token of stable) {
      this.#ahead.push(keyOf(token))
      this.#commit(token)
    }
    this.#changing = this.#changing.slice(stable.length)
    this.#stableCount = Math.max(this.#stableCount - stable.length, 0)
  }

  #commit(token: TimedToken): void {
    const startMs = Math.max(this.#committedMs, token.startMs)
    const endMs = Math.max(startMs, token.endMs)
    this.#committed.push({ ...token, startMs, endMs, isCommitted: true, isStable: true, endsPiece: false })
    this.#committedMs = endMs
  }

  /** A span with a start: after the committed words and, if none is known, as early as the text takes to be spoken. */
  #spanOf({ startMs, endMs, ...rest }: SpokenText['span'], tokens: readonly CaptionToken[]): Span {
    const spokenMs = tokens.reduce((sum, { columns }) => sum + columns + 1, 0) * msPerColumn
    const fromMs = Math.max(this.#committedMs, startMs ?? endMs - spokenMs)
    return { startMs: fromMs, endMs: Math.max(fromMs, endMs), ...rest }
  }

  /** The cues that became final, then those that changed, then those that were withdrawn. */
  #show(isOver = false): readonly CaptionCue[] {
    const tokens = [
      ...this.#committed,
      ...this.#changing.map((token, at) => ({
        ...token,
        isCommitted: false,
        isStable: at < this.#stableCount,
        endsPiece: false,
      })),
    ]
    const drafts = layOut(tokens, this.#rules, this.#labelColumns, this.#gaps)
    const changed: CaptionCue[] = []
    const live: CaptionCue[] = []
    const shown = [...this.#live]
    for (const [at, draft] of drafts.entries()) {
      const isFinal =
        live.length === 0 && (draft.isClosed || isOver) && draft.tokens.every((token) => token.isCommitted)
      const before = shown.shift()
      const cue = this.#cueOf(draft, before?.id ?? this.#newId(), isFinal, drafts[at + 1]?.startMs ?? Infinity)
      if (isFinal) {
        this.#committed.splice(0, draft.tokens.length)
        this.#cueEndMs = cue.endMs
      } else live.push(cue)
      if (before === undefined || !isSame(before, cue)) changed.push(cue)
    }
    const withdrawn = shown.map((cue) => ({
      ...cue,
      state: 'withdrawn' as const,
      lines: [],
      text: '',
      ...this.#counts(),
    }))
    this.#live = live
    return [...changed, ...withdrawn]
  }

  #cueOf(draft: CueDraft, id: number, isFinal: boolean, nextMs: number): CaptionCue {
    const { lines, times } = draft
    const startMs = Math.max(draft.startMs, this.#cueEndMs)
    const minEndMs = isFinal ? Math.min(startMs + this.#rules.minMs, nextMs) : 0
    return {
      id,
      state: isFinal ? 'final' : 'live',
      channel: this.#channel,
      speaker: this.#speaker,
      startMs,
      endMs: Math.max(draft.endMs, minEndMs, startMs + 1),
      lines,
      text: lines.map(({ stable, changing }) => stable + changing).join('\n'),
      times,
      ...this.#counts(),
    }
  }

  #counts(): Pick<CaptionCue, 'flicker' | 'contradicted'> {
    return { flicker: this.#flicker, contradicted: this.#contradicted }
  }
}

const isSame = (a: CaptionCue, b: CaptionCue): boolean =>
  a.state === b.state &&
  a.text === b.text &&
  a.startMs === b.startMs &&
  a.endMs === b.endMs &&
  a.lines.every(({ stable }, index) => stable === b.lines[index]?.stable)
