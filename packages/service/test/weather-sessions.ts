import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lastValueFrom, of, toArray, type Observable } from 'rxjs'
import { bytesOf } from '../../../src/audio/pcm.js'
import { dataflow } from '../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../src/client/recognizer/recognize.js'
import type { SessionEvent } from '../../../src/protocol/session-event.js'
import type { LiveService } from './interop/live-service.js'
import { callTurns } from '../../engines/test/call-turns.js'

/** The sentences of the model `weather`. */
export const weather = [
  'tomorrow it rains in the mountains',
  'a cold wind blows from the north',
  'expect fog along the coast',
]

/** A sentence of the sample call, which the model does not have. */
export const order = 'friday at half past seven please'

/** Writes a model of the tenant `Default`. */
export const writeModel = async (
  folder: string,
  name: string,
  files: Readonly<Record<string, string>>,
): Promise<void> => {
  const path = join(folder, 'Default', name, '1')
  await mkdir(path, { recursive: true })
  for (const [file, content] of Object.entries(files)) await writeFile(join(path, file), content)
}

export const writeWeatherModel = (folder: string): Promise<void> =>
  writeModel(folder, 'weather', {
    'model.json': JSON.stringify({ engine: 'soundswallower', phrases: 'phrases.txt', batch: true }),
    'phrases.txt': weather.join('\n'),
  })

const format = { sampleRateHz: 8000, channels: 1, encoding: 'pcm' } as const

const orderAudio = async (): Promise<Uint8Array> => {
  const [, , , turn] = await callTurns()
  if (turn?.text !== order) throw new Error('The fourth turn of the sample call is another one.')
  return bytesOf(turn.samples)
}

type Open = (service: LiveService, options: object) => (audio$: Observable<Uint8Array>) => Observable<SessionEvent>

/** A session with the model `weather` in which `order` is said. Resolves with all events; rejects with the error. */
export type Say = (service: LiveService, options?: object) => Promise<readonly SessionEvent[]>

const saying =
  (open: Open): Say =>
  async (service, options = {}) =>
    lastValueFrom(of(await orderAudio()).pipe(open(service, options), toArray()))

export const sayOver = {
  WebSocket: saying(({ service, ca, token }, options) =>
    recognize({ url: service.access.wsUrl, connection: { ca }, token, model: 'weather', format, ...options }),
  ),
  gRPC: saying(({ service, ca, token }, options) =>
    dataflow({
      ...{ url: service.access.grpc, connection: { ca }, token, model: 'weather', format },
      ...{ tenant: 'Default', project: 'transcribe' },
      ...options,
    }),
  ),
}
