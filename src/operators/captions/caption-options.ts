import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { columnsOf } from './caption-tokens.js'

export interface CaptionOptions {
  /** Columns of a line; a wide character, such as of Chinese, takes two. 8 to 400; default 42. */
  readonly maxChars?: number
  /** Lines of a cue, 1 to 10; default 2. */
  readonly maxLines?: number
  /** How long a cue stands at least, in milliseconds, unless the next of its channel begins before. Default 1000. */
  readonly minMs?: number
  /** How long the words of a cue last at most, in milliseconds, at least `minMs`. Default 7000. */
  readonly maxMs?: number
  /** A silence between two words that begins a new cue, in milliseconds; default 1500. */
  readonly pauseMs?: number
  /**
   * The stability budget: how long a word of a partial must stand, with all before it, until it is committed, in
   * milliseconds of audio. A committed word never changes, even where the definitive text has another. Looked at with
   * every result. Default Infinity: only definitive text is committed, and cues say exactly what milestones say.
   */
  readonly commitAfterMs?: number
  /** Who the channels are, such as `['Agent', 'Customer']`. Room for the name and `: ` is left in the first line. */
  readonly speakers?: readonly string[]
  /**
   * How far the audio is, in milliseconds, for services that give no times; a `SampleClock` says it. Default: the time
   * since the session was ready for audio, which is right for a source at the pace of real time.
   */
  readonly audioMs?: () => number
  /** The clock behind the default of `audioMs`. Default `asyncScheduler`. */
  readonly scheduler?: SchedulerLike
}

/** What cues are made by, checked. */
export interface CaptionRules {
  readonly maxColumns: number
  readonly maxLines: number
  readonly minMs: number
  readonly maxMs: number
  readonly pauseMs: number
  readonly commitAfterMs: number
  readonly speakers: readonly string[]
  readonly audioMs: (() => number) | undefined
  readonly scheduler: SchedulerLike
}

const hourMs = 3_600_000

/** Throws `invalid-options`. */
export const captionRulesOf = (options: CaptionOptions): CaptionRules => {
  const { maxChars = 42, maxLines = 2, minMs = 1000, pauseMs = 1500, commitAfterMs = Infinity, speakers = [] } = options
  const { maxMs = Math.max(7000, minMs), audioMs, scheduler = asyncScheduler } = options
  assertBetween('maxChars', maxChars, 8, 400)
  assertBetween('maxLines', maxLines, 1, 10)
  assertBetween('minMs', minMs, 0, hourMs)
  assertBetween('maxMs', maxMs, minMs, hourMs)
  assertBetween('pauseMs', pauseMs, 0, hourMs)
  assertBetween('commitAfterMs', commitAfterMs, 0, Infinity)
  for (const name of speakers) assertName(name, maxChars)
  return {
    maxColumns: Math.floor(maxChars),
    maxLines: Math.floor(maxLines),
    minMs,
    maxMs,
    pauseMs,
    commitAfterMs,
    speakers,
    audioMs,
    scheduler,
  }
}

const assertBetween = (option: keyof CaptionOptions, value: unknown, least: number, most: number): void => {
  if (typeof value === 'number' && value >= least && value <= most) return
  const shown = typeof value === 'number' ? String(value) : typeof value
  throw new SpeechError('invalid-options', `${option} must be a number from ${least} to ${most}, not ${shown}.`)
}

/** At least half of the first line is for words. */
const assertName = (name: unknown, maxChars: number): void => {
  if (typeof name === 'string' && columnsOf(name) + 2 <= maxChars / 2) return
  throw new SpeechError('invalid-options', 'speakers must be names that take at most half of maxChars, with ": ".')
}
