import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import * as openTelemetry from '@opentelemetry/api'
import { lastValueFrom } from 'rxjs'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { callModels, firstLine, start } from '../cli/command.js'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { startCollector, type Collector } from './collector.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const

let collector: Collector
const folder = temporaryFolder()
beforeAll(async () => {
  collector = await startCollector()
})
afterAll(async () => {
  await collector.close()
})

it('continues the trace of a client in the worker process that has its session', async () => {
  const addresses = ['--http', '127.0.0.1:0', '--grpc', '127.0.0.1:0']
  const models = ['--models', callModels, '--model', 'call']
  // Batches would leave a minute later; the end of the process sends them.
  const env = { ...collector.env, OTEL_BSP_SCHEDULE_DELAY: '60000' }
  const child = start(['serve', '--dev', '--state', folder, '--workers', '2', ...addresses, ...models], { env })
  const ended = once(child, 'exit')
  const access = JSON.parse(await firstLine(child)) as Readonly<Record<string, string>>
  const { authUrl = '', wsUrl = '', grpc = '', clientId = '', clientSecret = '' } = access
  const ca = await readFile(access['ca'] ?? '')
  const token$ = requestToken({ authUrl, clientId, clientSecret, fetch: nodeFetch({ ca }) })
  const audio = [await spoken(2_000)]
  const shared = { token: token$, connection: { ca }, format, openTelemetry }
  await lastValueFrom(recognize({ ...shared, url: wsUrl, model: 'call' })(audio))
  await lastValueFrom(dataflow({ ...shared, url: grpc, tenant: 'Default', project: 'transcribe' })(audio))
  child.kill('SIGTERM')
  expect((await ended)[0]).toBe(0)
  const sessions = collector.named('rxspeech.session')
  const served = collector.named('rxspeech.serve')
  expect(sessions).toHaveLength(2)
  expect(served.map(({ parentId }) => parentId).toSorted()).toEqual(sessions.map(({ spanId }) => spanId).toSorted())
  const ids = new Set(served.map(({ spanId }) => spanId))
  const segments = collector.named('rxspeech.segment')
  expect(segments.length).toBeGreaterThanOrEqual(2)
  expect(segments.filter(({ parentId }) => !ids.has(parentId))).toEqual([])
})
