import { describe, expect, it } from 'vitest'
import type { ScoredRun } from '../../../bench/faults/run-scoreboard.js'
import { displayWidth } from '../../../packages/service/src/cli/view/plain-text.js'
import { legend, measuredPeers, peerMeasurements, runLine, scoreboardTable } from '../../../bench/faults/scoreboard.js'
import { namedFaults } from '../../../src/testing/faults/named-faults.js'

const plain = (_color: string, text: string): string => text
const runs: readonly ScoredRun[] = namedFaults.flatMap((name) =>
  (['websocket', 'grpc'] as const).map((over) => ({
    name,
    over,
    verdict: { promise: 'kept', inShort: 'time-out 2 s', findings: 'all is well' } as const,
  })),
)

describe('the scoreboard', () => {
  it.each([120, 160])('shows all peers side by side in %d columns', (columns) => {
    const lines = scoreboardTable(runs, columns, plain).trimEnd().split('\n')
    expect(lines).toHaveLength(namedFaults.length + 1)
    expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(120)
    expect(lines[0]).toMatch(/^ +rxspeech +Deepgram +AssemblyAI +Speechmatics +Soniox +Gladia +Microsoft$/)
    expect(lines[1]).toMatch(/^✓ drop, no outage +time-out 2 s +0 \+25 +300 \+25 +300 \+25 +0 \+25 +0 +0$/)
  })

  it.each([60, 80, 100])('shows them below each other in %d columns', (columns) => {
    const text = scoreboardTable(runs, columns, plain) + legend(columns)
    expect(Math.max(...text.split('\n').map(displayWidth))).toBeLessThanOrEqual(columns)
    expect(text).toContain('✓ drop, no outage        rxspeech time-out 2 s\n    Deepgram 0 +25 · AssemblyAI 300 +25')
    for (const { version } of measuredPeers) expect(text).toContain(version)
  })

  it('marks a promise as broken if one transport breaks it, and shows the result of each', () => {
    const [first, second, ...others] = runs
    if (first === undefined || second === undefined) throw new Error('no runs')
    const broken = { ...second, verdict: { promise: 'broken', inShort: '0 +25', findings: 'lost' } as const }
    expect(scoreboardTable([first, broken, ...others], 80, plain)).toContain(
      '✗ drop, no outage        rxspeech time-out 2 s / 0 +25',
    )
    expect(runLine(broken, 80, plain)).toBe('✗ drop, no outage        grpc      lost\n')
  })

  it('continues a long line on the next line', () => {
    const [first] = runs
    if (first === undefined) throw new Error('no runs')
    const findings = Array.from({ length: 9 }, (_, item) => `finding number ${item}`).join(', ')
    const text = runLine({ ...first, verdict: { ...first.verdict, findings } }, 80, plain)
    expect(Math.max(...text.split('\n').map(displayWidth))).toBeLessThanOrEqual(80)
    expect(text.replace(/\n */g, ' ')).toContain(findings)
    expect(runLine({ ...first, verdict: { ...first.verdict, findings } }, Infinity, plain).match(/\n/g)).toHaveLength(1)
  })

  it('has a measurement of each peer, or none, for every fault', () => {
    for (const name of namedFaults) expect(peerMeasurements[name]).toHaveLength(measuredPeers.length)
  })
})
