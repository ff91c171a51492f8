import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { decodeChannels, encodeSamples } from '../../../../src/audio/codec.js'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { AudioInput, WavHeaderInput } from '../../src/deepgram-listen/audio-input.js'

const call = readFileSync('samples/call.wav')
const dataAt = call.indexOf('data') + 8
const samples = call.subarray(dataAt, dataAt + 4_000)
const format = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 } as const
const channels = decodeChannels(samples, format)

const join = (parts: readonly Uint8Array[]): Uint8Array => Uint8Array.from(Buffer.concat(parts))

const readWhole = (input: AudioInput, bytes: Uint8Array, size: number): readonly Uint8Array[] => {
  const parts: Uint8Array[][] = [[], []]
  for (let at = 0; at < bytes.length; at += size) {
    for (const [channel, part] of input.push(bytes.subarray(at, at + size)).entries()) parts[channel]?.push(part)
  }
  return parts.slice(0, input.channelCount).map(join)
}

describe('the audio of a socket', () => {
  it.each([1, 2, 3, 5, 1_000, 4_000])('is split into channels in pieces of %d bytes', (size) => {
    const input = new AudioInput({ format, stored: 'ulaw' }, true)
    expect(readWhole(input, samples, size)).toEqual(channels.map((channel) => join([bytesOf(channel)])))
  })

  it.each([1, 3, 4_000])('is mixed in pieces of %d bytes', (size) => {
    const [left = new Int16Array(), right = new Int16Array()] = channels
    const mixed = left.map((sample, at) => (sample + (right[at] ?? 0)) / 2)
    const input = new AudioInput({ format, stored: 'ulaw' }, false)
    expect(readWhole(input, samples, size)).toEqual([join([bytesOf(mixed)])])
  })

  it('is passed on as it is if it is 16-bit samples of one channel', () => {
    const pcm = encodeSamples(channels[0] ?? new Int16Array(), 'pcm')
    const input = new AudioInput({ format: { ...format, encoding: 'pcm', channels: 1 }, stored: 'pcm' }, true)
    expect(input.push(pcm)[0]).toBe(pcm)
  })

  it('can be stored in another way in a WAV file', () => {
    const input = new AudioInput({ format: { ...format, encoding: 'pcm', channels: 1 }, stored: 'float32' }, false)
    const floats = new Uint8Array(Float32Array.of(0.5, -1).buffer)
    expect(readWhole(input, floats, 3)).toEqual([join([bytesOf(Int16Array.of(16_384, -32_768))])])
  })
})

describe('the samples of a WAV file', () => {
  const mono = { format: { encoding: 'ulaw', sampleRateHz: 8000, channels: 1 }, stored: 'ulaw' } as const
  const chunk = (name: string, bytes: Uint8Array): Uint8Array => {
    const head = Buffer.alloc(8)
    head.write(name, 'latin1')
    head.writeUInt32LE(bytes.length, 4)
    return Buffer.concat([head, bytes, Buffer.alloc(bytes.length % 2)])
  }
  const heard = (dataBytes: number, bytes: Uint8Array, size: number) =>
    readWhole(new AudioInput(mono, false, dataBytes), bytes, size)
  const asRead = (bytes: Uint8Array) => readWhole(new AudioInput(mono, false), bytes, bytes.length)

  it.each([1, 3, 8, 1_000])('end where the chunks behind them begin, in pieces of %d bytes', (size) => {
    const tags = [chunk('LIST', new Uint8Array(31)), chunk('id3 ', new Uint8Array(8))]
    for (const count of [200, 201]) {
      const data = samples.subarray(0, count)
      const file = Buffer.concat([data, Buffer.alloc(count % 2), ...tags])
      expect(heard(count, file, size)).toEqual(asRead(data))
    }
  })

  it.each([1, 3, 1_000])('go on if no chunk follows, in pieces of %d bytes', (size) => {
    expect(heard(100, samples, size)).toEqual(asRead(samples))
  })
})

describe('the header of a WAV file', () => {
  it.each([1, 2, 7, 43, 44, 100, 4_000])('is read in pieces of %d bytes', (size) => {
    const header = new WavHeaderInput()
    const rest: Uint8Array[] = []
    let found: ReturnType<WavHeaderInput['push']>
    for (let at = 0; at < dataAt + samples.length; at += size) {
      const piece = call.subarray(at, Math.min(at + size, dataAt + samples.length))
      if (found !== undefined) rest.push(piece)
      else {
        found = header.push(piece)
        if (found !== undefined) rest.push(found.samples)
      }
    }
    expect(found?.wav).toEqual({ format, stored: 'ulaw' })
    expect(join(rest)).toEqual(join([samples]))
  })

  it.each([
    ['another file', Buffer.from('OggS, which is long enough'), 'This is Ogg'],
    ['text', Buffer.from('not audio at all, nothing'), 'This is not a RIFF/WAVE file'],
    ['samples without a format', Buffer.from('RIFF\0\0\0\0WAVEdata\0\0\0\0'), 'before its "fmt " chunk'],
    [
      'no samples',
      Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVEJUNK\xff\xff\xff\x00', 'latin1'), Buffer.alloc(70_000)]),
      'must begin within',
    ],
  ])('is refused for %s', (_case, bytes, sentence) => {
    expect(() => new WavHeaderInput().push(bytes)).toThrow(sentence)
  })
})
