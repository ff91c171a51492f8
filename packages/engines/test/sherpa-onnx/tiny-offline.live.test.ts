import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lineNoise } from '../recordings.js'
import { tinyCtcModel } from './tiny-ctc.js'
import { tinyModel, tinySherpaModel } from './tiny-model.js'
import { openReader, spoken } from './whisper-model.js'

type Opened = Awaited<ReturnType<typeof openReader>>
const model = tinyCtcModel()
let opened: Opened
beforeAll(async () => {
  opened = await openReader(model)
})
afterAll(async () => {
  await opened.reader.close()
  rmSync(model.folder, { recursive: true })
})

describe('an offline CTC model of sherpa-onnx with random weights', () => {
  it('reads the same words of the same audio, with times within it and without confidences', async () => {
    const greeting = await spoken(0, 600, 3_225)
    const { text, words = [] } = await opened.read(greeting)
    expect(words.length).toBeGreaterThan(5)
    expect(words.map((word) => word.text).join('')).toBe(text.replaceAll(' ', ''))
    for (const { startMs, endMs, confidence } of words) {
      expect([startMs <= endMs, endMs <= 2_625, confidence]).toEqual([true, true, undefined])
    }
    expect((await opened.read(greeting)).text).toBe(text)
    expect((await opened.read(lineNoise(32_000))).text).not.toBe(text)
  })

  it('reads audio that is shorter than the library permits', async () => {
    for (const count of [0, 1, 800]) expect((await opened.read(lineNoise(count))).text.length).toBeGreaterThanOrEqual(0)
    expect(opened.workers).toHaveLength(1)
  })
})

describe('an offline transducer of sherpa-onnx with random weights', () => {
  it('prefers the phrases of a session, of which each has its own', async () => {
    const folder = tinySherpaModel({ isOffline: true })
    const beam = {
      decodingMethod: 'modified_beam_search',
      modelingUnit: 'bpe',
      bpeVocab: 'bpe.vocab',
      hotwordsScore: 6,
    }
    const transducer = tinyModel(folder, { ...beam, sampleRateHz: 16_000 })
    const { reader, read } = await openReader(transducer)
    const greeting = await spoken(0, 600, 3_225)
    const countOf = async (phrases?: readonly string[]): Promise<number> =>
      (await read(greeting, { phrases })).text.split('ten').length
    const without = await countOf()
    expect(await countOf(['ten'])).toBeGreaterThan(without)
    expect(await countOf()).toBe(without)
    const [word] = (await read(greeting)).words ?? []
    expect(word?.confidence).toBeGreaterThan(0)
    await reader.close()
    rmSync(folder, { recursive: true })
  })
})
