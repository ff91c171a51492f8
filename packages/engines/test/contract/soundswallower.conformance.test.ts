import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe } from 'vitest'
import type { ModelDescription } from '../../src/engine.js'
import { soundswallower } from '../../src/soundswallower/soundswallower.js'
import { recording, recordingsAreHere, recordingsTitle, withLineNoise } from '../recordings.js'
import { engineConformance } from './engine-conformance.js'

const cards = (change: Readonly<Record<string, unknown>> = {}): ModelDescription => ({
  tenant: 'Default',
  name: 'cards',
  version: '1',
  folder: join(__dirname, '../fixtures/Default/cards/1'),
  options: { engine: 'soundswallower', sampleRateHz: 8000, grammar: 'cards.gram', ...change },
})

/** The running threads: the engine fails when one is terminated. */
const threads = new Set<Worker>()
const note = (thread: Worker): void => {
  threads.add(thread)
  thread.once('exit', () => threads.delete(thread))
}
beforeAll(() => void process.on('worker', note))
afterAll(() => void process.off('worker', note))

const kind = soundswallower({ workers: 1, decodersPerWorker: 2 })

describe.skipIf(!recordingsAreHere)(recordingsTitle, () => {
  engineConformance(
    'soundswallower',
    async () => {
      const before = new Set(threads)
      const engine = await kind.open(cards())
      const own = new Set([...threads].filter((thread) => !before.has(thread)))
      return {
        engine,
        crash: async () => {
          await Promise.all([...own].map((thread) => thread.terminate()))
        },
      }
    },
    {
      speech: async () => withLineNoise(await recording('seven-of-clubs.wav')),
      text: /^seven of clubs$/,
      openWrongRate: () => kind.open(cards({ sampleRateHz: 11_025 })),
    },
  )
})
