import { either } from 'fp-ts'
import { describe, expect, it } from 'vitest'
import { checkProject } from '../../../src/project/check/check-project.js'
import { drawMermaid } from '../../../src/project/draw-graph.js'
import type { ProjectFacts } from '../../../src/project/check/project-facts.js'
import { faultLine, excerptOf } from '../../../src/project/format/project-fault.js'
import { loadYaml } from '../../../src/project/format/read-yaml.js'
import { facts, graphOf } from '../graphs.js'

const check = async (text: string, change: Partial<ProjectFacts> = {}) => {
  const { faults, graph } = checkProject(text, await loadYaml(), facts([], change))
  return { graph, lines: faults.map((fault) => faultLine('p.yaml', text, fault)), faults }
}

const sound = `version: 1
nodes:
  in: entry
  reco: { node: recognizer }
  out: publisher
wires:
  - in -> reco
  - reco -> out
`

/** A change of the project without faults, and the faults it causes. */
const broken: readonly (readonly [string, string, string, readonly string[]])[] = [
  ['no version', 'version: 1\n', '', ['p.yaml:1:1: version is missing; it must be a version such as 1 or 1.2']],
  ['an unknown key', 'version: 1', 'version: 1\nnodess: 1', ['p.yaml:2:1: nodess is not known; did you mean nodes?']],
  [
    'a key that is there twice',
    'out: publisher',
    'out: publisher\n  out: publisher',
    ['p.yaml:6:3: nodes.out is repeated'],
  ],
  [
    'an unknown node',
    'recognizer',
    'recogniser',
    ['p.yaml:4:17: nodes.reco.node names "recogniser", which is not a node; did you mean recognizer?'],
  ],
  [
    'an unknown option and a bad one',
    '{ node: recognizer }',
    '{ node: recognizer, options: { sensitivty: 3, sensitivity: 11 } }',
    [
      'p.yaml:4:40: nodes.reco.options.sensitivty is not known; did you mean sensitivity?',
      'p.yaml:4:55: nodes.reco.options.sensitivity must be a whole number from 1 to 10',
    ],
  ],
  [
    'a bad option of an item of a list',
    '{ node: recognizer }',
    '{ node: event-tagger, options: { rules: [{ name: A }, { nmae: B }] } }',
    ['p.yaml:4:65: nodes.reco.options.rules.1.nmae is not known; did you mean name?'],
  ],
  [
    'a policy that is none',
    '{ node: recognizer }',
    '{ node: recognizer, onFault: restart(0) }',
    ['p.yaml:4:38: nodes.reco.onFault must be fail, bypass or restart(n), n from 1 to 100'],
  ],
  [
    'a wire to a node that is not there',
    'in -> reco',
    'in -> recc',
    [
      'p.yaml:4:3: nodes.reco has no wire to its audio input audio',
      'p.yaml:7:5: wires.0.to names "recc", which is not among the nodes; did you mean reco?',
    ],
  ],
  [
    'a port that is not there',
    'reco -> out',
    'reco.texts -> out',
    ['p.yaml:8:5: wires.1.from names "texts", which is not an output of reco; there are events'],
  ],
  [
    'kinds that do not fit',
    'reco -> out',
    'reco.events -> out.audio',
    ['p.yaml:8:5: wires.1 leads from event (reco.events) to audio (out.audio); both must be the same'],
  ],
  [
    'two wires of audio to one input',
    'in -> reco',
    'in -> g\n  - in -> reco\n  - g -> reco',
    ['p.yaml:10:5: wires.2.to leads to reco.audio, which takes one wire of audio and has wires.1'],
  ],
  [
    'the same wire twice',
    'reco -> out',
    'reco -> out\n  - reco -> out',
    ['p.yaml:9:5: wires.2 joins reco.events -> out.events a second time'],
  ],
  [
    'a wire into the entry',
    'reco -> out',
    'reco -> out\n  - reco -> in',
    ['p.yaml:9:5: wires.2.to names in, which has no input'],
  ],
  [
    'items of audio',
    'in -> reco',
    '{ from: in, to: reco, capacity: 5 items }',
    ['p.yaml:7:37: wires.0.capacity must be in ms, because the wire carries audio'],
  ],
  [
    'a bound out of range',
    'in -> reco',
    '{ from: in, to: reco, capacity: 5 ms }',
    ['p.yaml:7:37: wires.0.capacity must be 500 to 60000 ms, or 2 to 10000 items'],
  ],
  [
    'the former name of a key',
    'in -> reco',
    '{ from: in, to: reco, holds: 500 ms }',
    ['p.yaml:7:27: wires.0.holds is not known; there are from, to, capacity, whenFull'],
  ],
  [
    'two entries',
    'out: publisher',
    'out: publisher\n  two: entry',
    [
      'p.yaml:6:3: nodes.two is a second entry; nodes.in is the first, and only one is allowed',
      'p.yaml:6:3: warning: nodes.two has outputs, but no wire from them',
    ],
  ],
  [
    'no publisher',
    'out: publisher',
    'out: webhoook',
    [
      'p.yaml:1:1: nodes must have a node publisher, or the client gets no results',
      'p.yaml:5:8: nodes.out.node names "webhoook", which is not a node;',
    ],
  ],
  [
    'a circle',
    'in -> reco',
    'in -> reco\n  - a -> b\n  - b -> a',
    [
      'p.yaml:11:5: wires.2 closes a cycle: a -> b -> a',
      'p.yaml:5:3: nodes.a is not reached by any wire from the entry',
      'p.yaml:6:3: nodes.b is not reached by any wire from the entry',
    ],
  ],
  [
    'audio that does not fit',
    'in -> reco',
    'in -> s\n  - s.left -> reco',
    ['p.yaml:5:3: nodes.s does not fit pcm 8000 Hz mono and'],
  ],
  [
    'a resource that is not there',
    '{ node: recognizer }',
    '{ node: recognizer, options: { model: best } }',
    ['p.yaml:4:40: nodes.reco.options.model names "best", which is not among the resources; there are none'],
  ],
  [
    'a resource of another kind',
    'version: 1',
    'version: 1\nresources: { best: { secret: { env: KEY } } }',
    [
      'p.yaml:2:14: resources.best.secret.env names KEY, which is not set in the environment',
      'p.yaml:2:14: warning: resources.best is not used by any node',
    ],
  ],
  [
    'a limit out of range',
    'version: 1',
    'version: 1\nlimits: { idleMs: 1 }',
    ['p.yaml:2:19: limits.idleMs must be a whole number from 1000 to 2147483647'],
  ],
  [
    'an alias',
    'reco: { node: recognizer }',
    'reco: &x { node: recognizer }\n  two: *x',
    ['p.yaml:5:8: nodes.two must not be an alias; write out its value'],
  ],
  [
    'a file that is not there',
    'version: 1',
    'version: 1\nresources: { words: { file: ../x } }',
    [
      'p.yaml:2:14: resources.words.file names a file that is not there',
      'p.yaml:2:14: warning: resources.words is not used by any node',
    ],
  ],
]

/** Additional nodes for some changes. */
const more: Readonly<Record<string, string>> = {
  'two wires of audio to one input': '  g: { node: gain, options: { gainDb: 1 } }\n',
  'a circle': '  a: { node: gain, options: { gainDb: 1 } }\n  b: { node: gain, options: { gainDb: 1 } }\n',
  'audio that does not fit': '  s: channel-split\n',
}

describe('the check of a project', () => {
  it('accepts a project without faults', async () => {
    const { graph, lines } = await check(sound)
    expect(lines).toEqual([])
    expect(graph?.nodes.map(({ id }) => id)).toEqual(['in', 'reco', 'out'])
  })

  it.each(broken)('reports the position and the fault: %s', async (what, from, to, messages) => {
    const text = sound.replace('  out: publisher', `${more[what] ?? ''}  out: publisher`).replace(from, to)
    const { lines, graph } = await check(text)
    for (const part of messages)
      expect(
        lines.some((line) => line.startsWith(part)),
        lines.join('\n'),
      ).toBe(true)
    expect(graph).toBeUndefined()
  })

  it('checks models when they are known', async () => {
    const text = sound.replace('version: 1', 'version: 1\nmodel: best')
    expect((await check(text, { hasModel: ({ name }) => name === 'best' })).lines).toEqual([])
    expect((await check(text, { hasModel: () => false })).lines).toEqual([
      'p.yaml:2:8: model names best, which is not among the models here',
    ])
  })

  it('reads a version as it is written, and compares it with the name of the file', async () => {
    const text = sound.replace('version: 1', 'version: 1.10')
    expect((await check(text, { versionOfFile: '1.10' })).graph?.version).toBe('1.10')
    expect((await check(text, { versionOfFile: '1.1' })).lines).toEqual([
      'p.yaml:1:10: version is 1.10, but the name of the file is 1.1',
    ])
  })

  it('loads resources that nodes name', async () => {
    const text = `${sound.replace('{ node: recognizer }', '{ node: recognizer, options: { model: best } }')}resources: { best: { model: { tenant: A, name: m } } }\n`
    const { graph } = await check(text)
    expect(graph?.resources.get('best')).toEqual({ kind: 'model', model: { tenant: 'A', name: 'm' } })
    const wrong = text.replace('{ model: { tenant: A, name: m } }', '{ file: x }')
    expect((await check(wrong, { readFile: () => either.right(new Uint8Array(1)) })).lines).toEqual([
      'p.yaml:4:40: nodes.reco.options.model must name a resource that is a model; best is a file',
    ])
  })

  it.each([
    ['nothing', '', 'The file is empty; it must contain a project'],
    ['no YAML', 'a: [', 'The file is not YAML here'],
    ['a list', '- 1', 'The file must be a table of keys and values'],
    ['lists in lists without end', '['.repeat(19_000), 'The file '],
    ['more than may be', `# ${'x'.repeat(1_048_576)}`, 'The file must not be longer than 1048576 bytes'],
    [
      '100,000 wires',
      `wires:\n${'  - a -> b\n'.repeat(90_000)}`,
      'The file must not have more than 20000 lines, items, keys and quotes together',
    ],
  ])('refuses %s', async (_what, text, messages) => {
    const { lines } = await check(text)
    expect(lines[0]).toContain(messages)
  })

  it('reports the first 50 faults, errors first, and the number of the others', async () => {
    const { lines } = await check(`${sound}\n${Array.from({ length: 5_000 }, (_none, at) => `key${at}: 1`).join('\n')}`)
    expect(lines).toHaveLength(51)
    expect(lines[49]).toMatch(/ key49 is not known/)
    expect(lines[50]).toMatch(/: The file has 4950 more faults; correct these first$/)
  })

  it('reports keys such as __proto__ as unknown', async () => {
    const { lines } = await check(sound.replace('version: 1', 'version: 1\n__proto__: { x: 1 }\nconstructor: 2'))
    expect(lines).toEqual([
      expect.stringContaining('p.yaml:2:1: __proto__ is not known'),
      expect.stringContaining('p.yaml:3:1: constructor is not known'),
    ])
  })

  it('shows the line with carets below the fault', () => {
    expect(excerptOf('a: 1\n  b: twelve # c\n', { from: 10, to: 16 })).toBe('  b: twelve # c\n     ^^^^^^')
  })
})

it('draws a graph for Mermaid and escapes its reserved words', async () => {
  expect(drawMermaid(await graphOf(sound.replaceAll(/\breco\b/g, 'end'), []))).toBe(
    [
      'flowchart LR',
      '  n0(["in: entry"])',
      '  n1["end: recognizer"]',
      '  n2(["out: publisher"])',
      '  n0 -->|"audio"| n1',
      '  n1 -->|"events"| n2',
    ].join('\n'),
  )
})
