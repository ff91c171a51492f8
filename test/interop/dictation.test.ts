import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { dataflow } from '../../src/client/dataflow/dataflow.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import { dictationIsSkipped, dictationTitle } from '../service/engines/debian-packages.js'
import { recording, recordingsAreHere, recordingsTitle } from '../service/engines/recordings.js'
import { wordErrors } from '../service/engines/word-errors.js'
import { recording as wideRecording } from '../service/recognition/sounds.js'
import { liveService, type LiveService } from './live-service.js'
import { patience } from './session-options.js'

const texts = {
  'librivox-0870.wav':
    'and mister john dashwood had then leisure to consider how much there might be prudently in his power to do for them',
  'librivox-0880.wav': 'he was not an ill disposed young man',
} as const
type File = keyof typeof texts

const bytesOf = (samples: Int16Array): Uint8Array =>
  new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)

describe.skipIf(dictationIsSkipped || !recordingsAreHere)(
  `${dictationTitle} of ${recordingsTitle} through the service`,
  () => {
    let live: LiveService
    beforeAll(async () => {
      live = await liveService({
        modelFolders: ['test/service/engines/dictation-models'],
        defaultModel: 'narrowband',
        limits: { flushWithinMs: patience.timeouts.finalizeMs },
      })
    })
    afterAll(() => live.close())

    const run = async (over: string, model: string, file: File, sampleRateHz: number): Promise<SessionEvent[]> => {
      const { access } = live.service
      const { ca, token } = live
      const format = { encoding: 'pcm', sampleRateHz, channels: 1 } as const
      const session =
        over === 'grpc'
          ? dataflow({
              url: access.grpc,
              ca,
              token,
              tenant: access.tenant,
              project: access.project,
              settings: { ModelName: model },
              ...patience,
              format,
            })
          : recognize({ url: access.wsUrl, ca, token, model, ...patience, format })
      const samples = sampleRateHz === 8000 ? await recording(file) : wideRecording(file)
      return lastValueFrom(session([bytesOf(samples)]).pipe(toArray()))
    }

    it.each([
      ['grpc', 'wideband', 16_000, ['librivox-0870.wav', 'librivox-0880.wav']],
      ['websocket', 'wideband', 16_000, ['librivox-0880.wav']],
      ['grpc', 'narrowband', 8000, ['librivox-0880.wav']],
      ['websocket', 'narrowband', 8000, ['librivox-0870.wav', 'librivox-0880.wav']],
    ] as const)(
      'over %s with the model %s at %d Hz has at most two errors in five words',
      async (over, model, rateHz, files) => {
        let errors = 0
        let words = 0
        for (const file of files) {
          const events = await run(over, model, file, rateHz)
          const finals = events.flatMap((event) => (event.type === 'final' ? [event.text] : []))
          expect(finals).toHaveLength(1)
          errors += wordErrors(texts[file], (finals[0] ?? '').trim().replaceAll(/\bmr\b/g, 'mister'))
          words += texts[file].split(' ').length
          expect(events.some(({ type }) => type === 'partial')).toBe(true)
        }
        expect(errors / words).toBeLessThanOrEqual(0.4)
      },
    )
  },
)
