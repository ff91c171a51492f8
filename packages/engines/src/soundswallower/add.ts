import type { ModelSource } from '../engine.js'

const fileNames = { grammar: 'grammar.gram', phrases: 'phrases.txt', dictionary: 'dictionary.txt' }

/** Makes a model of a grammar or of phrases. */
export const addGrammar: ModelSource = {
  title: 'A model of what can be said:',
  what: 'a grammar or phrases',
  inputs: {
    grammar: { placeholder: '<file>', help: 'a grammar in the JSpeech Grammar Format, with one public rule' },
    phrases: { placeholder: '<file>', help: 'sentences, one per line' },
    dictionary: {
      placeholder: '<file>',
      help: 'words that the dictionary lacks: a word and its phones per line',
    },
  },
  sources: ['grammar', 'phrases'],
  languages: ['en-us', 'fr-fr'],
  plan: (given) => {
    const named = Object.entries(fileNames).flatMap(([option, file]) => {
      const typed = given[option]
      return typed === undefined ? [] : [{ option, file, typed }]
    })
    return {
      options: Object.fromEntries(named.map(({ option, file }) => [option, file])),
      files: Object.fromEntries(named.map(({ file, typed }) => [file, typed])),
    }
  },
}
