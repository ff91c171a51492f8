import { measuredPeers, peerMeasurements } from '../../testing/faults/peer-measurements.js'
import type { NamedFault } from '../../testing/faults/named-faults.js'
import type { ScoredRun } from './run-scoreboard.js'
import type { Paint } from '../view/paint.js'
import { displayWidth } from '../view/plain-text.js'

const titles: Readonly<Record<NamedFault, string>> = {
  drop: 'drop, back at once',
  'outage-1.5s': 'drop, 1.5 s outage',
  'outage-8s': 'drop, 8 s outage',
  'outage-30s': 'drop, 30 s outage',
  'fresh-token': 'fresh token on resume',
  'finalize-unanswered': 'finalize unanswered',
  'malformed-message': 'malformed message',
  'half-open': 'half-open for 30 s',
  'stopped-reading': '50 MB, nobody reads',
  'refused-token': 'token refused (401)',
  'token-expiry': 'token ends mid-session',
}

const marks = { kept: '✓', broken: '✗', skipped: '·' } as const

/** In how many columns the table with all peers beside each other fits. */
export const wideColumns = 120

const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - displayWidth(text)))

const byName = (runs: readonly ScoredRun[]): ReadonlyMap<NamedFault, readonly ScoredRun[]> => {
  const rows = new Map<NamedFault, readonly ScoredRun[]>()
  for (const run of runs) rows.set(run.name, [...(rows.get(run.name) ?? []), run])
  return rows
}

/** What this client did, in short: once where the transports agree, else of each. */
const ours = (runs: readonly ScoredRun[]): string =>
  [...new Set(runs.map(({ verdict }) => verdict.inShort))].join(' / ')

const isKept = (runs: readonly ScoredRun[]): boolean => runs.every(({ verdict }) => verdict.promise !== 'broken')

/** The peers' measurements and ours: beside each other where there is room, else below each other. */
export const scoreboardTable = (runs: readonly ScoredRun[], columns: number, paint: Paint): string => {
  const rows = byName(runs)
  return columns >= wideColumns ? wideTable(rows, paint) : narrowTable(rows, columns, paint)
}

type Rows = ReadonlyMap<NamedFault, readonly ScoredRun[]>

const wideTable = (rows: Rows, paint: Paint): string => {
  const oursWidth = Math.max(8, ...[...rows.values()].map((runs) => displayWidth(ours(runs))))
  const widths = measuredPeers.map(({ name }, peer) =>
    Math.max(name.length, ...[...rows.keys()].map((row) => displayWidth(peerMeasurements[row][peer] ?? ''))),
  )
  const peerCells = (cells: readonly string[]): string => cells.map((cell, at) => pad(cell, widths[at] ?? 0)).join(' ')
  const head = paint(
    'bold',
    `  ${pad('', 22)} ${pad('rxspeech', oursWidth)}  ${peerCells(measuredPeers.map(({ name }) => name))}`,
  )
  const lines = [...rows].map(([name, runs]) => {
    const own = `${pad(titles[name], 22)} ${pad(ours(runs), oursWidth)}`
    const colour = isKept(runs) ? 'green' : 'magenta'
    const mark = isKept(runs) ? marks.kept : marks.broken
    return `${paint(colour, `${mark} ${own}`)}  ${paint('dim', peerCells(peerMeasurements[name]))}`
  })
  return [head, ...lines].map((line) => `${line.trimEnd()}\n`).join('')
}

const narrowTable = (rows: Rows, columns: number, paint: Paint): string => {
  const blocks = [...rows].map(([name, runs]) => {
    const colour = isKept(runs) ? 'green' : 'magenta'
    const mark = isKept(runs) ? marks.kept : marks.broken
    const own = paint(colour, `${mark} ${pad(titles[name], 22)} rxspeech ${ours(runs)}`)
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

/** Pieces in lines of so many columns, none of them broken. */
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

/** A line for each run, as it is over: what was measured, and whether that is as promised. */
export const runLine = ({ name, over, verdict: { promise, findings } }: ScoredRun, paint: Paint): string => {
  const colour = promise === 'kept' ? 'green' : promise === 'broken' ? 'magenta' : 'dim'
  return `${paint(colour, `${marks[promise]} ${pad(titles[name], 22)} ${pad(over, 9)}`)} ${findings}\n`
}

/** What the figures of the table mean. */
export const legend = (columns: number): string => {
  const versions = measuredPeers.map(({ name, version }) => `${name} ${version}`).join(', ')
  const text =
    'Drops and outages: chunks of 20 ms, of 400, that never arrived; +n arrived, got no final result and were not sent ' +
    `again. The others' figures were measured with their newest clients for JavaScript: ${versions}.`
  return wrapped(text.split(' '), Math.min(columns, wideColumns), ' ')
    .map((line) => `${line}\n`)
    .join('')
}
