// `ai` 6 with `rxspeech/ai-sdk`.
import { readFile } from 'node:fs/promises'
import { APICallError, experimental_transcribe as transcribe } from 'ai-6'
import { createRxspeech } from 'rxspeech/ai-sdk'
import { record } from './steps.mjs'

const { KEY, RECORDING, RXSPEECH_URL } = process.env
const audio = await readFile(RECORDING)
const model = (token) => createRxspeech({ url: RXSPEECH_URL, token, specificationVersion: 'v3' }).transcription('call')

await record('rxspeech', async () => (await transcribe({ model: model(KEY), audio })).text)
await record('rxspeech, a wrong key', async () => {
  const error = await transcribe({ model: model('wrong'), audio }).catch((caught) => caught)
  return { isTyped: APICallError.isInstance(error), isRetryable: error.isRetryable }
})
