import { either } from 'fp-ts'
import * as t from 'io-ts'
import { describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../../../src/audio/format.js'
import { SpeechError } from '../../../../../src/errors/speech-error.js'
import { defineNode } from '../../../src/nodes/core/define-node.js'
import { noOptions, nodeOptions, numberFrom, oneOfWords, nonEmptyText } from '../../../src/nodes/core/node-options.js'
import { nodeContext } from '../node-context.js'

const telephone: AudioFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 }

const given: unknown[] = []
const gain = defineNode({
  name: 'gain',
  summary: 'Louder or softer.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio', levels: 'event' },
  options: nodeOptions({ gainDb: numberFrom(-60, 60) }, { mode: oneOfWords('hard', 'soft') }),
  open: (options) => {
    given.push(options)
    return (input$) => input$
  },
})

describe('defineNode', () => {
  it('binds decoded options, and passes them to the factory of each session', async () => {
    const configured = gain.configure({ gainDb: 6, mode: 'soft' })
    if (either.isLeft(configured)) throw new Error('refused')
    expect(configured.right.formats({ audio: telephone })).toEqual(either.right({ audio: telephone }))
    given.length = 0
    await configured.right.open(nodeContext())
    await configured.right.open(nodeContext())
    expect(given).toEqual([
      { gainDb: 6, mode: 'soft' },
      { gainDb: 6, mode: 'soft' },
    ])
  })

  it('checks an Update with the options, and accepts every one without checkSettings', () => {
    const careful = defineNode({
      name: 'careful',
      summary: 'Takes settings up to a limit.',
      inputs: { events: 'event' },
      outputs: { events: 'event' },
      options: nodeOptions({ limit: numberFrom(0, 10) }, {}),
      checkSettings: (next, now, { limit }) =>
        Number(next['Level']) <= limit
          ? undefined
          : new SpeechError('invalid-field', `Level ${String(now['Level'])} may rise to ${limit}.`),
      open: () => (input$) => input$,
    })
    const configured = careful.configure({ limit: 5 })
    const indifferent = gain.configure({ gainDb: 0 })
    if (either.isLeft(configured) || either.isLeft(indifferent)) throw new Error('refused')
    expect(configured.right.checkSettings({ Level: 5 }, { Level: 1 })).toBeUndefined()
    expect(configured.right.checkSettings({ Level: 6 }, { Level: 1 })?.message).toBe('Level 1 may rise to 5.')
    expect(indifferent.right.checkSettings({ Level: 6 }, {})).toBeUndefined()
  })

  it('names every option that is missing, invalid or unknown, each once', () => {
    expect(gain.configure({ mode: 'loud', gian: 1 })).toEqual(
      either.left([
        { path: ['gainDb'], message: 'must be a number from -60 to 60' },
        { path: ['mode'], message: 'must be "hard" or "soft"' },
        { path: ['gian'], message: 'is not known; there are gainDb, mode' },
      ]),
    )
    expect(gain.configure(5)).toEqual(either.left([{ path: [], message: 'must be a table of options' }]))
  })

  it("knows the names in io-ts' own codecs", () => {
    const node = defineNode({
      name: 'own-codec',
      summary: 'Made elsewhere.',
      inputs: { events: 'event' },
      outputs: { events: 'event' },
      options: t.exact(t.intersection([t.type({ one: nonEmptyText }), t.partial({ other: t.number })])),
      open: () => (input$) => input$,
    })
    expect(either.isRight(node.configure({ one: 'x', other: 1 }))).toBe(true)
    expect(node.configure({ one: 'x', third: 1 })).toEqual(
      either.left([{ path: ['third'], message: 'is not known; there are one, other' }]),
    )
  })

  it('rejects invalid names of nodes and ports', () => {
    const rest = { summary: '', outputs: {}, options: noOptions, open: () => () => gain as never }
    expect(() => defineNode({ ...rest, name: 'My Node', inputs: {} })).toThrow('write it as my-node')
    expect(() => defineNode({ ...rest, name: 'my-node', inputs: { 'a-b': 'audio' } })).toThrow(
      'not a valid name of a port',
    )
  })
})
