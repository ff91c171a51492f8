import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import * as t from 'io-ts'
import { either } from 'fp-ts'
import { describe, expect, it } from 'vitest'
import { metricTable, type MetricName, type MetricRow } from '../../../server/src/operations/metric-table.js'
import { hasPrograms, needPackages } from '../interop/debian-packages.js'
import { alertRules, deployFile, panels, queries } from './prometheus-files.js'

const prometheus = needPackages(['prometheus'], () => hasPrograms('promtool'))
const promtool = (...args: readonly string[]) => spawnSync('promtool', args, { cwd: deployFile(''), encoding: 'utf8' })

describe.skipIf(prometheus.areAbsent)(prometheus.title('promtool accepts'), () => {
  it('the configuration and the alerts', () => {
    expect(promtool('check', 'config', '--syntax-only', 'prometheus.yml')).toMatchObject({ status: 0 })
    expect(promtool('check', 'rules', 'alerts.yml').stdout).toContain(`${alertRules.length} rules found`)
  })

  it('the tests of the alerts, of which each alert has one', () => {
    const { status, stdout, stderr } = promtool('test', 'rules', 'alerts.test.yml')
    expect([status, stdout, stderr]).toEqual([0, expect.stringContaining('SUCCESS'), ''])
    const tests = readFileSync(deployFile('alerts.test.yml'), 'utf8')
    const tested = [...tests.matchAll(/alertname="(\w+)"/g)].map(([, name]) => name)
    expect([...new Set(tested)].sort()).toEqual(alertRules.map(({ alert }) => alert).sort())
  })
})

describe('alerts', () => {
  it('each have a sentence, a measured threshold and a section of the runbook, in its order', () => {
    const runbook = readFileSync('docs/RUNBOOK.md', 'utf8')
    const sections = [...runbook.matchAll(/^## (.*)$/gm)].map(([, title]) => title)
    expect(sections).toEqual(alertRules.map(({ alert }) => alert))
    for (const { alert, annotations } of alertRules) {
      expect(Object.keys(annotations)).toEqual(['summary', 'threshold', 'runbook'])
      expect(annotations['threshold']).toMatch(/\d/)
      expect(annotations['runbook']).toBe(`docs/RUNBOOK.md#${alert.toLowerCase()}`)
      const [, section = ''] = runbook.split(`## ${alert}\n`)
      for (const part of ['Means', 'Look at', 'Do']) expect(section.split('\n## ')[0]).toContain(`**${part}:**`)
    }
  })
})

/** Labels that Prometheus adds, and those that its functions use. */
const addedLabels = ['instance', 'job', 'le']
const foreignMetrics: Readonly<Record<string, readonly string[]>> = { up: [], process_resident_memory_bytes: [] }
const labelsOf = (name: string): readonly string[] | undefined => {
  const row: MetricRow | undefined = metricTable[name.replace(/_(?:bucket|sum|count)$/, '') as MetricName]
  const labels = row?.labels ?? foreignMetrics[name]
  return labels && [...labels, ...addedLabels]
}

describe('queries of alerts, panels and the scaling', () => {
  it.each(queries)('name metrics and labels that exist: %s', (query) => {
    const named = [...query.matchAll(/\b(rxspeech_\w+|up|process_\w+)(?:{([^}]*)})?/g)]
    expect(named.length).toBeGreaterThan(0)
    for (const [, name = '', selected = ''] of named) {
      expect(labelsOf(name), name).toBeDefined()
      for (const [, label] of selected.matchAll(/(\w+)\s*[!=]=?~?"/g)) expect(labelsOf(name)).toContain(label)
    }
    const all = named.flatMap(([, name = '']) => labelsOf(name) ?? [])
    for (const [, labels = ''] of query.matchAll(/\bby \(([^)]*)\)/g))
      for (const label of labels.split(/,\s*/)) expect(all).toContain(label)
  })
})

/** What a panel of the dashboard has, and nothing else. */
const panel = t.strict({
  id: t.Int,
  type: t.keyof({ timeseries: null, table: null }),
  title: t.string,
  description: t.string,
  datasource: t.strict({ type: t.literal('prometheus'), uid: t.literal('${source}') }),
  gridPos: t.strict({ x: t.Int, y: t.Int, w: t.Int, h: t.Int }),
  fieldConfig: t.strict({
    defaults: t.strict({ unit: t.keyof({ s: null, short: null, percentunit: null, bytes: null }) }),
    overrides: t.refinement(t.array(t.unknown), ({ length }) => length === 0),
  }),
  targets: t.array(
    t.exact(
      t.intersection([
        t.type({ refId: t.string, expr: t.string, legendFormat: t.string }),
        t.partial({ instant: t.boolean, format: t.literal('table') }),
      ]),
    ),
  ),
})

describe('docs/deploy/prometheus/dashboard.json', () => {
  it.each(panels)('has a panel of the stated form: $title', (found) => {
    const decoded = panel.decode(found)
    expect(
      either.isRight(decoded)
        ? decoded.right
        : decoded.left.map(({ context }) => context.map(({ key }) => key).join('.')),
    ).toEqual(found)
  })

  it('has panels with ids of their own, beside each other', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_cell, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
  })
})
