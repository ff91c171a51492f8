import { setTimeout as sleep } from 'node:timers/promises'
import type { Generator } from './generator.js'
import type { MeasuredService } from './measured-service.js'
import { UseSampler } from './use-sampler.js'
import { capacityOf, isAtMaximum, nextCalls, stepsLeft, type SearchOptions } from './search.js'
import {
  isHopeless,
  judgeStep,
  quantile,
  waitsMs,
  type CallFault,
  type MeasuredSegment,
  type StepMeasurement,
  type StepVerdict,
} from './step-verdict.js'

export interface BenchPlan {
  readonly targetMs: number
  readonly rounds: number
  readonly warmUpMs: number
  /** About how long a number of calls is measured: the recording once, or a whole number of times. */
  readonly measureMs: number
  readonly maxCalls: number
  readonly recordingMs: number
  readonly channels: number
  /** The CPUs that the measured service may use; undefined for one that runs elsewhere. */
  readonly cpus: number | undefined
}

/** One step: its figures, and what the service and the machine used. */
export interface StepReport extends StepVerdict {
  readonly round: number
  /** In CPUs: of the service with its engines, of the calls, and of other programs. */
  readonly use: { readonly service?: number | undefined; readonly calls: number; readonly others?: number | undefined }
  readonly memoryBytes?: number | undefined
  /** How many threads of the engine worked. */
  readonly engineThreads?: number | undefined
  readonly generatorDelayMs: number
}

/** What one call alone took. */
export interface AloneReport {
  /** The percentiles of the time from the end of a segment to its result. */
  readonly p50Ms: number
  readonly p95Ms: number
  /** The part of the audio that is speech, in percent. */
  readonly speechPercent: number
  /** Why it failed, if it did. */
  readonly faults: readonly CallFault[]
  /** Results for each second of a call. */
  readonly resultsPerSecond: number
  readonly memoryBytes?: number | undefined
  /** In CPUs. */
  readonly cpu?: number | undefined
}

export interface BenchProgress {
  readonly round: number
  /** Undefined for the call alone. */
  readonly calls: number | undefined
  readonly phase: 'warming-up' | 'measuring' | 'finishing'
  /** About how long everything still takes. */
  readonly leftMs: number
  readonly last: StepReport | undefined
}

export interface BenchResult {
  readonly alone: AloneReport
  readonly steps: readonly StepReport[]
  /** Of the rounds that are complete. */
  readonly capacities: readonly number[]
  readonly isAtMaximum: boolean
}

/** Runs all rounds and tells `finished` after each step, so that a caller that is interrupted has what is known. */
export const runBench = async (
  plan: BenchPlan,
  { generator, service }: { readonly generator: Generator; readonly service: MeasuredService },
  {
    progress,
    finished,
  }: {
    readonly progress: (progress: BenchProgress) => void
    readonly finished: (result: BenchResult) => void
  },
  signal: AbortSignal,
): Promise<void> => {
  // The whole recording, once or several times: each segment counts as often as the others, and calls speak as much in
  // every step.
  const measureMs = plan.recordingMs * Math.max(1, Math.round(plan.measureMs / plan.recordingMs))
  const stepMs = plan.warmUpMs + measureMs + pauseMs
  const finalWithinMs = Math.max(minFinalMs, 3 * plan.targetMs)
  const stepOf = (
    calls: number,
    round: number,
    alone: readonly MeasuredSegment[],
    leftMs: number,
    last: StepReport | undefined,
  ): Promise<StepMeasurement> =>
    measureStep(
      { generator, service },
      { calls, warmUpMs: plan.warmUpMs, measureMs, phase: round / (plan.rounds + 1), finalWithinMs },
      {
        moved: (phase, spentMs) =>
          progress({
            round,
            calls: alone.length === 0 ? undefined : calls,
            phase,
            leftMs: Math.max(0, leftMs - spentMs),
            last,
          }),
        isHopeless: (segments, passed) =>
          alone.length > 0 && isHopeless(waitsMs(segments, alone), plan.targetMs, passed),
      },
      signal,
    )
  const searchOf = (estimate: number, round: number): SearchOptions => ({
    estimate,
    growth: round === 1 ? firstGrowth : laterGrowth,
    maxCalls: plan.maxCalls,
  })
  const alone = await stepOf(1, 0, [], (plan.rounds * usualSteps + 2) * stepMs, undefined)
  const aloneReport = reportAlone(alone, plan)
  const steps: StepReport[] = []
  const capacities: number[] = []
  let isMaximum = false
  const report = (): void => finished({ alone: aloneReport, steps, capacities, isAtMaximum: isMaximum })
  report()
  if (alone.faults.length > 0 || alone.segments.length === 0) return
  let estimate = estimateOf(alone, plan)
  let measured: StepMeasurement | undefined
  for (let round = 1; round <= plan.rounds; round += 1) {
    const tried: StepReport[] = []
    const options = searchOf(estimate, round)
    for (let calls = nextCalls(tried, options); calls !== undefined; calls = nextCalls(tried, options)) {
      const leftSteps = stepsLeft(tried, options) + (plan.rounds - round) * usualSteps
      await sleep(pauseAfter(measured), undefined, { signal }).catch(() => signal.throwIfAborted())
      measured = await stepOf(calls, round, alone.segments, leftSteps * stepMs, steps.at(-1))
      const step = reportStep(measured, round, judgeStep(measured, alone.segments, plan.targetMs))
      tried.push(step)
      steps.push(step)
      report()
    }
    capacities.push(capacityOf(tried, plan.targetMs))
    isMaximum ||= isAtMaximum(tried, plan.maxCalls)
    estimate = Math.max(1, Math.floor(capacities.at(-1) ?? estimate))
    report()
  }
}

const firstGrowth = 1.5
/** Later rounds begin at the number of the one before. */
const laterGrowth = 1.12
const usualSteps = 4
const pauseMs = 1_000
const maxPauseMs = 60_000
const minFinalMs = 10_000
const progressMs = 250

/** The share of the CPUs that calls can use beside everything else. */
const usableShare = 0.85
const assumedCalls = 4

/** The number to begin with: as many as the CPUs carry, or as an engine elsewhere reads one after another. */
const estimateOf = ({ service, segments, durationMs }: StepMeasurement, { cpus: available }: BenchPlan): number => {
  const used = (service?.cpuMs ?? 0) / durationMs
  const byCpu = used > 0 && available !== undefined ? (available * usableShare) / used : Infinity
  if (service?.engineBusyMs !== undefined && byCpu < Infinity) return byCpu
  const waited = segments.reduce((sum, { delayMs }) => sum + Math.max(delayMs, 0), 0) / durationMs
  return Math.min(byCpu, waited > 0 ? 1 / waited : assumedCalls)
}

/**
 * How long the next step waits: an engine elsewhere may go on with what was cut off, for as long as its results waited.
 */
const pauseAfter = (step: StepMeasurement | undefined): number => {
  if (step === undefined || step.service?.engineBusyMs !== undefined) return pauseMs
  const longestMs = Math.max(0, ...step.segments.map(({ delayMs }) => delayMs))
  const isUnfinished = step.faults.some(({ kind }) => kind === 'unfinished')
  return Math.min(Math.max(pauseMs, longestMs, isUnfinished ? minFinalMs : 0), maxPauseMs)
}

interface StepEvents {
  readonly moved: (phase: BenchProgress['phase'], spentMs: number) => void
  readonly isHopeless: (segments: readonly MeasuredSegment[], passed: number) => boolean
}

const measureStep = async (
  { generator, service }: { readonly generator: Generator; readonly service: MeasuredService },
  step: Parameters<Generator['run']>[0],
  { moved, isHopeless: cannotBeCarried }: StepEvents,
  signal: AbortSignal,
): Promise<StepMeasurement> => {
  const startMs = performance.now()
  let phase: BenchProgress['phase'] = 'warming-up'
  const sampling = new UseSampler(service.inspect)
  const timer = setInterval(() => moved(phase, performance.now() - startMs), progressMs)
  let measuringSinceMs = startMs
  let endedAtMs: number | undefined
  const end = (): void => {
    endedAtMs ??= performance.now()
    sampling.stop()
  }
  try {
    const results = await generator.run(
      step,
      {
        measuring: () => {
          phase = 'measuring'
          measuringSinceMs = performance.now()
          sampling.start()
        },
        received: ({ segments, faults }) => {
          if (phase !== 'measuring') return phase === 'warming-up' && faults.length > 0
          const passed = (performance.now() - measuringSinceMs) / step.measureMs
          return faults.length > 0 || cannotBeCarried(segments, passed)
        },
        sent: () => {
          phase = 'finishing'
          end()
        },
      },
      signal,
    )
    end()
    const use = await sampling.use()
    const durationMs = (endedAtMs ?? performance.now()) - measuringSinceMs
    return {
      calls: step.calls,
      durationMs: phase === 'warming-up' ? performance.now() - startMs : durationMs,
      segments: results.segments,
      faults: results.faults,
      generator: results.load,
      ...use,
    }
  } finally {
    sampling.stop()
    clearInterval(timer)
  }
}

/** A shorter time says nothing about other programs. */
const minUseMs = 2_000

const reportStep = (step: StepMeasurement, round: number, verdict: StepVerdict): StepReport => {
  const { durationMs, service, generator, machine } = step
  const inCpus = (cpuMs: number): number => cpuMs / Math.max(durationMs, 1)
  const used = service?.cpuMs === undefined ? undefined : inCpus(service.cpuMs)
  const calls = inCpus(generator.cpuMs)
  const isLong = durationMs >= minUseMs
  return {
    ...verdict,
    round,
    use: {
      calls,
      service: used,
      others: used === undefined || !isLong ? undefined : Math.max(0, inCpus(machine.cpuMs) - used - calls),
    },
    memoryBytes: service?.memoryBytes,
    engineThreads: service?.engineBusyMs === undefined ? undefined : inCpus(service.engineBusyMs),
    generatorDelayMs: generator.loopDelayMs,
  }
}

const reportAlone = (
  { segments, faults, service, durationMs }: StepMeasurement,
  { channels }: BenchPlan,
): AloneReport => {
  const delays = segments.map(({ delayMs }) => delayMs)
  const speechMs = segments.reduce((sum, { lengthMs }) => sum + lengthMs, 0)
  return {
    p50Ms: quantile(delays, 0.5),
    p95Ms: quantile(delays, 0.95),
    speechPercent: (100 * speechMs) / Math.max(durationMs * channels, 1),
    faults,
    resultsPerSecond: (segments.length * 1000) / durationMs,
    memoryBytes: service?.memoryBytes,
    cpu: service?.cpuMs === undefined ? undefined : service.cpuMs / durationMs,
  }
}
