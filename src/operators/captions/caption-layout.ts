import { weakest, type CaptionLine, type CueTimes } from './caption-cue.js'
import type { CaptionRules } from './caption-options.js'
import type { TimedToken } from './caption-times.js'

/** A token with its times and its state. */
export interface PlacedToken extends TimedToken {
  readonly isCommitted: boolean
  /** Whether it is committed, or no later partial changes it. */
  readonly isStable: boolean
  /** Whether a definitive result ends with it. A cue of at least `minMs` ends there, too. */
  readonly endsPiece: boolean
}

/** Lost audio, which no cue spans. */
export interface AudioGap {
  readonly fromMs: number
  readonly toMs: number
}

/** The current content of a cue. */
export interface CueDraft {
  readonly tokens: readonly PlacedToken[]
  readonly lines: readonly CaptionLine[]
  readonly startMs: number
  readonly endMs: number
  readonly times: CueTimes
  /** Whether no further word can be added. */
  readonly isClosed: boolean
}

/**
 * Arranges tokens in lines and lines in cues, each as full as possible, so that later words never move earlier ones.
 * `labelColumns` stay free in the first line of each cue.
 */
export const layOut = (
  tokens: readonly PlacedToken[],
  rules: CaptionRules,
  labelColumns: number,
  gaps: readonly AudioGap[],
): readonly CueDraft[] => {
  const drafts: CueDraft[] = []
  let cue: PlacedToken[] = []
  let lines: PlacedToken[][] = []
  const close = (isClosed: boolean): void => {
    if (cue.length > 0) drafts.push(draftOf(cue, lines, isClosed))
    cue = []
    lines = []
  }
  for (const token of tokens) {
    if (isSeparate(cue, token, rules, gaps)) close(true)
    if (!fitsLine(lines, token, rules, labelColumns)) {
      if (lines.length === rules.maxLines) close(true)
      lines.push([])
    }
    lines.at(-1)?.push(token)
    cue.push(token)
    if (token.endsPiece && token.endMs - (cue[0]?.startMs ?? 0) >= rules.minMs) close(true)
  }
  close(false)
  return drafts
}

const fitsLine = (
  lines: readonly (readonly PlacedToken[])[],
  token: PlacedToken,
  { maxColumns }: CaptionRules,
  labelColumns: number,
): boolean => {
  const line = lines.at(-1)
  if (line === undefined) return false
  const maxColumnsOfLine = maxColumns - (lines.length === 1 ? labelColumns : 0)
  return line.length === 0 || columnsOfLine(line) + (token.spaced ? 1 : 0) + token.columns <= maxColumnsOfLine
}

const columnsOfLine = (line: readonly PlacedToken[]): number =>
  line.reduce((sum, { columns, spaced }, at) => sum + columns + (spaced && at > 0 ? 1 : 0), 0)

/** Whether silence, lost audio or the maximum duration separates a word from the cue before it. */
const isSeparate = (
  cue: readonly PlacedToken[],
  next: PlacedToken,
  { maxMs, pauseMs }: CaptionRules,
  gaps: readonly AudioGap[],
): boolean => {
  const [first, last] = [cue[0], cue.at(-1)]
  if (first === undefined || last === undefined) return false
  return (
    next.startMs - last.endMs > pauseMs ||
    next.endMs - first.startMs > maxMs ||
    gaps.some(({ fromMs, toMs }) => fromMs >= last.startMs && fromMs < next.endMs && toMs <= next.endMs)
  )
}

const draftOf = (
  tokens: readonly PlacedToken[],
  lines: readonly (readonly PlacedToken[])[],
  isClosed: boolean,
): CueDraft => ({
  tokens,
  lines: lines.map(lineOf),
  startMs: tokens[0]?.startMs ?? 0,
  endMs: tokens.at(-1)?.endMs ?? 0,
  times: tokens.reduce<CueTimes>((times, token) => weakest(times, token.times), 'words'),
  isClosed,
})

const lineOf = (line: readonly PlacedToken[]): CaptionLine => {
  const text = textOf(line)
  const stable = textOf(line.filter(({ isStable }) => isStable))
  return { stable, changing: text.slice(stable.length) }
}

const textOf = (tokens: readonly PlacedToken[]): string =>
  tokens.map(({ text, spaced }, at) => (spaced && at > 0 ? ` ${text}` : text)).join('')
