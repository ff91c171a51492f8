import { commonLength, goesOnAt } from './align-words.js'
import type { CaptionCue } from './caption-cue.js'
import { layOut, type CueDraft, type LostStretch, type PlacedToken } from './caption-layout.js'
import type { CaptionRules } from './caption-options.js'
import { timed, type Span, type TimedToken } from './caption-times.js'
import { columnsOf, tokensOf, type CaptionToken } from './caption-tokens.js'

/** A word that may still change, and since when it has stood, in milliseconds of audio. */
interface ChangingToken extends TimedToken {
  readonly sinceMs: number
}

/** What a result says of its channel. */
export interface Said {
  /** Definitive text, behind all that was. */
  readonly definitive: string
  /** What is being said after it. */
  readonly partial: string
  /** Where the result stands; where it has no beginning of its own, behind what came before. */
  readonly span: Omit<Span, 'startMs'> & { readonly startMs: number | undefined }
  /** Whether the recognition ends with it, so that no definitive text follows for what was committed of partials. */
  readonly isLast: boolean
}

/** Without times: about how long speech takes, in milliseconds for a column of text. */
const msPerColumn = 75
const rememberedGaps = 64

const keyOf = ({ text, spaced }: CaptionToken): string => (spaced ? ` ${text}` : text)

/** The captions of one channel: takes what is said, hands out the cues that it changes. */
export class CaptionLane {
  readonly #channel: number
  readonly #rules: CaptionRules
  readonly #speaker: string | undefined
  readonly #labelColumns: number
  readonly #newId: () => number
  /** Committed, and in no final cue yet. */
  #committed: PlacedToken[] = []
  #changing: readonly ChangingToken[] = []
  /** What was committed of partials and no definitive text has covered yet. */
  #ahead: string[] = []
  #lost: readonly LostStretch[] = []
  /** The cues that are shown and may change. */
  #live: readonly CaptionCue[] = []
  #committedMs = 0
  #cueEndMs = 0
  #flicker = 0
  #contradicted = 0

  /** `newId` gives a number for each new cue. */
  constructor(channel: number, rules: CaptionRules, newId: () => number) {
    this.#channel = channel
    this.#rules = rules
    this.#newId = newId
    this.#speaker = rules.speakers[channel]
    this.#labelColumns = this.#speaker === undefined ? 0 : columnsOf(this.#speaker) + 2
  }

  hear({ definitive, partial, span, isLast }: Said): readonly CaptionCue[] {
    const shown = this.#changing.map(keyOf)
    const before = this.#committed.length
    const isNew = this.#tokens(definitive).length > 0
    if (isNew) this.#commitDefinitive(definitive, span)
    this.#setPartial(partial, isNew ? { ...span, startMs: undefined } : span)
    this.#commitStable(span.endMs)
    const standing = [...this.#committed.slice(before), ...this.#changing].map(keyOf)
    this.#flicker += shown.length - commonLength(shown, standing)
    if (!isLast) return this.#show()
    this.#contradicted += this.#ahead.length
    return this.end()
  }

  /** Audio that is lost. */
  lose(stretch: LostStretch): void {
    this.#lost = [...this.#lost, stretch].slice(-rememberedGaps)
  }

  /** All results up to here have come: a cue that nothing can join any more is over. */
  heardUntil(ms: number): readonly CaptionCue[] {
    const isOver = this.#changing.length === 0 && ms >= this.#committedMs + this.#rules.pauseMs
    return isOver && this.#committed.length > 0 ? this.#show(true) : []
  }

  /** Makes final what is committed, and takes back what is not. */
  end(): readonly CaptionCue[] {
    this.#flicker += this.#changing.length
    this.#changing = []
    this.#ahead = []
    return this.#show(true)
  }

  #tokens(text: string): readonly CaptionToken[] {
    return tokensOf(text, this.#rules.maxColumns - this.#labelColumns)
  }

  #commitDefinitive(text: string, span: Said['span']): void {
    const tokens = this.#tokens(text)
    const { at, differing } = goesOnAt(this.#ahead, tokens.map(keyOf))
    this.#contradicted += differing
    this.#ahead = []
    this.#changing = []
    const placed = timed(tokens, this.#spanOf(span, tokens))
    for (const token of placed.slice(at)) this.#commit(token)
    const last = this.#committed.pop()
    if (last !== undefined) this.#committed.push({ ...last, endsPiece: true })
  }

  /** Words that stand where they stood keep their times. */
  #setPartial(text: string, span: Said['span']): void {
    const all = this.#tokens(text)
    const tokens = all.slice(goesOnAt(this.#ahead, all.map(keyOf)).at)
    const kept = this.#changing.slice(0, commonLength(this.#changing.map(keyOf), tokens.map(keyOf)))
    const added = tokens.slice(kept.length)
    const fromMs = kept.at(-1)?.endMs ?? (this.#ahead.length > 0 ? this.#committedMs : span.startMs)
    const placed = timed(added, this.#spanOf({ ...span, startMs: fromMs }, added))
    this.#changing = [...kept, ...placed.map((token) => ({ ...token, sinceMs: span.endMs }))]
  }

  #commitStable(nowMs: number): void {
    const { commitAfterMs } = this.#rules
    const open = this.#changing.findIndex(({ sinceMs }) => nowMs - sinceMs < commitAfterMs)
    const standing = open === -1 ? this.#changing : this.#changing.slice(0, open)
    for (const token of standing) {
      this.#ahead.push(keyOf(token))
      this.#commit(token)
    }
    this.#changing = this.#changing.slice(standing.length)
  }

  #commit(token: TimedToken): void {
    const startMs = Math.max(this.#committedMs, token.startMs)
    const endMs = Math.max(startMs, token.endMs)
    this.#committed.push({ ...token, startMs, endMs, isCommitted: true, endsPiece: false })
    this.#committedMs = endMs
  }

  /** With a beginning: behind what is committed, and where none is told, as early as such a text takes to be said. */
  #spanOf({ startMs, endMs, ...rest }: Said['span'], tokens: readonly CaptionToken[]): Span {
    const saidMs = tokens.reduce((sum, { columns }) => sum + columns + 1, 0) * msPerColumn
    const fromMs = Math.max(this.#committedMs, startMs ?? endMs - saidMs)
    return { startMs: fromMs, endMs: Math.max(fromMs, endMs), ...rest }
  }

  /** The cues that are over, then those that changed, then those that are gone. */
  #show(isOver = false): readonly CaptionCue[] {
    const tokens = [
      ...this.#committed,
      ...this.#changing.map((token) => ({ ...token, isCommitted: false, endsPiece: false })),
    ]
    const drafts = layOut(tokens, this.#rules, this.#labelColumns, this.#lost)
    const told: CaptionCue[] = []
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
      if (before === undefined || !isSame(before, cue)) told.push(cue)
    }
    const gone = shown.map((cue) => ({ ...cue, state: 'withdrawn' as const, lines: [], text: '', ...this.#counts() }))
    this.#live = live
    return [...told, ...gone]
  }

  #cueOf(draft: CueDraft, id: number, isFinal: boolean, nextMs: number): CaptionCue {
    const { lines, times } = draft
    const startMs = Math.max(draft.startMs, this.#cueEndMs)
    const leastMs = isFinal ? Math.min(startMs + this.#rules.minMs, nextMs) : 0
    return {
      id,
      state: isFinal ? 'final' : 'live',
      channel: this.#channel,
      ...(this.#speaker !== undefined && { speaker: this.#speaker }),
      startMs,
      endMs: Math.max(draft.endMs, leastMs, startMs + 1),
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

const isSame = (one: CaptionCue, other: CaptionCue): boolean =>
  one.state === other.state &&
  one.text === other.text &&
  one.startMs === other.startMs &&
  one.endMs === other.endMs &&
  one.lines.every(({ stable }, at) => stable === other.lines[at]?.stable)
