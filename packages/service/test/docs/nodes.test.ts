import { either } from 'fp-ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { builtInNodes } from '../../src/start/built-ins.js'
import type { AnyNodeDefinition, OptionFault } from '../../../server/src/nodes/core/node.js'
import { segmentationParameters, type ParameterRow } from '../../../../src/protocol/recognition-parameters.js'
import { projectSegmenterParameters } from '../../../server/src/recognition/segmenter-parameters.js'
import { named, tableBelow } from '../../../../test/docs/markdown.js'

const page = readFileSync(join(__dirname, '../../../../docs/NODES.md'), 'utf8')

const unknown = 'is not known; there are '

/** A value that is invalid for every option. */
const unfit = (): void => undefined

const faultsOf = (definition: AnyNodeDefinition, options: unknown): readonly OptionFault[] => {
  const configured = definition.configure(options)
  return either.isLeft(configured) ? configured.left : []
}

/**
 * The options of a node, as its error for invalid options lists them: name, whether it is required, what it must be.
 */
const optionsInCode = (definition: AnyNodeDefinition) => {
  const [fault = ''] = faultsOf(definition, { '?': 0 }).flatMap(({ path, message }) =>
    path[0] === '?' ? [message] : [],
  )
  const names = fault.startsWith(unknown)
    ? fault
        .slice(unknown.length)
        .split(', ')
        .filter((name) => name !== 'none')
    : []
  const needed = faultsOf(definition, {}).map(({ path }) => path[0])
  return names.map((name) => {
    const fault = faultsOf(definition, { [name]: unfit }).find(({ path }) => path[0] === name)
    return { name, needed: needed.includes(name) ? 'yes' : 'no', value: fault?.message.replace(/^must be /, '') ?? '' }
  })
}

const optionsOnPage = (name: string) =>
  tableBelow(page, name).map(([option, needed, value, byDefault]) => ({
    name: named(option),
    needed,
    value: value ?? '',
    byDefault: named(byDefault).replaceAll('`', ''),
  }))

/** "in `audio` (audio, stereo), out `left` (audio)" as names and kinds. */
const portsOnPage = (name: string) => {
  const [, inputs = '', outputs = ''] = new RegExp(`^Ports of \`${name}\`: in (.*), out (.*)\\.$`, 'm').exec(page) ?? []
  const portsOf = (text: string) =>
    Object.fromEntries([...text.matchAll(/`(\w+)` \((\w+)/g)].map(([, port = '', kind = '']) => [port, kind]))
  return { inputs: portsOf(inputs), outputs: portsOf(outputs) }
}

describe.each(builtInNodes)('NODES.md on $name', (definition) => {
  const { name, inputs, outputs } = definition

  it('has its options, whether they are required, and what they must be', () => {
    const inCode = optionsInCode(definition)
    expect(inCode.every(({ value }) => value !== '')).toBe(true)
    expect(optionsOnPage(name).map(({ name: option, needed }) => [option, needed])).toEqual(
      inCode.map(({ name: option, needed }) => [option, needed]),
    )
    for (const [index, { value }] of optionsOnPage(name).entries()) {
      expect(value.split(';')[0]).toBe(inCode[index]?.value)
    }
  })

  it('has its ports', () => {
    expect(portsOnPage(name)).toEqual({ inputs, outputs })
  })
})

describe('NODES.md', () => {
  it('names only nodes that exist', () => {
    const names = [...page.matchAll(/^### (.+)$/gm)].map(([, name]) => name)
    expect(names.toSorted()).toEqual(builtInNodes.map(({ name }) => name).toSorted())
  })

  it('has the correct defaults of voice activity', () => {
    for (const name of ['voice-activity', 'recognizer']) {
      const onPage = new Map(optionsOnPage(name).map(({ name: option, byDefault }) => [option, byDefault]))
      for (const [key, row] of Object.entries<ParameterRow>(segmentationParameters)) {
        const { nodeOption = key } = row
        if (name === 'voice-activity' && nodeOption === 'gracefulSilenceMs') continue
        expect(onPage.get(nodeOption), `${name} ${key}`).toBe(String(row.projectDefault ?? row.default))
      }
      expect(onPage.get('onsetMs')).toBe(String(projectSegmenterParameters.onsetMs))
    }
  })
})
