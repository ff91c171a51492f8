// The table of docs/SIZING.md, and the report of its first row, from reports of `rxspeech bench --format json`.
import { reportText } from '../../packages/service/dist/cli/sizing/bench-view.js'

const [begin, end] = ['<!-- measured -->', '<!-- /measured -->']

const limits = {
  generator: 'the calls themselves',
  memory: 'memory',
  'event-loop': 'the thread of the service',
  cpu: 'CPUs',
  engine: 'the engine',
  refused: 'refusals',
  connection: 'connections',
  unknown: 'not known',
}

const megabytes = (bytes) => (bytes === null ? '–' : `${Math.round(bytes / 1e6)} MB`)
const seconds = (ms) => (ms / 1000).toFixed(2)

const othersOf = ({ steps }) => Math.max(0, ...steps.map(({ use }) => use.others ?? 0))

const rowOf = (report) => {
  const { model, recording, calls, isAtMaximum, capacities, spreadPercent, perCall, baseMemoryBytes, alone, limit } =
    report
  return [
    `\`${model.replace(/^Default\/(.*)\/1$/, '$1')}\``,
    `${recording.channels === 2 ? 'stereo' : 'mono'}, ${recording.encoding}, ${alone.speechPercent.toFixed(0)} % speech`,
    `${isAtMaximum ? 'at least ' : ''}**${calls}**`,
    `${capacities.map((capacity) => capacity.toFixed(1)).join(', ')}; ${spreadPercent.toFixed(0)} %`,
    perCall.cpu === null ? '–' : perCall.cpu.toFixed(3),
    `${megabytes(baseMemoryBytes)} + ${megabytes(perCall.memoryBytes)}`,
    `${seconds(alone.p50Ms)}, ${seconds(alone.p95Ms)} s`,
    limit === null ? '–' : limits[limit],
    othersOf(report).toFixed(1),
  ]
}

const head = [
  'Model',
  'A call',
  'Calls',
  'Rounds; spread',
  'CPUs of a call',
  'Memory: one call + each further',
  'A result after its speech, one call: p50, p95',
  'Limit',
  'CPUs of other programs, at most',
]

const conditionsOf = ({ machine, over, targetP95Ms, version, rounds, workers, recording }) =>
  `${machine.usableCpus} CPUs (${machine.processor}), ${Math.round(machine.memoryBytes / 1e9)} GB, ${machine.system}, Node ${machine.node}, rxspeech ${version}; ` +
  `over ${over}, workers ${workers}, target ${seconds(targetP95Ms)} s, rounds ${rounds}, each call ${recording.name}`

/** The conditions, a row for each report, and the whole report of the first row. */
export const sizingTable = (reports) => {
  const complete = reports.filter(({ isComplete, calls }) => isComplete && calls !== null)
  const conditions = [...new Set(complete.map(conditionsOf))].map((text) => `Measured on ${text}.`)
  const rows = [head, head.map(() => '---'), ...complete.map(rowOf)].map((cells) => `| ${cells.join(' | ')} |`)
  const texts = complete.slice(0, 1).map((report) => reportText(report, (_color, text) => text).trimEnd())
  return [
    ...conditions,
    '',
    ...rows,
    ...texts.map((text) => `\nThe report of the first row:\n\n\`\`\`\n${text}\n\`\`\``),
  ].join('\n')
}

/** The page with another table. Throws if it has no place for it. */
export const pageWith = (text, table) => {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/SIZING.md needs ${begin} and ${end}.`)
  return `${text.slice(0, from + begin.length)}\n\n${table}\n\n${text.slice(to)}`
}
