import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { from, lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deinterleaveChannels } from '../../../../src/audio/channels.js'
import { decodeSamples } from '../../../../src/audio/codec.js'
import type { Engine, SegmentPart } from '../../../engines/src/engine.js'
import { createModelRegistry } from '../../../engines/src/models/model-registry.js'
import { soundswallower } from '../../../engines/src/soundswallower/soundswallower.js'
import { defaultSegmenterParameters } from '../../../server/src/recognition/segmenter-parameters.js'
import { createSegmenter } from '../../../server/src/recognition/segmenter.js'
import { readRecording, type Recording } from '../../../../test/audio/read-recording.js'
import { everyNth, first } from '../../../../test/thorough.js'

const samples = join(__dirname, '../../../../samples')

interface Call {
  readonly durationMs: number
  readonly turns: readonly { channel: number; startMs: number; endMs: number; text: string }[]
}
const call = JSON.parse(readFileSync(join(samples, 'call.json'), 'utf8')) as Call
const turnsOf = (channel: number) => call.turns.filter((turn) => turn.channel === channel)

const models = createModelRegistry({ folders: [join(samples, 'models')], kinds: [soundswallower({ workers: 1 })] })
let wav: Recording
let engine: Engine
let channels: readonly [Int16Array, Int16Array]
beforeAll(async () => {
  wav = await readRecording(join(samples, 'call.wav'))
  const [left, right] = deinterleaveChannels(wav.bytes, 1)
  channels = [decodeSamples(left, 'ulaw'), decodeSamples(right, 'ulaw')]
  const model = models.find({ tenant: 'Default', name: 'call' })
  if (model === undefined) throw new Error('The sample model is missing')
  engine = await models.engine(model)
})
afterAll(() => models.close())

const chunksOf = (audio: Int16Array, chunkSamples: number): readonly Int16Array[] =>
  Array.from({ length: Math.ceil(audio.length / chunkSamples) }, (_, at) =>
    audio.slice(at * chunkSamples, (at + 1) * chunkSamples),
  )

const isPart = (item: { readonly type: string }): item is SegmentPart => ['open', 'audio', 'close'].includes(item.type)

describe('the sample call', () => {
  it('is stereo µ-law of 8 kHz, 30 to 60 s long and under 600 kB, as its transcript states', () => {
    expect(wav.format).toEqual({ encoding: 'ulaw', sampleRateHz: 8000, channels: 2 })
    expect(wav.durationMs).toBeCloseTo(call.durationMs, -1)
    expect(call.durationMs).toBeGreaterThan(30_000)
    expect(call.durationMs).toBeLessThan(60_000)
    expect(statSync(join(samples, 'call.wav')).size).toBeLessThan(600_000)
  })

  it('has turns of both speakers, with one overlap', () => {
    expect(turnsOf(0).length).toBeGreaterThanOrEqual(5)
    expect(turnsOf(1).length).toBeGreaterThanOrEqual(5)
    const overlaps = call.turns.filter((turn, at) => turn.startMs < (call.turns[at - 1]?.endMs ?? 0))
    expect(overlaps.map(({ text }) => text)).toEqual(['sure'])
  })

  // The engine takes 10 s for the complete call, so each cut is tested with a sixth of the turns, unless all are to be
  // tested.
  it.each([
    [300, 400, 0],
    [100, 100, 1],
    [0, 0, 2],
  ])(
    'is recognized without an error when cut %i ms before and %i ms after each turn',
    async (preMs, postMs, firstTurn) => {
      const step = everyNth(6)
      const turns = call.turns.filter((_turn, at) => at % step === firstTurn % step)
      expect(turns.length).toBeGreaterThanOrEqual(2)
      for (const turn of turns) {
        const audio = channels[turn.channel === 0 ? 0 : 1]
        const startMs = turn.startMs - preMs
        const endMs = turn.endMs + postMs
        const parts: SegmentPart[] = [
          { type: 'open', startMs },
          { type: 'audio', samples: audio.slice(startMs * 8, endMs * 8) },
          { type: 'close', endMs },
        ]
        const hypotheses = await lastValueFrom(from(parts).pipe(engine.recognize(), toArray()))
        expect(hypotheses.at(-1)).toMatchObject({ type: 'segment', text: turn.text })
      }
    },
  )

  it.each(first(1, [0, 1] as const))(
    'is recognized without an error on channel %i when voice activity cuts it',
    async (channel) => {
      const segmenter = await createSegmenter({ parameters: defaultSegmenterParameters, inputRateHz: 8000 })
      const chunks = chunksOf(channels[channel], 160)
      const outputs = [...chunks.flatMap((chunk) => segmenter.push(chunk)), ...segmenter.finish()]
      segmenter.free()
      const parts = outputs.flatMap((output) => (isPart(output) ? [output] : []))
      const hypotheses = await lastValueFrom(from(parts).pipe(engine.recognize(), toArray()))
      const segments = hypotheses.flatMap((hypothesis) => (hypothesis.type === 'segment' ? [hypothesis] : []))
      expect(segments.map(({ text }) => text)).toEqual(turnsOf(channel).map(({ text }) => text))
      for (const [at, { startMs, endMs }] of turnsOf(channel).entries()) {
        const words = segments[at]?.words ?? []
        // A grammar may begin its first word with the silence before it, up to the pre-speech buffer.
        expect(Math.abs((words[0]?.startMs ?? 0) - startMs)).toBeLessThan(300)
        expect(Math.abs((words.at(-1)?.endMs ?? 0) - endMs)).toBeLessThan(400)
      }
    },
  )
})
