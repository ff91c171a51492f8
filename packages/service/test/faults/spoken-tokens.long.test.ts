import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT, type JWK } from 'jose'
import { defer, firstValueFrom, map } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import { startDevelopmentService, type DevelopmentService } from '../../src/start/development-service.js'
import { outcomeOf } from '../../../../test/faults/proved-session.js'
import { credentialsOf } from '../interop/live-service.js'
import {
  callService,
  expectSame,
  bothTransports,
  proxiedSession,
  SpokenCall,
  statesOf,
  undisturbed,
  type CallOutcome,
} from './spoken-call.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

/** The folder of its certificates and keys. */
const stateFolder = temporaryFolder()
let service: DevelopmentService
let ca: Buffer
let call: SpokenCall
let reference: CallOutcome

const token$ = defer(() => requestToken({ ...credentialsOf(service.access), fetch: nodeFetch({ ca }) })).pipe(
  map(({ accessToken }) => accessToken),
)
const live = () => ({ service, ca, token: '', close: () => service.close() })

beforeAll(async () => {
  service = await startDevelopmentService({ ...callService, stateFolder })
  ca = await readFile(service.access.ca)
  call = await SpokenCall.shortCall()
  reference = await undisturbed(live(), call, { token: token$ })
})
afterAll(async () => {
  await service.close({ drainMs: 1_000 })
})

/** A token of the service with another end: this many seconds from now. */
const shortToken = async (token: string, seconds: number): Promise<string> => {
  const file = JSON.parse(await readFile(join(stateFolder, 'signing-keys.json'), 'utf8')) as { keys: { jwk: JWK }[] }
  const header = decodeProtectedHeader(token)
  const { jwk } = file.keys.find((key) => key.jwk.kid === header.kid) ?? { jwk: {} }
  const claims = { ...decodeJwt(token), exp: Math.floor(Date.now() / 1000) + seconds }
  return new SignJWT(claims).setProtectedHeader({ ...header, alg: 'ES256' }).sign(await importJWK(jwk, 'ES256'))
}

const causesOf = ({ events }: Pick<CallOutcome, 'events'>): readonly string[] =>
  events.flatMap((event) => (event.type === 'connection' && event.state === 'reconnecting' ? [event.cause] : []))

// Each takes longer than its token lasts, both concurrently.
describe.concurrent.each(bothTransports)('a call over %s', (over) => {
  it('has the same results as the undisturbed call when its token expires during the call', async () => {
    let given = 0
    // The first end comes unannounced: a token given as text has no known end.
    const short = async (token: string): Promise<string> => ((given += 1) <= 2 ? await shortToken(token, 4) : token)
    const short$ = defer(() => firstValueFrom(token$).then(short))
    const { proxy, session } = await proxiedSession(live(), over, call, { token: short$ })
    const outcome = await outcomeOf(session(call.played(0.8)))
    await proxy.close()
    expectSame({ over, ...outcome }, reference, call)
    expect(causesOf(outcome)).toContain('unauthenticated')
    expect(statesOf(outcome.events)).toContain('resumed')
  })
})
