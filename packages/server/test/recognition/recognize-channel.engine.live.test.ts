import { join as joinPath } from 'node:path'
import { from, lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Engine } from '../../../engines/src/engine.js'
import { createModelRegistry } from '../../../engines/src/models/model-registry.js'
import { soundswallower } from '../../../engines/src/soundswallower/soundswallower.js'
import type { ChannelEvent } from '../../src/recognition/channel-event.js'
import { recognizeChannel } from './recognize-channel.js'
import { defaultSegmenterParameters } from '../../src/recognition/segmenter-parameters.js'
import { amplitude, joined, noiseSource, recording, recordingsMissing, sound } from './sounds.js'

const kind = soundswallower({ workers: 1, decodersPerWorker: 1 })
const models = createModelRegistry({ folders: [joinPath(__dirname, '../../../engines/test/fixtures')], kinds: [kind] })
afterAll(() => models.close())

let engine: Engine
beforeAll(async () => {
  const model = models.find({ tenant: 'Default', name: 'cards' })
  if (model === undefined) throw new Error('There is no fixture cards')
  engine = await models.engine(model)
})

const sampleRateHz = 16_000
const noise = noiseSource(3)
const room = sound(sampleRateHz, 1, () => amplitude(-60) * noise())

const recognized = (samples: Int16Array, chunk: number): Promise<ChannelEvent[]> => {
  const chunks = Array.from({ length: Math.ceil(samples.length / chunk) }, (_, index) =>
    samples.subarray(index * chunk, (index + 1) * chunk),
  )
  const channel = recognizeChannel({ engine, parameters: defaultSegmenterParameters, sampleRateHz })
  return lastValueFrom(from(chunks).pipe(channel, toArray()))
}

describe.skipIf(recordingsMissing !== undefined)(
  `a channel with an engine on recordings ${recordingsMissing ?? ''}`,
  () => {
    const samples =
      recordingsMissing === undefined
        ? () => joined(room, recording('ten-of-clubs.wav'), room, recording('seven-of-clubs.wav'), room)
        : () => room

    it('recognizes two sentences of 16 kHz with an engine of 8 kHz, and accounts for every sample', async () => {
      const events = await recognized(samples(), 320)
      const milestones = events.flatMap((event) => (event.type === 'milestone' ? [event.text] : []))
      expect(milestones).toEqual(['ten of clubs', ' seven of clubs'])
      expect(events.at(-1)).toMatchObject({ type: 'final', text: milestones.join(''), cause: 'finalized' })
      const done = events.reduce((sum, event) => sum + (event.type === 'progress' ? event.sampleCount : 0), 0)
      expect(done).toBe(samples().length)
    })

    it('outputs the same milestones and final in chunks of 37 ms and in one message', async () => {
      const decided = (events: readonly ChannelEvent[]) =>
        events.filter(({ type }) => type === 'milestone' || type === 'final')
      const whole = decided(await recognized(samples(), samples().length))
      expect(decided(await recognized(samples(), 592))).toEqual(whole)
    })
  },
)
