import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { NEVER, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { isSpeechError, SpeechError } from '../../../../src/errors/speech-error.js'
import { SessionSet } from '../../../server/src/listen/serve-link.js'
import { recognizerUpgrades } from '../../../server/src/listen/recognizer-listener.js'
import type { ServiceMonitor } from '../../../server/src/monitor/service-monitor.js'
import type { Drain, SessionContext } from '../../../server/src/sessions/session-context.js'
import { createAdmission } from '../../src/start/identity-service.js'
import { resolveServiceLimits } from '../../src/configuration/service-options.js'
import { everyRight, oneModel } from '../../../server/test/sessions/test-connection.js'
import { VirtualClock } from '../virtual-clock.js'

// docs/ARCHITECTURE.md, "Why a session is refused, in this order"

const identity: Parameters<typeof createAdmission>[0] = {
  verify: (token) =>
    token === 'forged'
      ? Promise.reject(new SpeechError('unauthenticated', 'The token is not valid.'))
      : Promise.resolve({
          clientId: 'acme',
          tokenId: token,
          ...everyRight,
          tenants: ['Acme'],
          expiresAtMs: Number.MAX_SAFE_INTEGER,
          origin: 'https://acme.example',
        }),
  endOf: () => undefined,
  version: () => 0,
  changed$: NEVER,
  machines: undefined,
}

describe('an admission', () => {
  const own = 'https://acme.example'
  const refused: unknown[] = []
  const monitor: Pick<ServiceMonitor, 'startRefused'> = {
    startRefused: (of, { code }) => refused.push([of, code]),
  }
  const admission = (limits: object, authority = identity): SessionContext['admit'] => {
    const options = { scheduler: new VirtualClock(), tenants: ['Default', 'Configured'] }
    return createAdmission(authority, resolveServiceLimits({ limits }), options, monitor)
  }
  const refusalOf = (admitted: Promise<unknown>): Promise<unknown> =>
    admitted.then(
      () => 'admitted',
      (error: unknown) => (isSpeechError(error) ? error.message : error),
    )

  it('is refused for the first of several reasons', async () => {
    const full = admission({ sessions: 1 })
    await full('a', 'Acme', own)
    expect(await refusalOf(full('forged', 'Other', 'https://other.example'))).toMatch(/^The service has 1 sessions/)

    const admit = admission({ sessionsPerToken: 1, sessionsPerTenant: 1, requestBurst: 2 })
    expect(await refusalOf(admit('forged', 'Other', 'https://other.example'))).toMatch(/token is not valid/)
    expect(await refusalOf(admit('a', 'Other', 'https://other.example'))).toMatch(/pages of another origin/)
    expect(await refusalOf(admit('a', 'Other', own))).toMatch(/^The Tenant is not known/)
    await admit('a', 'Acme', own)
    expect(await refusalOf(admit('a', 'Acme', own))).toMatch(/^The token has 1 sessions/)
    expect(await refusalOf(admit('a', 'Acme', own))).toMatch(/requests/)
    expect(await refusalOf(admit('b', 'Acme', own))).toMatch(/^The tenant has 1 sessions/)
  })

  it('counts refusals of valid tokens by tenant, and no name that only a client knows', async () => {
    refused.length = 0
    const verify = (token: string) =>
      identity.verify(token).then((rights) => ({ ...rights, tenants: token === 'all' ? ['*'] : ['Acme'] }))
    const admit = admission({ sessions: 3, sessionsPerToken: 1, requestBurst: 2 }, { ...identity, verify })
    await admit('a', 'Acme', own)
    const asked: readonly (readonly [token: string, tenant?: string])[] = [
      ['forged'],
      ['a', 'Other'],
      ['a'],
      ['a', 'Acme'],
    ]
    for (const [token, tenant] of asked) await refusalOf(admit(token, tenant, own))
    await admit('all', 'Configured', own)
    await refusalOf(admit('all', 'Configured', own))
    // The service is full.
    await admit('b', 'Acme', own)
    await refusalOf(admit('all', 'made-up', own))
    await expect.poll(() => refused).toHaveLength(4)
    expect(refused).toEqual([
      [{ tenant: 'Acme' }, 'overloaded'],
      [{ tenant: 'Acme' }, 'too-many-requests'],
      [{ tenant: 'Configured' }, 'overloaded'],
      [{ tenant: 'Default' }, 'overloaded'],
    ])
  })

  it('is for a tenant that a full service has refused, before one that has its share', async () => {
    const verify = (token: string) => identity.verify(token).then((rights) => ({ ...rights, tenants: ['*'] }))
    const options = { scheduler: new VirtualClock() }
    const limits = { sessions: 2, reservePercent: 50 }
    const admit = createAdmission({ ...identity, verify }, resolveServiceLimits({ limits }), options)
    const [first] = [await admit('a', 'Large', own), await admit('b', 'Large', own)]
    expect(await refusalOf(admit('c', 'Small', own))).toMatch(/^The service has 2 sessions/)
    first.release()
    expect(await refusalOf(admit('a', 'Large', own))).toMatch(/^The tenant has its share of the sessions/)
    expect(await refusalOf(admit('c', 'Small', own))).toBe('admitted')
  })
})

describe('an upgrade to the recognition socket', () => {
  interface Faults {
    readonly path?: string
    readonly isDraining?: boolean
    readonly isFull?: boolean
    readonly token?: string
  }

  const refusalOf = ({ path = '/', isDraining = false, isFull = false, token }: Faults): Promise<string> => {
    const drain$ = isDraining ? of<Drain>({ pauseWithinMs: 0 }) : NEVER
    const upgrade = recognizerUpgrades({
      context: {
        admit: () => Promise.reject(new SpeechError('tenant-denied', 'none')),
        models: oneModel(() => Promise.reject(new Error('unused'))),
        limits: resolveServiceLimits({}),
        drain$,
        scheduler: new VirtualClock(),
      },
      sessions: new SessionSet(),
      maxMessageBytes: 1_000,
      allowQueryToken: false,
      connections: {
        addressOf: () => undefined,
        refuseSession: () => Promise.resolve(isFull ? new SpeechError('overloaded', 'full') : undefined),
        succeeded: () => undefined,
      },
    })
    const request = new IncomingMessage(new Socket())
    request.url = path
    if (token !== undefined) request.headers.authorization = `Bearer ${token}`
    return new Promise((resolve) => {
      const write = (bytes: Buffer): void => resolve(/\r\n\r\n([\w-]+):/.exec(bytes.toString())?.[1] ?? '')
      const socket = new Duplex({
        read: () => undefined,
        write: (bytes: Buffer, _encoding, done) => {
          write(bytes)
          done()
        },
      })
      upgrade(request, socket, Buffer.alloc(0))
    })
  }

  it.each<[Faults, string]>([
    [{ path: '/elsewhere?ModelName=a&ModelName=b', isDraining: true, isFull: true }, 'refused'],
    [{ path: '/?ModelName=a&ModelName=b', isDraining: true, isFull: true }, 'going-away'],
    [{ path: '/?ModelName=a&ModelName=b', isFull: true }, 'overloaded'],
    [{ path: '/?ModelName=a&ModelName=b' }, 'model-mismatch'],
    [{}, 'unauthenticated'],
    [{ token: 'good' }, 'tenant-denied'],
  ])('with %j is refused as %s', async (faults, code) => {
    expect(await refusalOf(faults)).toBe(code)
  })
})
