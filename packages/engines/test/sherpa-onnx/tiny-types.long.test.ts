import { rmSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { decodeChannels } from '../../../../src/audio/codec.js'
import { sherpaOnnx } from '../../src/sherpa-onnx/sherpa-onnx.js'
import { readSherpaModel } from '../../src/sherpa-onnx/model.js'
import { readRecording } from '../../../../test/audio/read-recording.js'
import { TestChannel } from '../contract/test-channel.js'
import { lineNoise, segmentParts } from '../recordings.js'
import { tinyTypeModel, tinyTypes, type TinyType } from './tiny-types.js'
import { openReader, spoken } from './whisper-model.js'

/** Reads audio with a model of a type, and what its words say. */
const openType = async (type: TinyType) => {
  const model = tinyTypeModel(type)
  const { settings, hasTimes } = await readSherpaModel(model, 1)
  const rateHz = settings.sampleRateHz
  if (!settings.streaming) {
    const { reader, workers, read } = await openReader(model)
    const close = async () => {
      expect(workers).toHaveLength(1)
      await reader.close()
      rmSync(model.folder, { recursive: true })
    }
    return {
      rateHz,
      hasTimes,
      read: async (samples: Int16Array) => {
        const { text, words = [] } = await read(samples)
        return { text, words }
      },
      close,
    }
  }
  const engine = await sherpaOnnx().open(model)
  const read = async (samples: Int16Array) => {
    const endMs = Math.round((samples.length * 1000) / rateHz)
    const parts = segmentParts(samples).slice(0, -1)
    const channel = new TestChannel(engine).send(...parts, { type: 'close', endMs }).complete()
    expect(await channel.ended()).toBe('complete')
    const [segment] = channel.segments
    return { text: segment?.text ?? '', words: segment?.words ?? [] }
  }
  const close = async () => {
    await engine.close()
    rmSync(model.folder, { recursive: true })
  }
  return { rateHz, hasTimes, read, close }
}

/** The greeting of the sample call. */
const greetingAt = async (rateHz: number): Promise<Int16Array> => {
  if (rateHz === 16_000) return spoken(0, 600, 3_225)
  const { bytes, format } = await readRecording('samples/call.wav')
  return decodeChannels(bytes, format)[0]?.slice(600 * 8, 3_225 * 8) ?? new Int16Array(0)
}

// Starts a process for each type.
describe.each(tinyTypes)('a model of sherpa-onnx with random weights: %s', (type) => {
  it('reads the same text of the same audio, with times within it, and audio of any length', async () => {
    const { rateHz, hasTimes, read, close } = await openType(type)
    const greeting = await greetingAt(rateHz)
    const { text, words } = await read(greeting)
    expect(text).toMatch(/\w/)
    expect(words.length > 0).toBe(hasTimes)
    for (const { startMs, endMs } of words) expect([startMs <= endMs, endMs <= 2_625]).toEqual([true, true])
    expect((await read(lineNoise(2 * rateHz))).text).not.toBe(text)
    for (const count of [1, rateHz / 100, rateHz / 20]) await read(greeting.slice(0, count))
    // Some types add dither to the sound.
    expect((await read(greeting)).text.slice(0, 6)).toBe(text.slice(0, 6))
    await close()
  })
})
