import type { SharedIdentity } from '../../../server/src/identity/shared-identity.js'
import { join } from 'node:path'
import { BehaviorSubject, NEVER } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hashSecret, verifySecret } from '../../../server/src/identity/clients/client-secret.js'
import { registerClient, rotateSecret } from '../../../server/src/identity/clients/manage-clients.js'
import { openIdentityStore, type IdentityStore } from '../../../server/src/identity/identity-store.js'
import { folderPlace, migrate, planMigration, sharedPlace, type IdentityPlace } from '../../src/identity/migrate.js'
import { openSharedIdentity } from '../../src/identity/shared-identity.js'
import { VirtualClock } from '../../../service/test/virtual-clock.js'
import { FakeBucket } from './fake-bucket.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

const nowMs = 1_800_000_000_000
const grants = { tenants: ['Beta', 'Acme'], projects: ['*'], models: ['*'] }
const validity = { validFromMs: 0, validUntilMs: Infinity }

let parent: string
let store: IdentityStore
let folder: IdentityPlace
let shared: SharedIdentity
let bucket: FakeBucket
beforeEach(async () => {
  parent = folderOfTest()
  store = await openIdentityStore({ stateFolder: parent, now: () => nowMs })
  folder = await folderPlace(parent, nowMs)
  const clock = new VirtualClock()
  clock.advanceTo(nowMs)
  bucket = new FakeBucket()
  shared = await openSharedIdentity({
    ...{ bucket, scheduler: clock, isUp$: new BehaviorSubject(true) },
    withdrawals: { publish: () => undefined, received$: NEVER },
    onFault: (error) => {
      throw error
    },
  })
})
afterEach(async () => {
  shared.close()
  folder.close()
  store.close()
})

const register = async (clientId: string): Promise<string> =>
  (await registerClient(store, { clientId, ...grants, ...validity }, nowMs)).clientSecret

const copy = async (from: IdentityPlace, to: IdentityPlace) => {
  const plan = planMigration(from, to, nowMs)
  await migrate(plan, to)
  return plan
}

describe('a migration', () => {
  it('copies everything to NATS and back to another folder, where all secrets are valid', async () => {
    const first = await register('acme')
    const { clientSecret: second } = await rotateSecret(store, 'acme', { overlapMs: 1_000, nowMs })
    await register('gone')
    store.cancel('gone')
    await registerClient(store, { ...grants, ...validity, mayIntrospect: true, tokenLifetimeSeconds: 60 }, nowMs)
    store.revoke('t1')
    await copy(folder, sharedPlace(shared))
    expect(shared.find('acme')).toMatchObject({ previousSecret: { untilMs: nowMs + 1_000 } })

    const other = await folderPlace(join(parent, 'other'), nowMs)
    await copy(sharedPlace(shared), other)
    expect(other.clients()).toEqual(store.list())
    expect(other.revoked()).toEqual(folder.revoked())
    const { secretHash = '', previousSecret } = other.clients().find(({ clientId }) => clientId === 'acme') ?? {}
    expect([await verifySecret(second, secretHash), await verifySecret(first, previousSecret?.hash ?? '')]).toEqual([
      true,
      true,
    ])
    expect(planMigration(sharedPlace(shared), other, nowMs)).toMatchObject({
      add: [],
      cancel: [],
      different: [],
      revoke: [],
    })
    other.close()
  })

  it('changes nothing when it is repeated', async () => {
    await register('acme')
    store.revoke('t1')
    await copy(folder, sharedPlace(shared))
    const { revision } = bucket
    expect(await copy(folder, sharedPlace(shared))).toEqual({
      ...{ add: [], cancel: [], different: [], revoke: [] },
      ...{ unchanged: ['acme'], revoked: 1 },
    })
    expect(bucket.revision).toBe(revision)
  })

  it('cancels what is cancelled in either place, and revives nothing', async () => {
    await register('here')
    await register('there')
    await copy(folder, sharedPlace(shared))
    store.cancel('here')
    await shared.cancel('there')
    expect(await copy(folder, sharedPlace(shared))).toMatchObject({ cancel: ['here'], unchanged: ['there'] })
    expect([shared.find('here')?.cancelled, shared.find('there')?.cancelled]).toEqual([true, true])
    await copy(sharedPlace(shared), folder)
    expect(store.list().map(({ cancelled }) => cancelled)).toEqual([true, true])
  })

  it('keeps a newer secret of the place that it goes to, and says that it differs', async () => {
    await register('acme')
    await copy(folder, sharedPlace(shared))
    const hash = await hashSecret('a newer secret of the client')
    await shared.replaceSecret('acme', hash)
    expect(await copy(folder, sharedPlace(shared))).toMatchObject({ different: ['acme'], unchanged: [] })
    expect(shared.find('acme')?.secretHash).toBe(hash)
  })

  it('leaves out revocations of tokens that have expired', async () => {
    await folder.revoke([
      { tokenId: 'old', untilMs: nowMs },
      { tokenId: 'new', untilMs: nowMs + 1 },
    ])
    await copy(folder, sharedPlace(shared))
    expect([...shared.revoked().keys()]).toEqual(['new'])
  })

  it('copies thousands of revocations', async () => {
    const tokens = Array.from({ length: 2_345 }, (_, index) => ({ tokenId: `t${index}`, untilMs: nowMs + 1 + index }))
    await folder.revoke(tokens)
    await copy(folder, sharedPlace(shared))
    expect(
      new Map(
        sharedPlace(shared)
          .revoked()
          .map(({ tokenId, untilMs }) => [tokenId, untilMs]),
      ),
    ).toEqual(new Map(tokens.map(({ tokenId, untilMs }) => [tokenId, untilMs])))
  })
})
