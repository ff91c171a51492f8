import type { NamedFault } from '../../src/testing/faults/named-faults.js'
import type { ScoredRun } from './run-scoreboard.js'
import type { Paint } from '../../packages/service/src/cli/view/paint.js'
import { displayWidth } from '../../packages/service/src/cli/view/plain-text.js'

/** A measured client of another service. */
interface MeasuredPeer {
  readonly name: string
  readonly version: string
}

/**
 * Clients that were measured under the same faults over the loopback interface, each in its newest version for
 * JavaScript: 8 s of audio in 400 chunks of 20 ms, with the fault at chunk 100. For drops and outages: the number of
 * chunks that were never delivered, and `+n` for chunks that arrived but were neither finalized nor sent again.
 */
export const measuredPeers: readonly MeasuredPeer[] = [
  { name: 'Deepgram', version: '5.13' },
  { name: 'AssemblyAI', version: '4.41' },
  { name: 'Speechmatics', version: '8.5' },
  { name: 'Soniox', version: '2.3' },
  { name: 'Gladia', version: '2.1' },
  { name: 'Microsoft', version: '1.52' },
]

/** The results for each fault in the order of `measuredPeers`; `–` where it was not measured or does not apply. */
export const peerMeasurements: Readonly<Record<NamedFault, readonly string[]>> = {
  drop: ['0 +25', '300 +25', '300 +25', '0 +25', '0', '0'],
  'outage-1.5s': ['0–224 +25', '300', '300', '50 +25', '0', '300'],
  'outage-8s': ['300', '300', '300', '300', '300', '300'],
  'outage-30s': ['–', '–', '–', '–', '–', '–'],
  'fresh-token': ['no', '–', '–', 'yes', '–', 'yes'],
  'finalize-unanswered': ['cannot wait', '"success" 5 s', 'rejects 10 s', 'for ever', 'for ever', '"stopped" 0 s'],
  'malformed-message': ['untyped', 'process dies', 'process dies', 'ends untyped', 'process dies', '–'],
  'half-open': ['unnoticed', 'unnoticed', 'unnoticed', 'unnoticed', 'unnoticed', '–'],
  'stopped-reading': ['+47 MB', '+57 MB', '+49 MB', '+49 MB', '–', '–'],
  'refused-token': ['–', '–', '–', '–', '–', '–'],
  'token-expiry': ['–', '–', '–', '–', '–', '–'],
}

const titles: Readonly<Record<NamedFault, string>> = {
  drop: 'drop, no outage',
  'outage-1.5s': 'drop, 1.5 s outage',
  'outage-8s': 'drop, 8 s outage',
  'outage-30s': 'drop, 30 s outage',
  'fresh-token': 'fresh token on resume',
  'finalize-unanswered': 'finalize unanswered',
  'malformed-message': 'malformed message',
  'half-open': 'half-open for 30 s',
  'stopped-reading': '50 MB, not read',
  'refused-token': 'token refused (401)',
  'token-expiry': 'token expires in session',
}

const marks = { kept: '✓', broken: '✗', skipped: '·' } as const

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - displayWidth(text)))

const byName = (runs: readonly ScoredRun[]): ReadonlyMap<NamedFault, readonly ScoredRun[]> => {
  const rows = new Map<NamedFault, readonly ScoredRun[]>()
  for (const run of runs) rows.set(run.name, [...(rows.get(run.name) ?? []), run])
  return rows
}

/** The result of this client: once if the transports agree, otherwise for each of them. */
const ours = (runs: readonly ScoredRun[]): string =>
  [...new Set(runs.map(({ verdict }) => verdict.inShort))].join(' / ')

const isKept = (runs: readonly ScoredRun[]): boolean => runs.every(({ verdict }) => verdict.promise !== 'broken')

/** The peers' measurements and ours: side by side if they fit, otherwise below each other. */
export const scoreboardTable = (runs: readonly ScoredRun[], columns: number, paint: Paint): string => {
  const rows = byName(runs)
  const wide = wideLines(rows)
  return wide.every(({ own, peers }) => displayWidth(`${own}${peers}`) <= columns)
    ? wide.map((line) => `${paintLine(line, paint)}\n`).join('')
    : narrowTable(rows, columns, paint)
}

type Rows = ReadonlyMap<NamedFault, readonly ScoredRun[]>

interface WideLine {
  readonly color: Parameters<Paint>[0]
  readonly own: string
  readonly peers: string
}

const paintLine = ({ color, own, peers }: WideLine, paint: Paint): string =>
  paint(color, own) + (color === 'bold' ? paint('bold', peers) : paint('dim', peers))

const wideLines = (rows: Rows): readonly WideLine[] => {
  const oursWidth = Math.max(8, ...[...rows.values()].map((runs) => displayWidth(ours(runs))))
  const widths = measuredPeers.map(({ name }, peer) =>
    Math.max(name.length, ...[...rows.keys()].map((row) => displayWidth(peerMeasurements[row][peer] ?? ''))),
  )
  const cellsOf = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => pad(cell, widths[at] ?? 0))
      .join(' ')
      .trimEnd()
  const names = cellsOf(measuredPeers.map(({ name }) => name))
  const head: WideLine = { color: 'bold', own: `  ${pad('', 22)} ${pad('rxspeech', oursWidth)}  `, peers: names }
  const lines = [...rows].map(([name, runs]): WideLine => {
    const kept = isKept(runs)
    const own = `${kept ? marks.kept : marks.broken} ${pad(titles[name], 22)} ${pad(ours(runs), oursWidth)}  `
    return { color: kept ? 'green' : 'magenta', own, peers: cellsOf(peerMeasurements[name]) }
  })
  return [head, ...lines]
}

const narrowTable = (rows: Rows, columns: number, paint: Paint): string => {
  const blocks = [...rows].map(([name, runs]) => {
    const color = isKept(runs) ? 'green' : 'magenta'
    const mark = isKept(runs) ? marks.kept : marks.broken
    const own = paint(color, `${mark} ${pad(titles[name], 22)} rxspeech ${ours(runs)}`)
    const peers = measuredPeers.flatMap((peer, at) => {
      const measured = peerMeasurements[name][at] ?? '–'
      return measured === '–' ? [] : [`${peer.name} ${measured}`]
    })
    return [own, ...wrapped(peers, columns - 4).map((line) => `    ${paint('dim', line)}`)]
  })
  return blocks
    .flat()
    .map((line) => `${line}\n`)
    .join('')
}

/** Joins pieces to lines of at most `columns` columns without breaking a piece. */
const wrapped = (pieces: readonly string[], columns: number, between = ' · '): readonly string[] => {
  const lines: string[] = []
  for (const piece of pieces) {
    const last = lines.at(-1)
    const joined = last === undefined ? piece : `${last}${between}${piece}`
    if (last === undefined || displayWidth(joined) > columns) lines.push(piece)
    else lines[lines.length - 1] = joined
  }
  return lines
}

/**
 * One line for each finished run: the measurement, and whether it is as promised. Long lines continue on the next line.
 */
export const runLine = (
  { name, over, verdict: { promise, findings } }: ScoredRun,
  columns: number,
  paint: Paint,
): string => {
  const color = promise === 'kept' ? 'green' : promise === 'broken' ? 'magenta' : 'dim'
  const head = `${marks[promise]} ${pad(titles[name], 22)} ${pad(over, 9)} `
  const width = columns - displayWidth(head) - 1
  const [first = '', ...more] = wrapped(findings.split(', '), Math.max(20, width), ', ')
  const below = more.map((line) => `,\n${' '.repeat(displayWidth(head))}${line}`)
  return `${paint(color, head)}${first}${below.join('')}\n`
}

/** A paragraph in lines of at most `columns` columns. */
export const paragraph = (text: string, columns: number): string =>
  wrapped(text.split(' '), columns, ' ')
    .map((line) => `${line}\n`)
    .join('')

/** The legend of the table. */
export const legend = (columns: number): string => {
  const versions = measuredPeers.map(({ name, version }) => `${name} ${version}`).join(', ')
  const text =
    'Drops and outages: the number of 20 ms chunks, of 400, that never arrived; +n: chunks that arrived, but got no final ' +
    `result and were not sent again. The other results were measured with these clients for JavaScript: ${versions}.`
  return paragraph(text, Math.min(columns, 120))
}
