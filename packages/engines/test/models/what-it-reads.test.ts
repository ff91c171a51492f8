import { expect, it } from 'vitest'
import { takesPhrases, whatItReads } from '../../src/models/what-it-reads.js'

it.each([
  [{ engine: 'soundswallower', grammar: 'orders.gram' }, 'sentences of orders.gram'],
  [{ engine: 'soundswallower', phrases: 'orders.txt', language: 'fr-fr' }, 'sentences of orders.txt'],
  [{ engine: 'sherpa-onnx', language: 'en' }, 'any English speech'],
  [{ engine: 'sherpa-onnx', languages: ['de'] }, 'any German speech'],
  [{ engine: 'sherpa-onnx', languages: ['en', 'fr', 'de'] }, 'any English, French, and German speech'],
  [{ engine: 'sherpa-onnx', languages: ['en', 'fr', 'de', 'es'] }, '4 languages'],
  [{ engine: 'sherpa-onnx', language: 'no language' }, 'any no language speech'],
  [{ engine: 'sherpa-onnx', language: 7 }, 'any speech'],
  [{ engine: 'sherpa-onnx', languages: ['auto'] }, 'any speech, detects the language'],
  [{ engine: 'sherpa-onnx', language: 'auto' }, 'any speech, detects the language'],
  [{ engine: 'sherpa-onnx', languages: ['auto', 'en', 'fr'] }, 'any English and French speech'],
  [{ engine: 'remote', modelName: 'English' }, 'any speech'],
  [{ engine: 'remote', modelName: 'orders', kind: 'grammar' }, 'sentences of a grammar'],
  [{ engine: 'openai', language: 'en', phrases: 'prompt' }, 'any English speech'],
])('says of %j that it reads %s', (options, expected) => {
  expect(whatItReads(options)).toBe(expected)
})

it.each([
  [{ engine: 'soundswallower', grammar: 'orders.gram' }, true],
  [{ engine: 'openai', phrases: 'prompt' }, true],
  [{ engine: 'openai' }, false],
  [{ engine: 'sherpa-onnx', decodingMethod: 'modified_beam_search', modelingUnit: 'cjkchar' }, true],
  [{ engine: 'sherpa-onnx', decodingMethod: 'modified_beam_search' }, false],
  [{ engine: 'sherpa-onnx', modelingUnit: 'cjkchar' }, false],
  [{ engine: 'vosk' }, false],
  [{ engine: 'remote' }, false],
  [{ engine: 'wyoming' }, false],
  [{ engine: 'my-engine' }, undefined],
])('says of %j whether sessions may have phrases: %s', (options, expected) => {
  expect(takesPhrases(options)).toBe(expected)
})
