import { SpeechError } from '../../errors/speech-error.js'

/** How the proving service behaves. All times are of the audio of one connection, so it needs no clock. */
export interface ProvingBehavior {
  /** How much audio a milestone covers, in milliseconds. Default 1000. */
  readonly milestoneEveryMs?: number
  /** How much more must have come before it is said, in milliseconds. Default 0. */
  readonly milestoneLagMs?: number
  /** How often a partial is said; 0 for never. Default 200. */
  readonly partialEveryMs?: number
  /** How long a word lasts. Default 100. */
  readonly wordMs?: number
  /** Whether results say their times; a plain service of the description does not. Default true. */
  readonly times?: boolean
  /** Whether anything follows a finalize. Default true. */
  readonly answersFinalize?: boolean
  /** Whether it answers a start. Default true. */
  readonly answersStart?: boolean
  /** Reads nothing more of a connection after so many bytes of audio. */
  readonly stopsReadingAfterBytes?: number
  /** Says a message that is none, once on each connection, after so much audio. */
  readonly malformedAfterMs?: number
  /** Gives all results and goes away (1001, UNAVAILABLE) after so much audio on a connection. */
  readonly goesAwayAfterMs?: number
  /** Whether a token lets somebody in; `connection` counts from 1. Default: any does. */
  readonly accepts?: (token: string, connection: number) => boolean
}

export type ResolvedBehavior = Required<Omit<ProvingBehavior, 'accepts'>> & Pick<ProvingBehavior, 'accepts'>

/** The behavior with its defaults; throws `invalid-options` for a time that is none. */
export const resolveBehavior = (behavior: ProvingBehavior): ResolvedBehavior => {
  const resolved: ResolvedBehavior = {
    milestoneEveryMs: 1_000,
    milestoneLagMs: 0,
    partialEveryMs: 200,
    wordMs: 100,
    times: true,
    answersFinalize: true,
    answersStart: true,
    stopsReadingAfterBytes: Infinity,
    malformedAfterMs: Infinity,
    goesAwayAfterMs: Infinity,
    ...behavior,
  }
  for (const name of ['milestoneEveryMs', 'wordMs'] as const) {
    if (!(resolved[name] > 0)) throw new SpeechError('invalid-options', `${name} must be above 0.`)
  }
  return resolved
}
