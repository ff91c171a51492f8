import { cpus, release, totalmem, type } from 'node:os'
import { usableCpus } from 'rxspeech-engines/threads/usable-cpus'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import type { AloneReport, BenchResult, StepReport } from './run-bench.js'
import { summarizeRounds } from './search.js'
import type { Limit } from './step-verdict.js'

/** What was measured, for a reader of another machine. */
export interface BenchSetting {
  readonly targetP95Ms: number
  readonly rounds: number
  readonly model: string
  /** Undefined for a service that runs elsewhere. */
  readonly engine?: string | undefined
  readonly recording: { readonly name: string; readonly durationMs: number } & AudioFormat
  readonly over: 'grpc' | 'websocket'
  /** `1`, a number or `auto`; undefined for a service that runs elsewhere. */
  readonly workers?: number | 'auto' | undefined
  readonly version: string
}

export interface MachineFacts {
  readonly processor: string
  readonly cpus: number
  /** Less where a container has a quota. */
  readonly usableCpus: number
  readonly memoryBytes: number
  readonly system: string
  readonly node: string
}

/** The result of `rxspeech bench`, as its JSON. */
export interface BenchReport extends BenchSetting {
  /** How many calls are carried: the median of the rounds, rounded down; null if no round is complete. */
  readonly calls: number | null
  /** The same with its fraction, of each complete round. */
  readonly capacities: readonly number[]
  /** How far apart the rounds are, in percent of the median. */
  readonly spreadPercent: number
  /** Sessions that a call has, as `limits.sessions` counts them. */
  readonly sessionsPerCall: number
  readonly isComplete: boolean
  /** More calls may be carried than were permitted to be tried. */
  readonly isAtMaximum: boolean
  readonly limit: Limit | null
  /** What a call uses, in CPUs and bytes; null where the system does not tell. */
  readonly perCall: { readonly cpu: number | null; readonly memoryBytes: number | null }
  /** Memory of the service with one call. */
  readonly baseMemoryBytes: number | null
  readonly alone: AloneReport
  readonly steps: readonly StepReport[]
  readonly machine: MachineFacts
}

export const machineFacts = (node: string): MachineFacts => ({
  processor: cpus()[0]?.model.trim() ?? 'unknown',
  cpus: cpus().length,
  usableCpus: usableCpus(),
  memoryBytes: totalmem(),
  // What a builder of the kernel adds to its version says nothing.
  system: `${type()} ${release().replace(/-.*/, '')}`,
  node,
})

/** Sums up what is known, also of a measurement that was ended early. */
export const benchReport = (setting: BenchSetting, result: BenchResult, machine: MachineFacts): BenchReport => {
  const { alone, steps, capacities, isAtMaximum } = result
  const { capacity, spreadPercent } = summarizeRounds(capacities)
  const calls = capacities.length === 0 ? (largestCarried(steps)?.calls ?? null) : Math.floor(capacity)
  const top = largestCarried(steps.filter((step) => calls === null || step.calls <= calls))
  const { channels } = setting.recording
  return {
    ...setting,
    calls,
    capacities: capacities.map((value) => round(value, 2)),
    spreadPercent: round(spreadPercent, 1),
    sessionsPerCall: setting.over === 'websocket' ? channels : 1,
    isComplete: capacities.length === setting.rounds,
    isAtMaximum,
    limit: limitOf(steps),
    perCall: {
      cpu: top?.use.service === undefined ? null : round(top.use.service / top.calls, 4),
      memoryBytes: memoryPerCall(alone, top),
    },
    baseMemoryBytes: alone.memoryBytes ?? null,
    alone,
    steps,
    machine,
  }
}

const largestCarried = (steps: readonly StepReport[]): StepReport | undefined =>
  steps.filter(({ isCarried }) => isCarried).toSorted((a, b) => b.calls - a.calls)[0]

const memoryPerCall = ({ memoryBytes: before }: AloneReport, top: StepReport | undefined): number | null => {
  if (before === undefined || top?.memoryBytes === undefined) return null
  return top.calls === 1 ? 0 : Math.round(Math.max(0, top.memoryBytes - before) / (top.calls - 1))
}

/** That of the smallest number of calls that was not carried. */
const limitOf = (steps: readonly StepReport[]): Limit | null =>
  steps.filter(({ isCarried }) => !isCarried).toSorted((a, b) => a.calls - b.calls)[0]?.limit ?? null

const round = (value: number, digits: number): number => Number(value.toFixed(digits))
