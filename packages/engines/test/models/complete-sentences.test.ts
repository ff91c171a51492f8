import { describe, expect, it } from 'vitest'
import { completeSentences } from '../../src/models/complete-sentences.js'
import { grammarGraph } from '../../src/models/grammar-graph.js'

const isComplete = (rules: string, text: string): boolean =>
  completeSentences(grammarGraph(`#JSGF V1.0; grammar test; ${rules}`))(text)

describe('completeSentences', () => {
  const lights = 'public <order> = turn [the] light (on | off) [please] | turn left | turn left now | stop;'

  it.each(['stop', 'turn light on please', 'turn the light off please', 'turn left now'])(
    'is true for "%s", which nothing can follow',
    (text) => expect(isComplete(lights, text)).toBe(true),
  )

  it.each(['turn left', 'turn light on'])('is false for "%s", which is a sentence that can continue', (text) =>
    expect(isComplete(lights, text)).toBe(false),
  )

  it.each(['', 'turn', 'turn the', 'stop stop', 'please', 'unknown'])(
    'is false for "%s", which is no sentence of the grammar',
    (text) => expect(isComplete(lights, text)).toBe(false),
  )

  it('is false for every text of a rule that repeats without an end', () => {
    const digits = 'public <digits> = (one | two)+;'
    expect(isComplete(digits, 'one')).toBe(false)
    expect(isComplete(digits, 'one two one')).toBe(false)
  })

  it('is false if one of two ways to read the words can continue', () => {
    expect(isComplete('public <a> = <b> | <c>; <b> = go home; <c> = go (home | away) now;', 'go home')).toBe(false)
    expect(isComplete('public <a> = <b> | <c>; <b> = go home; <c> = go away now;', 'go home')).toBe(true)
  })

  it('is false where the grammar ends in a rule that nothing can satisfy', () => {
    expect(isComplete('public <a> = one | two (<never>); <never> = <never> three;', 'two')).toBe(false)
  })

  it('is false without a graph', () => {
    expect(completeSentences(undefined)('stop')).toBe(false)
  })
})
