import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defer, map } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFetch } from '../../src/auth/node-fetch.js'
import { requestToken } from '../../src/auth/request-token.js'
import { startDevelopmentService, type DevelopmentService } from '../../src/service/development-service.js'
import type { ServiceOptions } from '../../src/service/service-options.js'
import { sampleModels } from '../interop/live-service.js'
import { outcomeOf } from './proved-session.js'
import { expectSame, overBoth, proxiedSession, SpokenCall, undisturbed, type Heard } from './spoken-call.js'

/** A restart keeps the state folder, and with it the certificates and the keys. */
let stateFolder: string
let service: DevelopmentService
let ca: Buffer
let call: SpokenCall
let calm: Heard

const start = (options: Partial<ServiceOptions> = {}): Promise<DevelopmentService> =>
  startDevelopmentService({ modelFolders: [sampleModels], defaultModel: 'call', stateFolder, ...options })

const token$ = defer(() => requestToken({ ...service.access, fetch: nodeFetch({ ca }) })).pipe(
  map(({ accessToken }) => accessToken),
)
const live = () => ({ service, ca, token: '', close: () => service.close() })

beforeAll(async () => {
  stateFolder = await mkdtemp(join(tmpdir(), 'spoken-'))
  service = await start()
  ca = await readFile(service.access.ca)
  // The restaurant asks which day, and has not been silent for long enough.
  call = await SpokenCall.until(8_640)
  calm = await undisturbed(live(), call, { token: token$ })
}, 60_000)
afterAll(async () => {
  await service.close({ drainMs: 1_000 })
  await rm(stateFolder, { recursive: true })
})

/** The guest is at "table". */
const midWordMs = 5_500

/** The same service once more, where the former one was. */
const restart = async (): Promise<void> => {
  const { wsUrl, grpc } = service.access
  const at = (url: string) => ({ host: '127.0.0.1', port: Number(new URL(url).port) })
  await service.close()
  service = await start({ http: at(wsUrl), grpc: at(`https://${grpc}`) })
}

const causesOf = ({ events }: Pick<Heard, 'events'>): readonly string[] =>
  events.flatMap((event) => (event.type === 'connection' && event.state === 'reconnecting' ? [event.cause] : []))

describe.each(overBoth)('a call over %s', { timeout: 60_000 }, (over) => {
  it('is read as the undisturbed one when the service is drained and another one takes its place', async () => {
    const { proxy, session } = await proxiedSession(live(), over, call, { token: token$ })
    let restarted: Promise<void> | undefined
    const begin = (): void => {
      restarted = restart()
    }
    const heard = await outcomeOf(session(call.played(4, midWordMs, begin)))
    await restarted
    await proxy.close()
    expectSame({ over, ...heard }, calm, call)
    expect(causesOf(heard)).toContain('going-away')
  })
})
