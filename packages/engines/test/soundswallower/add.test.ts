import { describe, expect, it } from 'vitest'
import { addGrammar } from '../../src/soundswallower/add.js'

describe('a model of what can be said', () => {
  it('has its files under names of its own, and only those that were given', () => {
    expect(addGrammar.plan({ phrases: 'my/orders.txt', dictionary: '../words.dict' })).toEqual({
      options: { phrases: 'phrases.txt', dictionary: 'dictionary.txt' },
      files: { 'phrases.txt': 'my/orders.txt', 'dictionary.txt': '../words.dict' },
    })
    expect(addGrammar.plan({ grammar: '/tmp/cards.gram' })).toEqual({
      options: { grammar: 'grammar.gram' },
      files: { 'grammar.gram': '/tmp/cards.gram' },
    })
  })

  it('is made of one of its inputs', () => {
    expect(Object.keys(addGrammar.inputs)).toEqual(expect.arrayContaining([...addGrammar.sources]))
  })
})
