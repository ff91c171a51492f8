import { tap } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { interleaveChannels } from '../../../../src/audio/channels.js'
import { encodeSamples } from '../../../../src/audio/codec.js'
import { bytesPerSample, encodings, type AudioFormat } from '../../../../src/audio/format.js'
import { alignWords, comparedWords, countErrors } from 'rxspeech-engines/word-errors'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { pace } from '../../../../src/operators/audio/pace.js'
import { faultProxy } from '../../../../src/testing/faults/fault-proxy.js'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import { bothTransports } from '../faults/spoken-call.js'
import { liveService, type LiveService } from './live-service.js'
import { channelAt, englishModels, hasPeople, ofPeople, people, resampled } from './people.js'
import { callFile } from './sample-call.js'
import { sessionOptions, type Over } from './session-options.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

// Any English speech has the same words by each route to the service. Partials are off: which of their words are
// committed depends on the clock.

/** That of the model. */
const rateHz = 16_000

let live: LiveService
const models = temporaryFolder()
beforeAll(async () => {
  live = await liveService({ modelFolders: [await englishModels(models)], defaultModel: 'English' })
})
afterAll(async () => {
  await live.close()
})

const encoded = async (channel: Int16Array, { encoding, sampleRateHz }: AudioFormat): Promise<Uint8Array> =>
  encodeSamples(await resampled(channel, rateHz, sampleRateHz), encoding)

const pcm: AudioFormat = { encoding: 'pcm', sampleRateHz: rateHz, channels: 1 }

interface Played {
  readonly over: Over
  readonly format?: AudioFormat
  /** The connection is reset when so much audio was sent, in milliseconds. */
  readonly cutsMs?: readonly number[]
}

/** The milestones of each channel of a session. */
const read = async (
  [left, right]: readonly [Int16Array, Int16Array?],
  { over, format = pcm, cutsMs = [] }: Played,
): Promise<readonly string[]> => {
  const one = await encoded(left, format)
  const bytes =
    right === undefined ? one : interleaveChannels(one, await encoded(right, format), bytesPerSample(format))
  const { grpc, websocket } = sessionOptions(live, format, 'English')
  const { hostname, port } = new URL(over === 'grpc' ? `https://${grpc.url}` : websocket.url)
  const proxy = await faultProxy({ target: Number(port) })
  const address = `${hostname}:${proxy.port}`
  const resumption = { firstDelayMs: 20, maxDelayMs: 200 }
  const session =
    over === 'grpc'
      ? dataflow({ ...grpc, resumption, url: address })
      : recognize({ ...websocket, resumption, url: `wss://${address}` })
  let sentMs = 0
  const cut = (): void => {
    sentMs += 20
    if (cutsMs.includes(sentMs)) proxy.reset()
  }
  const { events, end } = await outcomeOf(session(pace({ format, speed: 10 })([bytes]).pipe(tap(cut))))
  await proxy.close()
  expect(end).toBe('complete')
  const lost = events.filter((event) => event.type === 'connection' && event.state === 'reconnecting')
  expect(lost.length >= cutsMs.length).toBe(true)
  return Array.from({ length: format.channels }, (_none, channel) =>
    events.flatMap((event) => (event.type === 'milestone' && event.channel === channel ? event.text : [])).join(''),
  )
}

const wordsApart = (text: string, other: string): number => {
  const { substituted, inserted, deleted } = countErrors(alignWords(comparedWords(text), comparedWords(other)))
  return substituted + inserted + deleted
}

/** At most so many words of a hundred are others at another rate or with a codec: the model reads other samples. */
const maxApart = 0.08

const speech = [
  { name: 'the sample call', load: () => channelAt(callFile, 0, rateHz), isThere: true },
  { name: ofPeople, load: () => channelAt(people, 0, rateHz), isThere: hasPeople },
]

for (const { name, load, isThere } of speech) {
  describe.skipIf(!isThere)(`the words of ${name}`, () => {
    let samples: Int16Array
    let words: string
    let lengthMs: number
    beforeAll(async () => {
      samples = await load()
      lengthMs = samples.length / 16
      words = (await read([samples], { over: 'grpc' })).join('')
      expect(comparedWords(words).length).toBeGreaterThan(lengthMs / 1_000)
    })

    it('are the same over the WebSocket, beside silence, and beside another speaker', async () => {
      expect(await read([samples], { over: 'websocket' })).toEqual([words])
      const stereo: AudioFormat = { ...pcm, channels: 2 }
      expect(await read([samples, new Int16Array(samples.length)], { over: 'grpc', format: stereo })).toEqual([
        words,
        '',
      ])
      const guest = new Int16Array(samples.length)
      guest.set((await channelAt(callFile, 1, rateHz)).subarray(0, samples.length))
      const ofGuest = await read([guest], { over: 'grpc' })
      expect(await read([samples, guest], { over: 'websocket', format: stereo })).toEqual([words, ...ofGuest])
    })

    it.each(bothTransports.flatMap((over) => [0.11, 0.33, 0.52, 0.71, 0.93].map((part) => [over, part] as const)))(
      'are the same over %s when the connection is cut at %d of the audio',
      async (over, part) => {
        const cutMs = 20 * Math.round((lengthMs * part) / 20)
        expect(await read([samples], { over, cutsMs: [cutMs] })).toEqual([words])
      },
    )

    it.each(bothTransports)('are the same over %s when the connection is cut three times', async (over) => {
      const cutsMs = [0.21, 0.47, 0.83].map((part) => 20 * Math.round((lengthMs * part) / 20))
      expect(await read([samples], { over, cutsMs })).toEqual([words])
    })

    it('are nearly the same at each rate and with each codec', async () => {
      const rates = [8_000, 11_025, 22_050, 44_100, 48_000]
      const others = [
        ...rates.map((sampleRateHz) => ({ ...pcm, sampleRateHz })),
        ...encodings
          .filter((encoding) => encoding !== 'pcm')
          .flatMap((encoding) => [8_000, 16_000].map((sampleRateHz) => ({ ...pcm, encoding, sampleRateHz }))),
      ]
      const apart: Record<string, number> = {}
      for (const [index, format] of others.entries()) {
        const [text = ''] = await read([samples], { over: index % 2 === 0 ? 'grpc' : 'websocket', format })
        apart[`${format.encoding} ${format.sampleRateHz}`] = wordsApart(words, text) / comparedWords(words).length
      }
      for (const share of Object.values(apart)) expect(share, JSON.stringify(apart)).toBeLessThanOrEqual(maxApart)
    })
  })
}
