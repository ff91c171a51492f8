import { describe, expect, it } from 'vitest'
import type { SoundswallowerPackage } from '../../src/soundswallower/package.js'
import { WorkerGrammars } from '../../src/soundswallower/worker-grammars.js'

const dictionary = new Set(['thank', 'you', 'friday', 'weather', 'appointment'])

/** Only a decoder that gets a grammar needs the package. */
const countedGrammars = () => {
  let lookUps = 0
  const isKnown = (word: string): boolean => {
    lookUps += 1
    return dictionary.has(word)
  }
  const grammars = new WorkerGrammars(
    {} as SoundswallowerPackage,
    '#JSGF V1.0; grammar a; public <a> = thank you;',
    isKnown,
  )
  return {
    reasons: (...phrases: readonly string[]) => grammars.faultsOf(phrases).map(({ reason }) => reason),
    lookUps: () => lookUps,
  }
}

const lacks = 'which the dictionary of the model lacks'

describe('suggestions for a phrase that is refused', () => {
  it('are for its first unknown word', () => {
    const { reasons } = countedGrammars()
    expect(reasons('thank you', 'on fridday', 'wether')).toEqual([
      `has the word "on", ${lacks}.`,
      `has the word "fridday", ${lacks}.`,
      `has the word "wether", ${lacks}.`,
    ])
    expect(reasons('fridday', 'wether')).toEqual([
      `has the word "fridday", ${lacks}; near are "friday".`,
      `has the word "wether", ${lacks}.`,
    ])
  })

  it('take a bounded number of look-ups for each check, because every session waits for the thread', () => {
    const { reasons, lookUps } = countedGrammars()
    const words = Array.from({ length: 100 }, (_value, at) =>
      'abcdefghijkl'.replace('c', String.fromCharCode(97 + (at % 26))),
    )
    reasons(...words)
    expect(lookUps()).toBeLessThan(1_500)
  })

  it('are not looked for where words are long', () => {
    const { reasons, lookUps } = countedGrammars()
    expect(reasons('n'.repeat(31), 'appointmentt', 'weathr')).toEqual([
      `has the word "${'n'.repeat(31)}", ${lacks}.`,
      `has the word "appointmentt", ${lacks}.`,
      `has the word "weathr", ${lacks}.`,
    ])
    expect(lookUps()).toBe(3)
  })

  it('are looked for once for each word', () => {
    const { reasons, lookUps } = countedGrammars()
    const first = reasons('weathr')
    const count = lookUps()
    expect(reasons('weathr')).toEqual(first)
    expect(lookUps()).toBe(count + 1)
  })
})
