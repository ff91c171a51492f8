/** An engine that lags by more than this is behind, in milliseconds. */
export const defaultMaxLagMs = 1_000

/**
 * Whether an engine is behind its speakers: its lag has exceeded the limit, and was not below half of it since, so that
 * the answer does not alternate.
 */
export const isBehind = (wasBehind: boolean, lagMs: number, maxLagMs: number): boolean =>
  lagMs > (wasBehind ? maxLagMs / 2 : maxLagMs)

/** What an engine reports of its work. */
export interface EngineWork {
  /** How far it is behind its speakers, in milliseconds. */
  readonly lagMs: number
  /** Grows whenever it has read audio or decided a segment: one that is slow differs by this from one that hangs. */
  readonly progress: number
  /** See `Engine.partialIntervalMs`: of the models that have no time for all partials, by their labels. @default {} */
  readonly partialIntervalsMs?: Readonly<Record<string, number>>
}
