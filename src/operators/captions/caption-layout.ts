import type { CaptionLine, CueTimes } from './caption-cue.js'
import { weakest } from './caption-cue.js'
import type { CaptionRules } from './caption-options.js'
import type { TimedToken } from './caption-times.js'

/** A token on its way into a cue. */
export interface PlacedToken extends TimedToken {
  readonly isCommitted: boolean
  /** Whether a definitive piece ends with it; a cue that has stood long enough ends there too. */
  readonly endsPiece: boolean
}

/** A stretch of audio that is lost: no cue spans it. */
export interface LostStretch {
  readonly fromMs: number
  readonly toMs: number
}

/** A cue as it stands now. */
export interface CueDraft {
  readonly tokens: readonly PlacedToken[]
  readonly lines: readonly CaptionLine[]
  readonly startMs: number
  readonly endMs: number
  readonly times: CueTimes
  /** Whether no further word can join it. */
  readonly isClosed: boolean
}

/**
 * Sets tokens into lines and lines into cues, from the first on and as full as they go, so that what comes later never
 * moves what stands. `labelColumns` stay free in the first line of each cue.
 */
export const layOut = (
  tokens: readonly PlacedToken[],
  rules: CaptionRules,
  labelColumns: number,
  lost: readonly LostStretch[],
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
    if (isApart(cue, token, rules, lost)) close(true)
    if (!joinsLine(lines, token, rules, labelColumns)) {
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

const joinsLine = (
  lines: readonly (readonly PlacedToken[])[],
  token: PlacedToken,
  { maxColumns }: CaptionRules,
  labelColumns: number,
): boolean => {
  const line = lines.at(-1)
  if (line === undefined) return false
  const room = maxColumns - (lines.length === 1 ? labelColumns : 0)
  return line.length === 0 || columnsOfLine(line) + (token.spaced ? 1 : 0) + token.columns <= room
}

const columnsOfLine = (line: readonly PlacedToken[]): number =>
  line.reduce((sum, { columns, spaced }, at) => sum + columns + (spaced && at > 0 ? 1 : 0), 0)

/** Whether silence, lost audio or the cue's length parts a word from those before it. */
const isApart = (
  cue: readonly PlacedToken[],
  next: PlacedToken,
  { maxMs, pauseMs }: CaptionRules,
  lost: readonly LostStretch[],
): boolean => {
  const [first, last] = [cue[0], cue.at(-1)]
  if (first === undefined || last === undefined) return false
  return (
    next.startMs - last.endMs > pauseMs ||
    next.endMs - first.startMs > maxMs ||
    lost.some(({ fromMs, toMs }) => fromMs >= last.startMs && fromMs < next.endMs && toMs <= next.endMs)
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
  const committed = line.filter(({ isCommitted }) => isCommitted)
  const text = textOf(line)
  const stable = textOf(committed)
  return { stable, changing: text.slice(stable.length) }
}

const textOf = (tokens: readonly PlacedToken[]): string =>
  tokens.map(({ text, spaced }, at) => (spaced && at > 0 ? ` ${text}` : text)).join('')
