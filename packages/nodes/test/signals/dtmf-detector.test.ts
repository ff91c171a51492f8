import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { decodeSamples, encodeSamples } from '../../../../src/audio/codec.js'
import { deinterleaveChannels, interleaveChannels } from '../../../../src/audio/channels.js'
import { DtmfDetector } from '../../src/signals/dtmf-digits.js'
import { bytesPerFrame, bytesPerSample, type AudioFormat } from '../../../../src/audio/format.js'
import { dtmfDetector } from '../../src/signals/dtmf-detector.js'
import type { NodeItem } from '../../../server/src/nodes/core/node.js'
import { pressed } from './dtmf-tones.js'
import { answersTo, audio, event, eventsOf, openNode, testFixedSet } from '../../../server/test/nodes/fixed-set.js'

const mono = (encoding: AudioFormat['encoding']): AudioFormat => ({ encoding, sampleRateHz: 8000, channels: 1 })
const audioOf = (items: readonly NodeItem[]): Buffer =>
  Buffer.concat(items.flatMap((item) => (item.type === 'audio' ? [item.bytes] : [])))
const cut = (bytes: Uint8Array, pieceBytes: number): readonly NodeItem[] =>
  Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_none, index) =>
    audio(bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes)),
  )
const open = (format: AudioFormat, options: object = {}, offsetMs = 0) =>
  openNode(dtmfDetector, options, { inputs: { audio: format }, outputs: { audio: format }, offsetMs })

describe('dtmf-detector', () => {
  const format = mono('pcm')
  const samples = pressed(8000, [{ digit: '5', toneMs: 100 }], 100)
  const item = audio(encodeSamples(samples, 'pcm'))
  const digit = (startMs: number): NodeItem =>
    event('DTMF', { channel: 0, startMs, endMs: startMs + 102, data: { Digit: '5', DurationMsec: 102 } })
  testFixedSet({ open: () => open(format), item, first: [item, digit(99)], second: [item, digit(409)] })

  it.each(['pcm', 'ulaw', 'alaw'] as const)(
    'reports the digits of each channel in %s, with any slicing',
    async (encoding) => {
      const stereo: AudioFormat = { encoding, sampleRateHz: 8000, channels: 2 }
      const left = encodeSamples(
        pressed(
          8000,
          Array.from('123', (item) => ({ digit: item })),
        ),
        encoding,
      )
      const right = encodeSamples(
        pressed(
          8000,
          Array.from('#0*', (item) => ({ digit: item })),
        ),
        encoding,
      )
      const bytes = interleaveChannels(left, right, bytesPerSample(stereo))
      const results = new Set<string>()
      for (const frames of [1, 77, 160, 100_000]) {
        const answers = answersTo(await open(stereo), cut(bytes, frames * bytesPerFrame(stereo)))
        const digits = eventsOf(answers, 'DTMF')
        expect(digits.map(({ channel, data }) => [channel, (data as { Digit: string }).Digit]).sort()).toEqual(
          [
            [0, '1'],
            [0, '2'],
            [0, '3'],
            [1, '#'],
            [1, '0'],
            [1, '*'],
          ].sort(),
        )
        results.add(JSON.stringify([...digits].sort((a, b) => (a.channel ?? 0) - (b.channel ?? 0))))
        expect(audioOf(answers)).toEqual(Buffer.from(bytes))
      }
      expect(results.size).toBe(1)
    },
  )

  it('counts from the beginning of the session when it was opened again', async () => {
    const [only] = eventsOf(answersTo(await open(format, {}, 5000), [item]), 'DTMF')
    expect(only).toMatchObject({ startMs: 5099 })
  })

  it.each(['pcm', 'ulaw', 'alaw'] as const)(
    'silences the tones of a channel in %s and nothing else',
    async (encoding) => {
      const stereo: AudioFormat = { encoding, sampleRateHz: 8000, channels: 2 }
      // 300 Hz before, after and beside the tones stands for speech.
      const hum = (index: number): number => 2000 * Math.sin((2 * Math.PI * 300 * index) / 8000)
      const tones = pressed(
        8000,
        [
          { digit: '7', toneMs: 80 },
          { digit: '7', toneMs: 41 },
          { digit: '1', toneMs: 500 },
        ],
        300,
      )
      const loud = (index: number): boolean => tones.subarray(index, index + 20).some((sample) => sample !== 0)
      const left = encodeSamples(
        tones.map((sample, index) => (loud(index) ? sample : hum(index))),
        encoding,
      )
      const right = encodeSamples(
        tones.map((_sample, index) => hum(index)),
        encoding,
      )
      const sampleBytes = bytesPerSample(stereo)
      const bytes = interleaveChannels(left, right, sampleBytes)
      for (const frames of [1, 160, 100_000]) {
        const pieces = cut(bytes, frames * bytesPerFrame(stereo))
        const answers = answersTo(await open(stereo, { suppress: true }), pieces)
        const after = audioOf(answers)
        expect(eventsOf(answers, 'DTMF')).toHaveLength(3)
        expect(after).toHaveLength(bytes.length)
        let silenced = 0
        let changedRight = 0
        for (let index = 0; index < tones.length; index += 1) {
          const at = index * 2 * sampleBytes
          const before = bytes.subarray(at, at + sampleBytes)
          const right = bytes.subarray(at + sampleBytes, at + 2 * sampleBytes)
          if (!after.subarray(at + sampleBytes, at + 2 * sampleBytes).equals(right)) changedRight += 1
          if (!after.subarray(at, at + sampleBytes).equals(before)) silenced += 1
        }
        expect(changedRight).toBe(0)
        // The 621 ms of tones are silent, and at their edges no more than 7.5 ms each.
        expect(silenced).toBeGreaterThan(600 * 8)
        expect(silenced).toBeLessThan((621 + 3 * 15) * 8)
        const detected = pressedIn(after, encoding, sampleBytes)
        expect(detected).toEqual([])
      }
    },
  )

  it('delays audio by no more than 150 ms', async () => {
    const node = await open(format, { suppress: true })
    const bytes = encodeSamples(
      pressed(
        8000,
        [
          { digit: '9', toneMs: 3000 },
          { digit: '9', toneMs: 30 },
        ],
        500,
      ),
      'pcm',
    )
    const input$ = new Subject<NodeItem>()
    let givenBytes = 0
    let takenBytes = 0
    let maxHeld = 0
    const subscription = node(input$, undefined as never).subscribe((value) => {
      if (value.type === 'audio') takenBytes += value.bytes.byteLength
    })
    for (const piece of cut(bytes, 80)) {
      givenBytes += piece.type === 'audio' ? piece.bytes.byteLength : 0
      input$.next(piece)
      maxHeld = Math.max(maxHeld, givenBytes - takenBytes)
    }
    subscription.unsubscribe()
    expect(maxHeld / 16).toBeLessThan(150)
    expect(maxHeld).toBeGreaterThan(0)
  })
})

/** Digits that remain in the left channel. */
const pressedIn = (bytes: Uint8Array, encoding: AudioFormat['encoding'], sampleBytes: 1 | 2): readonly unknown[] => {
  const left = deinterleaveChannels(bytes, sampleBytes)[0]
  return new DtmfDetector(8000).take(decodeSamples(left, encoding))
}
