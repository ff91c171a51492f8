import { describe, expect, it } from 'vitest'
import { chartData, durationOf, figureOf, joinReports, type OperationsReport } from '../../src/operations/report.js'

const s = (...seconds: readonly number[]): readonly number[] => seconds.map((each) => each * 1000)

const report = (atMs: readonly number[], charts: Partial<OperationsReport['charts']>): OperationsReport => ({
  everyMs: 10_000,
  atMs,
  charts: { running: {}, audio: {}, lag: {}, refusals: {}, ...charts },
  sessions: [],
})

describe('the last hour', () => {
  it('has the series of a grouping, the largest first', () => {
    const found = report(s(10, 20), {
      running: { all: { all: [3, 4] }, model: { a: [1, 1], b: [2, 3] }, tenant: { '': [3, 4] } },
    })
    expect(chartData(found, 'running', 'model').series.map(({ name }) => name)).toEqual(['b', 'a'])
    expect(chartData(found, 'running', 'tenant')).toEqual({
      atS: [10, 20],
      series: [{ name: 'none', values: [3, 4], color: 0 }],
    })
  })

  it('has delays of all where there are none of tenants, and refusals by code', () => {
    const found = report(s(10), {
      lag: { all: { p50: [0.2], p95: [0.9] }, model: { a: [0.9] } },
      refusals: { code: { overloaded: [6] } },
    })
    expect(chartData(found, 'lag', 'tenant').series.map(({ name }) => name)).toEqual(['p50', 'p95'])
    expect(chartData(found, 'refusals', 'tenant').series).toEqual([{ name: 'overloaded', values: [6], color: 0 }])
  })

  it('has one color for a model in all charts, also where others are missing', () => {
    const found = report(s(10), {
      running: { model: { a: [1], b: [9], c: [4] } },
      lag: { model: { a: [8], c: [0.5] } },
    })
    const colorsIn = (chart: 'running' | 'lag') =>
      chartData(found, chart, 'model').series.map(({ name, color }) => `${name} ${color}`)
    expect(colorsIn('running')).toEqual(['b 0', 'c 1', 'a 2'])
    expect(colorsIn('lag')).toEqual(['c 1', 'a 2'])
  })

  it('shows a pause between samples as a gap', () => {
    const found = report(s(10, 20, 80, 90), { running: { all: { all: [1, 2, 3, 4] } } })
    expect(chartData(found, 'running', 'all')).toEqual({
      atS: [10, 20, 70, 80, 90],
      series: [{ name: 'all', values: [1, 2, null, 3, 4], color: 0 }],
    })
  })

  it('keeps what was before a restart, for an hour, without zeros for what is not known', () => {
    const older = report(s(10, 20, 30), { running: { all: { all: [1, 2, 3] }, model: { a: [1, 2, 3] } } })
    const newer = report(s(3_615, 3_625), { running: { all: { all: [0, 5] }, model: { b: [0, 5] } } })
    expect(joinReports(older, newer)).toEqual(
      report(s(30, 3_615, 3_625), {
        running: { all: { all: [3, 0, 5] }, model: { a: [3, null, null], b: [null, 0, 5] } },
      }),
    )
    const justStarted = report([], {})
    expect(joinReports(older, justStarted).atMs).toEqual(s(10, 20, 30))
    expect(joinReports(older, report(s(10, 20, 30, 40), {})).atMs).toEqual(s(10, 20, 30, 40))
    expect(joinReports(undefined, newer)).toBe(newer)
  })

  it('writes figures and durations', () => {
    expect([null, 0, 0.2534, 3, 12.34, 250.2].map(figureOf)).toEqual(['–', '0', '0.25', '3', '12.3', '250.2'])
    expect([48.4, 2_440, 754_000, 5_400_000].map(durationOf)).toEqual(['48 ms', '2.4 s', '12 min', '1.5 h'])
  })
})
