import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { listOf } from '../../protocol/collections.js'
import {
  checkOption,
  checkOptions,
  functionValue,
  number,
  numberUpToInfinity,
  optionsOf,
  schedulerValue,
  text,
} from '../../protocol/validation.js'
import { columnsOf } from './caption-tokens.js'

/** The size and the timing of captions. */
export interface CaptionOptions {
  /** Columns of a line, 8 to 400. A wide character, such as a Chinese one, has two. @default 42 */
  readonly maxChars?: number | undefined
  /** Lines of a cue, 1 to 10. @default 2 */
  readonly maxLines?: number | undefined
  /** Minimum duration of a cue in milliseconds, unless the next one of its channel starts earlier. @default 1000 */
  readonly minMs?: number | undefined
  /** Maximum duration of the words of a cue in milliseconds, at least `minMs`. @default 7000 */
  readonly maxMs?: number | undefined
  /** The silence between two words that starts a new cue, in milliseconds. @default 1500 */
  readonly pauseMs?: number | undefined
  /**
   * How long a word of a partial, and all words before it, must stay unchanged until it is committed, in milliseconds
   * of audio; a word that the service calls stable is committed at once. A committed word never changes, even if the
   * definitive text differs. Checked with every result. With Infinity only definitive text is committed, and cues have
   * exactly the text of the milestones. @default Infinity
   */
  readonly commitAfterMs?: number | undefined
  /**
   * Names of the channels, such as `['Agent', 'Customer']`. The first line reserves space for the name and `: `.
   * @default []
   */
  readonly speakers?: readonly string[] | undefined
  /**
   * The current position in the audio, in milliseconds, for services that send no times; a `SampleClock` has it.
   * @default the time since the session was ready for audio, which is right for a source in real time
   */
  readonly audioMs?: (() => number) | undefined
  /** The clock of the default of `audioMs`. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** Validated options. */
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
  checkOptions(captionOptions, options)
  const { maxChars = 42, maxLines = 2, minMs = 1000, pauseMs = 1500, commitAfterMs = Infinity, speakers = [] } = options
  const { maxMs = Math.max(7000, minMs), audioMs, scheduler = asyncScheduler } = options
  checkOption('maxMs', number({ min: minMs, max: hourMs }), maxMs)
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

const duration = number({ min: 0, max: hourMs })

const captionOptions = optionsOf<CaptionOptions>()(
  {},
  {
    maxChars: number({ min: 8, max: 400 }),
    maxLines: number({ min: 1, max: 10 }),
    minMs: duration,
    maxMs: duration,
    pauseMs: duration,
    commitAfterMs: numberUpToInfinity(0),
    speakers: listOf(text),
    audioMs: functionValue,
    scheduler: schedulerValue,
  },
)

/** Leaves at least half of the first line for words. */
const assertName = (name: unknown, maxChars: number): void => {
  if (typeof name === 'string' && columnsOf(name) + 2 <= maxChars / 2) return
  throw new SpeechError('invalid-options', 'speakers must be names that fill at most half of maxChars, including ": ".')
}
