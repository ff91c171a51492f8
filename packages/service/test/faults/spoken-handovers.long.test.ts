import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defer, map } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import { startDevelopmentService, type DevelopmentService } from '../../src/start/development-service.js'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import { credentialsOf } from '../interop/live-service.js'
import type { Over } from '../interop/session-options.js'
import { freePort } from '../../../../test/transport/tcp-proxy.js'
import {
  callService,
  expectSame,
  midWordMs,
  bothTransports,
  proxiedSession,
  SpokenCall,
  undisturbed,
  type CallOutcome,
} from './spoken-call.js'

/** A service that can be restarted: it keeps the state folder, and with it the certificates and the keys. */
const restartableService = async () => {
  const stateFolder = await mkdtemp(join(tmpdir(), 'spoken-'))
  const [http, grpc] = [await freePort(), await freePort()].map((port) => ({ host: '127.0.0.1', port }))
  const start = (): Promise<DevelopmentService> => startDevelopmentService({ ...callService, http, grpc, stateFolder })
  let service = await start()
  const ca = await readFile(service.access.ca)
  return {
    live: () => ({ service, ca, token: '' }),
    token$: defer(() => requestToken({ ...credentialsOf(service.access), fetch: nodeFetch({ ca }) })).pipe(
      map(({ accessToken }) => accessToken),
    ),
    /** The same service again, at the same addresses. */
    restart: async (): Promise<void> => {
      // A busy machine may need longer than the usual 10 s for the last results.
      await service.close({ drainMs: 40_000 })
      service = await start()
    },
    close: async (): Promise<void> => {
      await service.close({ drainMs: 1_000 })
      await rm(stateFolder, { recursive: true })
    },
  }
}

type RestartableService = Awaited<ReturnType<typeof restartableService>>
/** One for each transport: a restart of one does not affect the other. */
let services: Record<Over, RestartableService>
let call: SpokenCall
let reference: CallOutcome
beforeAll(async () => {
  const [grpc, websocket] = await Promise.all([restartableService(), restartableService()])
  services = { grpc, websocket }
  call = await SpokenCall.shortCall()
  reference = await undisturbed(grpc.live(), call, { token: grpc.token$ })
})
afterAll(() => Promise.all([services.grpc.close(), services.websocket.close()]))

const causesOf = ({ events }: Pick<CallOutcome, 'events'>): readonly string[] =>
  events.flatMap((event) => (event.type === 'connection' && event.state === 'reconnecting' ? [event.cause] : []))

describe.concurrent.each(bothTransports)('a call over %s', (over) => {
  it('has the same results as the undisturbed call when the service is drained and another one replaces it', async () => {
    const { live, token$, restart } = services[over]
    const { proxy, session } = await proxiedSession(live(), over, call, { token: token$ })
    let restarted: Promise<void> | undefined
    const begin = (): void => {
      restarted = restart()
    }
    const outcome = await outcomeOf(session(call.played(4, midWordMs, begin)))
    await restarted
    await proxy.close()
    expectSame({ over, ...outcome }, reference, call)
    expect(causesOf(outcome)).toContain('going-away')
  })
})
