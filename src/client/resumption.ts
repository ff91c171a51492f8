import { SpeechError } from '../errors/speech-error.js'
import { optionalFunction, optionalWhole, positiveMs } from './option-checks.js'

/** How a session goes on after its connection was lost. */
export interface ResumptionOptions {
  /**
   * How long it is tried before the session fails, in milliseconds, from the loss on; it begins anew once the service has
   * made progress. Default 60,000.
   */
  readonly budgetMs?: number
  /** The longest wait before the first attempt, in milliseconds; it doubles with each. Default 500. */
  readonly firstDelayMs?: number
  /** The longest wait before any attempt, in milliseconds. Default 10,000. */
  readonly maxDelayMs?: number
  /**
   * How much audio is kept that was sent and has no definitive result yet, in bytes of the source. What the service has
   * not settled beyond that is told as a `gap` if the connection is lost. Default: 60 seconds of the format; 600 of a source
   * that is pulled, for that is sent as fast as the network takes it.
   */
  readonly maxReplayBytes?: number
  /**
   * How long a connection is used before another one takes over, in milliseconds: less than the service lets a session
   * last. Default 14,100,000, which is 5 minutes less than 4 hours.
   */
  readonly maxConnectionMs?: number
  /** From 0 up to 1, as `Math.random`: the share of the longest wait that is waited (full jitter). */
  readonly random?: () => number
}

/** The options with their defaults. */
export interface Resumption {
  readonly budgetMs: number
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  readonly maxConnectionMs: number
  readonly random: () => number
}

/** Throws `invalid-options` with the name of the option that is not right. */
export const resolveResumption = (given: unknown): Resumption | undefined => {
  if (given === false) return undefined
  if (given !== undefined && given !== true && (typeof given !== 'object' || given === null)) {
    throw new SpeechError('invalid-options', 'resumption must be true, false or an object of options.')
  }
  const options: ResumptionOptions = typeof given === 'object' ? given : {}
  optionalFunction('resumption.random', options.random)
  optionalWhole('resumption.maxReplayBytes', options.maxReplayBytes, 0)
  const firstDelayMs = positiveMs('resumption.firstDelayMs', options.firstDelayMs, 500)
  return {
    budgetMs: positiveMs('resumption.budgetMs', options.budgetMs, 60_000),
    firstDelayMs,
    maxDelayMs: Math.max(firstDelayMs, positiveMs('resumption.maxDelayMs', options.maxDelayMs, 10_000)),
    maxConnectionMs: positiveMs('resumption.maxConnectionMs', options.maxConnectionMs, 14_100_000),
    random: options.random ?? Math.random,
  }
}
