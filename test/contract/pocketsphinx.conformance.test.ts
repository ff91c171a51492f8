import { join } from 'node:path'
import { describe } from 'vitest'
import type { ModelDescription } from '../../src/service/engines/engine.js'
import { loadNativeLibrary } from '../../src/service/engines/pocketsphinx/native-library.js'
import { pocketsphinx, createPocketsphinx } from '../../src/service/engines/pocketsphinx/pocketsphinx.js'
import { dictationIsSkipped, dictationTitle } from '../service/engines/debian-packages.js'
import { recording, recordingsAreHere, recordingsTitle, withLineNoise } from '../service/engines/recordings.js'
import { engineConformance } from './engine-conformance.js'

const directions = (change: Readonly<Record<string, unknown>> = {}): ModelDescription => ({
  tenant: 'Default',
  name: 'directions',
  version: '1',
  folder: join(__dirname, '../service/engines/fixtures/Default/drive/1'),
  // Sentences instead of dictation: the same path through the engine, in a tenth of the time
  options: { engine: 'pocketsphinx', phrases: 'phrases.txt', dictionary: 'extra.dict', ...change },
})

describe.skipIf(dictationIsSkipped || !recordingsAreHere)(`${dictationTitle} of ${recordingsTitle}`, () => {
  engineConformance(
    'pocketsphinx',
    async () => {
      let breaks = false
      // The library runs in this process; a failing call of it is the failure that can be provoked
      const load = async () => {
        const library = await loadNativeLibrary()
        const process: typeof library.process = async (decoder, samples) =>
          !breaks && (await library.process(decoder, samples))
        const addBreak: typeof library.begin = (decoder, mean) => {
          breaks = false
          return library.begin(decoder, mean)
        }
        return { ...library, process, begin: addBreak }
      }
      return {
        engine: await createPocketsphinx(load, { decoders: 2 }).open(directions()),
        crash: () => {
          breaks = true
        },
      }
    },
    {
      speech: async () => withLineNoise(await recording('go-forward-ten-meters.16k.raw')),
      text: /^go forward ten meters$/,
      openWrongRate: () => pocketsphinx().open(directions({ sampleRateHz: 16_000 })),
      timeoutMs: 120_000,
    },
  )
})
