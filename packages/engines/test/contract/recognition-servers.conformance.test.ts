import type { Engine, ModelDescription } from '../../src/engine.js'
import { openai } from '../../src/openai/openai.js'
import { vosk } from '../../src/vosk/vosk.js'
import { wyoming } from '../../src/wyoming/wyoming.js'
import { json, transcriptionServer } from '../openai/transcription-server.js'
import { voskServer } from '../vosk/vosk-server.js'
import { info, tell, wyomingServer } from '../wyoming/wyoming-server.js'
import { tcpProxy } from '../../../../test/transport/tcp-proxy.js'
import { engineConformance, type EngineFixtures, type EngineUnderTest } from './engine-conformance.js'

const sampleRateHz = 16_000
/** A tone that is louder than that with which a model is opened, between silences. */
const speech = Int16Array.from({ length: 1.7 * sampleRateHz }, (_, at) =>
  at > 0.3 * sampleRateHz && at < 1.3 * sampleRateHz ? Math.round(8_000 * Math.sin(at / 5)) : 0,
)

const modelOf = (options: ModelDescription['options']): ModelDescription => ({
  ...{ tenant: 'Default', name: 'other', version: '1', folder: '/' },
  options: { sampleRateHz, segmentsAtOnce: 2, ...options },
})

const fixturesOf = (openWrongRate: () => Promise<unknown>): EngineFixtures => ({
  speech: () => Promise.resolve(speech),
  text: /^hello$/,
  openWrongRate,
})

/** The engine behind a proxy, whose connections can break. */
const behindProxy = async (
  server: { readonly url: string; readonly close: () => Promise<void> },
  open: (url: string) => Promise<Engine>,
): Promise<EngineUnderTest & { readonly cut: () => void }> => {
  const { port, protocol } = new URL(server.url)
  const proxy = await tcpProxy(Number(port))
  return {
    engine: await open(`${protocol}//127.0.0.1:${proxy.port}`),
    cut: () => proxy.cut(),
    release: async () => {
      await proxy.close()
      await server.close()
    },
  }
}

const isLoud = (bytes: Buffer, from = 0): boolean => {
  for (let at = from; at + 1 < bytes.length; at += 2) if (bytes.readInt16LE(at) > 4_000) return true
  return false
}

engineConformance(
  'openai',
  async () => {
    const server = await transcriptionServer()
    server.answer((response, request) => json({ text: isLoud(request.wav, 44) ? ' hello' : '' })(response, request))
    return behindProxy(server, (url) => openai().open(modelOf({ engine: 'openai', url, partials: 'off' })))
  },
  fixturesOf(() => openai().open(modelOf({ engine: 'openai', url: 'http://127.0.0.1:1', sampleRateHz: 11_025 }))),
)

engineConformance(
  'wyoming',
  async () => {
    const server = await wyomingServer()
    server.converse = ({ type }, socket) => {
      if (type === 'describe') tell(socket, 'info', info)
      const audioBytes = server.utterances.find((utterance) => utterance.socket === socket)?.audioBytes ?? 0
      // The messages have no samples here: speech is longer than the tone, and so is the silence of no case.
      if (type === 'audio-stop') tell(socket, 'transcript', { text: audioBytes === 2 * speech.length ? 'hello' : '' })
    }
    return behindProxy(server, (url) => wyoming().open(modelOf({ engine: 'wyoming', url, partials: 'off' })))
  },
  fixturesOf(() => wyoming().open(modelOf({ engine: 'wyoming', url: 'tcp://127.0.0.1:1', sampleRateHz: 11_025 }))),
)

engineConformance(
  'vosk',
  async () => {
    const loud = new WeakSet<object>()
    const server = await voskServer((received, socket, data) => {
      if (data !== undefined && isLoud(data)) loud.add(socket)
      const text = loud.has(socket) ? 'hello' : ''
      if (received.at(-1) !== '{"eof" : 1}') return { partial: text }
      return text === '' ? { text } : { text, result: [{ word: text, start: 0.3, end: 1.3, conf: 0.9 }] }
    })
    const { engine, release, cut } = await behindProxy(server, (url) => vosk().open(modelOf({ engine: 'vosk', url })))
    // The others have no connection while a segment is open.
    return { engine, crash: cut, ...(release && { release }) }
  },
  fixturesOf(() => vosk().open(modelOf({ engine: 'vosk', url: 'ws://127.0.0.1:1', sampleRateHz: 11_025 }))),
)
