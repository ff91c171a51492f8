import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { lastValueFrom, of, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { limitRanges, capacityRanges, projectKeys } from '../../../server/src/project/format/project-keys.js'
import { graphOf } from '../../../server/test/project/graphs.js'
import { drawGraph, inputText } from '../../../server/src/project/draw-graph.js'
import { inMemoryService } from '../../src/testing/in-memory-service.js'
import { blocksOf, named, tableBelow } from '../../../../test/docs/markdown.js'

const root = join(__dirname, '../../../..')
const page = readFileSync(join(root, 'docs/PROJECTS.md'), 'utf8')
const [example] = blocksOf(page).filter(({ language }) => language === 'yaml')
const text = example?.text ?? ''

/** The heading of each table on the page. */
const headings: Readonly<Record<keyof typeof projectKeys, string>> = {
  project: 'Keys',
  model: 'model',
  inputs: 'inputs',
  resource: 'resource',
  secret: 'secret',
  node: 'node',
  wire: 'wire',
  limits: 'limits',
}

describe('docs/PROJECTS.md', () => {
  it.each(Object.entries(headings))('has every key that a %s in the file may have, and no other', (table, heading) => {
    const onPage = tableBelow(page, heading).map(([key]) => named(key))
    expect(onPage).toEqual(projectKeys[table as keyof typeof projectKeys])
  })

  it('names the ranges of limits and wires', () => {
    const rows = new Map(tableBelow(page, 'limits').map(([key, description = '']) => [named(key), description]))
    for (const [key, [min, max]] of Object.entries(limitRanges)) {
      expect(rows.get(key)).toContain(String(min))
      if (max < 2 ** 31 - 1) expect(rows.get(key)).toContain(String(max))
    }
    const capacity = tableBelow(page, 'wire').find(([key]) => named(key) === 'capacity')?.[1] ?? ''
    for (const [unit, [min, max]] of Object.entries(capacityRanges)) {
      expect(capacity).toContain(`\`${String(min)} ${unit}\` to \`${String(max)} ${unit}\``)
    }
  })

  it('shows a valid project', async () => {
    const graph = await graphOf(text, [])
    expect(inputText(graph)).toBe('pcm or ulaw, 8000 or 16000 Hz, stereo')
    expect(drawGraph(graph)).toBe(
      [
        'in                               entry',
        '└─ audio ─▶ split                channel-split',
        '   ├─ left → audio ─▶ agent      recognizer',
        '   │  └─ events ─▶ out           publisher',
        '   └─ right → audio ─▶ customer  recognizer, restart(2); 5000 ms, dropOldest',
        '      └─ events ─▶ out           (above)',
      ].join('\n'),
    )
  })

  it('shows a project that runs', async () => {
    const service = inMemoryService({ projects: { calls: text } })
    const format = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 } as const
    const events = await lastValueFrom(
      of(new Uint8Array(32_000).fill(0xff)).pipe(dataflow(service.dataflow({ project: 'calls', format })), toArray()),
    )
    expect(events.filter(({ type }) => type === 'final')).toMatchObject([{ channel: 0 }, { channel: 1 }])
    await service.close()
  })

  it('is the example in the package', () => {
    expect(parse(readFileSync(join(root, 'samples/projects/Acme/calls/1.yaml'), 'utf8'))).toEqual(parse(text))
  })
})
