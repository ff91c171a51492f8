import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Hotwords } from '../../../../src/service/engines/sherpa-onnx/hotwords.js'

const folder = mkdtempSync(join(tmpdir(), 'rxspeech-hotwords-'))
afterAll(() => rmSync(folder, { recursive: true }))

const write = (name: string, lines: readonly string[]): string => {
  writeFileSync(join(folder, name), lines.map((line) => `${line}\n`).join(''))
  return join(folder, name)
}

const hotwords = (
  modelingUnit: string,
  tokens: readonly string[],
  pieces?: Readonly<Record<string, number>>,
): Hotwords => {
  const lines = pieces && Object.entries(pieces).map(([piece, score]) => `${piece}\t${score}`)
  return new Hotwords({
    ...{ provider: 'cpu', numThreads: 1, debug: 0, modelingUnit },
    tokens: write(
      'tokens.txt',
      ['<blk>', '<unk>', ...tokens].map((token, id) => `${token} ${id}`),
    ),
    bpeVocab: lines && write('bpe.vocab', lines),
  })
}

/** The words that cannot be written. */
const unknownOf = (given: Hotwords, text: string): readonly string[] =>
  text.split(' ').filter((word) => given.faultsOf([word]).length > 0)

describe('Hotwords', () => {
  it('takes words that can be split into pieces with a token', () => {
    const pieces = { '\u2581': -3, '\u2581go': -1, in: -2, g: -4, o: -4, a: -4 }
    const given = hotwords('bpe', ['\u2581', '\u2581go', 'in', 'g', 'o'], pieces)
    expect(unknownOf(given, 'go going gin og goa ago gon zo')).toEqual(['goa', 'ago', 'gon', 'zo'])
  })

  it('splits words by the best sum of scores, as the library does, even where another split has tokens', () => {
    const pieces = { '\u2581a': -1, b: -1, '\u2581ab': -1.5 }
    expect(unknownOf(hotwords('bpe', ['\u2581a', 'b'], pieces), 'ab')).toEqual(['ab'])
    expect(unknownOf(hotwords('bpe', ['\u2581a', 'b'], { ...pieces, '\u2581ab': -2.5 }), 'ab')).toEqual([])
  })

  it('writes phrases in upper case for tokens without lower case', () => {
    const pieces = { '\u2581GO': -1, "'": -1, S: -1 }
    const given = hotwords('bpe', ['\u2581GO', "'", 'S'], pieces)
    expect(unknownOf(given, "go go's goes")).toEqual(['goes'])
    expect(given.textOf(['go', "go's go"])).toBe("GO\nGO'S GO")
    expect(hotwords('bpe', ['\u2581GO', 'a'], pieces).textOf(['go'])).toBe('go')
  })

  it('takes words of characters with a token', () => {
    const given = hotwords('cjkchar', ['\u4f60', '\u597d', 'ok'])
    expect(unknownOf(given, '\u4f60\u597d ok \u597dok \u597do \u4f60\u4eec')).toEqual(['\u597do', '\u4f60\u4eec'])
  })

  it('takes the number of a space for no token', () => {
    expect(unknownOf(hotwords('cjkchar', [' ', '\u597d']), '\u597d 2')).toEqual(['2'])
  })

  it('takes characters with a token, and words of pieces', () => {
    const tokens = ['\u4f60', '\u597d', '\u2581o', 'k', '7']
    const given = hotwords('cjkchar+bpe', tokens, { '\u2581o': -1, k: -1 })
    expect(unknownOf(given, '\u4f60ok\u597d okk 7 \u4f607 ko 8')).toEqual(['ko', '8'])
  })
})
