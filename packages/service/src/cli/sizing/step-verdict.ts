/** The result of one segment of speech, as a client received it. */
export interface MeasuredSegment {
  readonly channel: number
  /** Where it ends in the recording, which calls repeat, in milliseconds. */
  readonly positionMs: number
  /** How long its speech is. */
  readonly lengthMs: number
  /** From when its last audio was due to be sent until its result was received. */
  readonly delayMs: number
}

/** Why a call did not have all of its results: a code of ERRORS, or what happened to its audio or connection. */
export interface CallFault {
  readonly kind: 'refused' | 'gap' | 'reconnected' | 'failed' | 'unfinished'
  readonly reason: string
}

/** What a client process measured of itself; it must not be what is slow. */
export interface GeneratorLoad {
  /** The share of its thread that was busy, 0 to 1. */
  readonly use: number
  /** The 95th percentile of the delay of its event loop, in milliseconds. */
  readonly loopDelayMs: number
  readonly cpuMs: number
}

/** What was measured of a service on this machine, in the same time. */
export interface ServiceUse {
  /** CPU time of all of its processes; undefined where the system does not tell. */
  readonly cpuMs: number | undefined
  /** The largest resident memory of all of its processes. */
  readonly memoryBytes: number | undefined
  /** The share of its thread that sessions used, at the worst moment. */
  readonly load: number
  /** The delay of its event loop, at the worst moment. */
  readonly loopDelayMs: number
  /** How long the threads of its engine worked; undefined if the engine does not count that. */
  readonly engineBusyMs: number | undefined
}

/** What the whole machine did in the same time. */
export interface MachineUse {
  readonly cpus: number
  /** CPU time of all programs. */
  readonly cpuMs: number
  /** The least memory that was available. */
  readonly availableBytes: number
  readonly totalBytes: number
}

export interface StepMeasurement {
  readonly calls: number
  readonly durationMs: number
  readonly segments: readonly MeasuredSegment[]
  readonly faults: readonly CallFault[]
  readonly generator: GeneratorLoad
  /** Undefined for a service that runs elsewhere. */
  readonly service?: ServiceUse | undefined
  readonly machine: MachineUse
}

/** What kept the service from carrying more calls. */
export type Limit = 'generator' | 'memory' | 'event-loop' | 'cpu' | 'engine' | 'refused' | 'connection' | 'unknown'

export interface StepVerdict {
  readonly calls: number
  readonly isCarried: boolean
  /** The percentiles of how much longer results took than with one call, in milliseconds. */
  readonly p50Ms: number
  readonly p95Ms: number
  readonly segments: number
  readonly faults: readonly CallFault[]
  /** Undefined if the calls were carried. */
  readonly limit: Limit | undefined
}

/** The smallest value that this share of the values does not exceed; 0 without values. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}

/** A segment that ends this close to another one of the recording is the same. */
const samePositionMs = 60

/** How long one call alone waits for the result of a segment: the same one, or otherwise one of a similar length. */
export const ownDelayMs = (alone: readonly MeasuredSegment[], segment: MeasuredSegment): number => {
  const ofChannel = alone.filter(({ channel }) => channel === segment.channel)
  const same = ofChannel.filter(({ positionMs }) => Math.abs(positionMs - segment.positionMs) <= samePositionMs)
  if (same.length > 0) {
    return quantile(
      same.map(({ delayMs }) => delayMs),
      0.5,
    )
  }
  const difference = ({ lengthMs }: MeasuredSegment): number => Math.abs(lengthMs - segment.lengthMs)
  const [nearest] = (ofChannel.length > 0 ? ofChannel : alone).toSorted((a, b) => difference(a) - difference(b))
  return nearest?.delayMs ?? 0
}

/** How much longer each segment took than with one call alone, in milliseconds. */
export const waitsMs = (segments: readonly MeasuredSegment[], alone: readonly MeasuredSegment[]): readonly number[] =>
  segments.map((segment) => Math.max(0, segment.delayMs - ownDelayMs(alone, segment)))

/** Decides whether the calls of a step were carried, and if not, what was the limit. */
export const judgeStep = (step: StepMeasurement, alone: readonly MeasuredSegment[], targetMs: number): StepVerdict => {
  const { calls, segments, faults } = step
  const waits = waitsMs(segments, alone)
  const p95Ms = quantile(waits, 0.95)
  const isCarried = faults.length === 0 && segments.length > 0 && p95Ms <= targetMs
  return {
    calls,
    isCarried,
    p50Ms: quantile(waits, 0.5),
    p95Ms,
    segments: segments.length,
    faults,
    limit: isCarried ? undefined : limitOf(step),
  }
}

/**
 * Whether the step cannot be carried any more, whatever follows: more results are late than the target permits for all
 * that are expected.
 *
 * @param passed the share of the time that has passed, above 0
 */
export const isHopeless = (waits: readonly number[], targetMs: number, passed: number): boolean => {
  const late = waits.filter((ms) => ms > targetMs).length
  const expected = (waits.length / Math.min(Math.max(passed, 0.05), 1)) * 1.2
  return late > Math.max(3, 0.05 * expected) && passed > minPassed
}

/** Enough of a step for an interpolation. */
const minPassed = 0.4

/** Beyond these the generator, the thread of the service or the machine is what is slow. */
const maxGeneratorUse = 0.85
const maxGeneratorDelayMs = 100
const maxServiceLoad = 0.85
const maxServiceDelayMs = 100
const maxCpuShare = 0.92
const minMemoryShare = 0.05
/** With less other programs use the CPUs, and the service waits for something else. */
const minOwnShare = 0.25

export const isGeneratorLimited = ({ use, loopDelayMs }: GeneratorLoad): boolean =>
  use > maxGeneratorUse || loopDelayMs > maxGeneratorDelayMs

const limitOf = ({ faults, generator, service, machine, durationMs }: StepMeasurement): Limit => {
  if (isGeneratorLimited(generator)) return 'generator'
  if (machine.availableBytes < machine.totalBytes * minMemoryShare) return 'memory'
  if (service !== undefined && (service.load > maxServiceLoad || service.loopDelayMs > maxServiceDelayMs)) {
    return 'event-loop'
  }
  if (faults.some(({ kind }) => kind === 'refused')) return 'refused'
  if (faults.some(({ kind }) => kind === 'reconnected')) return 'connection'
  if (service === undefined) return 'unknown'
  const allMs = machine.cpus * durationMs
  return machine.cpuMs > allMs * maxCpuShare && (service.cpuMs ?? 0) > allMs * minOwnShare ? 'cpu' : 'engine'
}
