import { sizeText } from 'rxspeech-engines/catalogue/disk-space'
import type { Paint } from '../view/paint.js'
import { counted, lastColumns, plainText, secondsText } from '../view/plain-text.js'
import { clockText } from '../view/transcript-line.js'
import type { BenchReport } from './bench-report.js'
import type { BenchProgress, StepReport } from './run-bench.js'
import { isGeneratorLimited, type Limit } from './step-verdict.js'

const limits: Readonly<Record<Limit, string>> = {
  generator:
    'the process that makes the calls was too slow, so the service may carry more; run this on another machine with --access',
  memory: 'memory: less than 5 % of it was left',
  'event-loop': 'the thread of the service: more workers of the service may carry more, see --workers',
  cpu: 'the CPUs, which were all busy',
  engine: 'the engine: its places were all in use, or it is slow elsewhere, while the service used few of the CPUs',
  refused: 'the service refused more calls',
  connection: 'connections were lost',
  unknown: 'not known from outside of the service',
}

const seconds = (ms: number): string => (ms < 9_950 ? `${(ms / 1000).toFixed(2)} s` : secondsText(ms))
const number = (value: number): string => value.toFixed(2)

/** A line about a step, when it is over. */
export const stepLine = ({ round, calls, isCarried, p95Ms, segments, faults, limit }: StepReport): string => {
  const [fault] = faults
  const outcome = isCarried ? 'carried' : fault === undefined ? 'too late' : plainText(fault.reason)
  const reason = limit === undefined || limit === 'engine' ? '' : ` (${limit})`
  return `round ${round}: ${counted(calls, 'call')}: ${outcome}${reason}, p95 ${seconds(p95Ms)} of ${counted(segments, 'result')}`
}

const phases: Readonly<Record<BenchProgress['phase'], string>> = {
  'warming-up': 'warming up',
  measuring: 'measuring',
  finishing: 'waiting for last results',
}

/** The line that changes: what runs now, and about how long everything still takes. */
export const progressLine = ({ round, calls, phase, leftMs }: BenchProgress, columns: number): string => {
  const what = calls === undefined ? 'one call alone' : `round ${round}: ${counted(calls, 'call')}`
  return lastColumns(`${what}, ${phases[phase]}; about ${clockText(leftMs)} left`, columns)
}

/** The report for a person. */
export const reportText = (report: BenchReport, paint: Paint): string => {
  const rows = rowsOf(report).filter(([, value]) => value !== undefined)
  const lines = rows.map(([title, value]) => `${paint('dim', `  ${title}`.padEnd(13))}${value ?? ''}\n`)
  return `${paint('bold', headline(report))}\n${lines.join('')}`
}

const headline = ({
  calls,
  capacities,
  isComplete,
  isAtMaximum,
  model,
  targetP95Ms,
  alone,
  steps,
}: BenchReport): string => {
  if (alone.faults.length > 0) return `${model}: one call alone failed.`
  if (alone.resultsPerSecond === 0) return `${model}: one call alone had no results.`
  if (calls === null) {
    const [least] = steps.toSorted((a, b) => a.calls - b.calls)
    return least === undefined
      ? `${model}: ended before any number of calls was measured.`
      : `${model}: ended early; fewer than ${counted(least.calls, 'call')} at a time.`
  }
  if (calls === 0) return `${model}: this service does not carry one call with results within ${seconds(targetP95Ms)}.`
  const kind = isComplete && !isAtMaximum ? '' : capacities.length > 0 && !isAtMaximum ? 'about ' : 'at least '
  return `${model}: ${kind}${counted(calls, 'call')} at a time, with 95 % of the results at most ${seconds(targetP95Ms)} later than for one call`
}

const rowsOf = (report: BenchReport): readonly (readonly [string, string | undefined])[] => {
  const { capacities, spreadPercent, limit, alone, recording, over, workers, perCall, machine, steps } = report
  const { channels, encoding, sampleRateHz } = recording
  const top = steps.filter(({ isCarried }) => isCarried).toSorted((a, b) => b.calls - a.calls)[0]
  const others = Math.max(0, ...steps.map(({ use }) => use.others ?? 0))
  return [
    [
      'rounds',
      capacities.length === 0
        ? undefined
        : `${capacities.map(number).join(', ')}; spread ${spreadPercent.toFixed(1)} %`,
    ],
    ['limit', limit === null ? undefined : limits[limit]],
    ['a call', perCall.cpu === null ? undefined : `${perCall.cpu.toFixed(3)} CPU${memoryText(report)}`],
    [
      'alone',
      `a result comes ${seconds(alone.p50Ms)} after its speech, p95 ${seconds(alone.p95Ms)}; ${alone.speechPercent.toFixed(0)} % of the audio is speech`,
    ],
    ['CPUs used', top?.use.service === undefined ? undefined : cpuText(top)],
    [
      'calls',
      `${plainText(recording.name)}, ${seconds(recording.durationMs)}, ${channels === 2 ? 'stereo' : 'mono'}, ${encoding} of ${sampleRateHz} Hz, over ${over}`,
    ],
    [
      report.engine === undefined ? 'calls from' : 'machine',
      `${machine.usableCpus} CPUs (${machine.processor}), ${sizeText(machine.memoryBytes)}, ${machine.system}`,
    ],
    [
      'versions',
      `rxspeech ${report.version}, Node ${machine.node}${report.engine === undefined ? '' : `, engine ${report.engine}`}${workers === undefined ? '' : `, workers ${workers}`}`,
    ],
    [
      'note',
      others > machine.cpus * maxOthersShare
        ? `Other programs used up to ${number(others)} CPUs meanwhile; repeat this on a machine that does nothing else.`
        : undefined,
    ],
    ['note', steps.some(isSlowGenerator) ? 'The process that makes the calls was late in some steps.' : undefined],
  ]
}

/** Beyond this other programs distort the result. */
const maxOthersShare = 0.1

const isSlowGenerator = ({ generatorDelayMs }: StepReport): boolean =>
  isGeneratorLimited({ use: 0, loopDelayMs: generatorDelayMs, cpuMs: 0 })

const memoryText = ({ perCall, baseMemoryBytes }: BenchReport): string =>
  perCall.memoryBytes === null || baseMemoryBytes === null
    ? ''
    : `, ${sizeText(perCall.memoryBytes)}; the service with one call ${sizeText(baseMemoryBytes)}`

const cpuText = ({ calls, use, engineThreads }: StepReport): string => {
  const { service = 0, calls: generator, others = 0 } = use
  const threads = engineThreads === undefined ? '' : `; ${number(engineThreads)} engine threads worked`
  return `with ${counted(calls, 'call')}: service ${number(service)}, the calls ${number(generator)}, other programs ${number(others)}${threads}`
}
