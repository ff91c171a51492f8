import { describe, expect, it } from 'vitest'
import type { EngineKind, ModelSource } from '../../../../engines/src/engine.js'
import { addFlagsOf } from '../../../src/cli/commands/models-add.js'

const kindWith = (name: string, add: Partial<ModelSource>, presets = {}): EngineKind => ({
  name,
  presets,
  open: () => Promise.reject(new Error('Nothing is opened.')),
  add: {
    title: `A model of ${name}:`,
    what: name,
    inputs: {},
    sources: [],
    plan: () => ({ options: {}, files: {} }),
    ...add,
  },
})

describe('the flags of models add', () => {
  it('are those of all kinds of engines, each below the title of its kind', () => {
    const flags = addFlagsOf([
      kindWith('one', { inputs: { script: { placeholder: '<file>', help: 'a script' } } }),
      kindWith('two', { inputs: { fast: { help: 'it decodes fast' } } }),
      { name: 'three', open: () => Promise.reject(new Error('Nothing is opened.')) },
    ])
    expect(flags['script']).toMatchObject({ placeholder: '<file>', help: 'a script', group: 'A model of one:' })
    expect(flags['fast']).toMatchObject({ help: 'it decodes fast', group: 'A model of two:' })
  })

  it('have the values that a kind allows', () => {
    const flags = addFlagsOf([
      kindWith('one', { inputs: { rate: { placeholder: '<hertz>', help: 'its rate', choices: ['8000', '16000'] } } }),
    ])
    expect(flags['rate']?.valueOf('8000', '--rate')).toBe('8000')
    expect(() => flags['rate']?.valueOf('7', '--rate')).toThrow('--rate must be 8000 or 16000')
  })

  it('name the languages of each kind that has some, and its default', () => {
    const { language } = addFlagsOf([
      kindWith('one', { what: 'a script', languages: ['en', 'fr'] }, { language: 'fr' }),
      kindWith('two', {}),
    ])
    expect(language.help).toBe('the language that it reads, such as de; of a script: en or fr (default: fr)')
  })

  it.each(['script', 'tenant', 'language'])('are refused if a kind has one that is taken: %s', (taken) => {
    const inputs = { [taken]: { help: 'another meaning' } }
    const kinds = [kindWith('one', { inputs: { script: { help: 'a script' } } }), kindWith('two', { inputs })]
    expect(() => addFlagsOf(kinds)).toThrow(
      `The engine two has the flag --${taken} of models add, which is taken; rename it.`,
    )
  })
})
