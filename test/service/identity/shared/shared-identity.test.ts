import { BehaviorSubject } from 'rxjs'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isSpeechError } from '../../../../src/errors/speech-error.js'
import { hashSecret } from '../../../../src/service/identity/clients/client-secret.js'
import type { StoredClient } from '../../../../src/service/identity/clients/client.js'
import { encodeClient, encodeRevocation, keyOf } from '../../../../src/service/identity/shared/entries.js'
import { openSharedIdentity, type SharedIdentity } from '../../../../src/service/identity/shared/shared-identity.js'
import { flushPromises, VirtualClock } from '../../virtual-clock.js'
import { FakeBucket } from './fake-bucket.js'

let secretHash: string
beforeAll(async () => {
  secretHash = await hashSecret('correct horse battery staple')
})

const client = (clientId: string, change: Partial<StoredClient> = {}): StoredClient => ({
  clientId,
  secretHash,
  tenants: ['Acme'],
  projects: ['*'],
  models: ['*'],
  validFromMs: 0,
  validUntilMs: Infinity,
  cancelled: false,
  mayIntrospect: false,
  createdAtMs: 0,
  ...change,
})
const clientKey = (clientId: string): string => keyOf({ kind: 'client', clientId })
const revokedKey = (tokenId: string): string => keyOf({ kind: 'revocation', tokenId })

let clock: VirtualClock
let bucket: FakeBucket
let isUp$: BehaviorSubject<boolean>
let faults: unknown[]
let opened: SharedIdentity[]
beforeEach(() => {
  clock = new VirtualClock()
  bucket = new FakeBucket()
  isUp$ = new BehaviorSubject(true)
  faults = []
  opened = []
})
afterEach(() => {
  for (const identity of opened) identity.close()
  expect(clock.waiting).toBe(0)
})

const open = async (): Promise<SharedIdentity> => {
  const identity = await openSharedIdentity({ bucket, isUp$, scheduler: clock, onFault: (error) => faults.push(error) })
  opened.push(identity)
  return identity
}
/** Each second is a turn for promises too. */
const pass = async (seconds: number): Promise<void> => {
  for (let second = 0; second < seconds; second += 1) {
    clock.advanceTo(clock.now() + 1_000)
    await flushPromises()
  }
}
const codeOfError = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (isSpeechError(error) ? `${error.code}: ${error.message}` : String(error)),
  )

describe('a shared identity', () => {
  it('has all entries when it is open, and each change of another process at once', async () => {
    bucket.set(clientKey('old'), encodeClient(client('old')))
    bucket.set(revokedKey('t1'), encodeRevocation(1e12))
    const identity = await open()
    expect(identity.list().map(({ clientId }) => clientId)).toEqual(['old'])
    expect([identity.isRevoked('t1'), identity.isRevoked('t2')]).toEqual([true, false])
    const before = identity.version()
    let changes = 0
    identity.changed$.subscribe(() => (changes += 1))
    bucket.set(revokedKey('t2'), encodeRevocation(1e12))
    bucket.set(clientKey('old'), encodeClient(client('old', { cancelled: true })))
    expect([identity.isRevoked('t2'), identity.find('old')?.cancelled, changes]).toEqual([true, true, 2])
    expect(identity.version()).not.toBe(before)
  })

  it('opens with an empty bucket', async () => {
    const identity = await open()
    expect([identity.list(), identity.ageMs()]).toEqual([[], 0])
  })

  it('rejects when the bucket cannot be read in 15 seconds', async () => {
    bucket.isReachable = false
    const opening = codeOfError(open())
    await pass(15)
    expect(await opening).toBe('connection-failed: The bucket fake could not be read in time.')
  })

  it('writes what two processes change without losing either', async () => {
    const [one, two] = [await open(), await open()]
    await one.add(client('acme'))
    expect(two.find('acme')).toEqual(client('acme'))
    const hash = await hashSecret('another secret, as long', secretHash)
    expect(await two.replaceSecret('acme', hash, 5_000)).toBe(true)
    expect(await one.setTokenLifetime('acme', 60)).toBe(true)
    expect(await one.cancel('acme')).toBe(true)
    const expected = client('acme', {
      secretHash: hash,
      previousSecret: { hash: secretHash, untilMs: 5_000 },
      tokenLifetimeSeconds: 60,
      cancelled: true,
    })
    expect([one.find('acme'), two.find('acme')]).toEqual([expected, expected])
    expect(await two.replaceSecret('acme', secretHash)).toBe(true)
    expect(one.find('acme')?.previousSecret).toBeUndefined()
    expect(await two.setTokenLifetime('acme', undefined)).toBe(true)
    expect(one.find('acme')?.tokenLifetimeSeconds).toBeUndefined()
    expect([await one.cancel('nobody'), await one.setTokenLifetime('nobody', 60)]).toEqual([false, false])
  })

  it('changes the newest version when another process is faster, and gives up after five times', async () => {
    const identity = await open()
    await identity.add(client('acme'))
    let faster = 1
    bucket.beforeWrite = () => {
      if (faster > 0) bucket.set(clientKey('acme'), encodeClient(client('acme', { createdAtMs: faster })))
      faster -= 1
    }
    await identity.cancel('acme')
    expect(identity.find('acme')).toMatchObject({ cancelled: true, createdAtMs: 1 })
    faster = 5
    expect(await codeOfError(identity.cancel('acme'))).toMatch(
      /^overloaded: Other processes change the subscription "acme"/,
    )
  })

  it('refuses a client whose id exists, also when another process was faster', async () => {
    const identity = await open()
    await identity.add(client('acme'))
    expect(await codeOfError(identity.add(client('acme')))).toBe(
      'invalid-options: The subscription "acme" already exists.',
    )
    bucket.beforeWrite = () => {
      bucket.beforeWrite = () => undefined
      bucket.set(clientKey('other'), encodeClient(client('other', { createdAtMs: 9 })))
    }
    expect(await codeOfError(identity.add(client('other')))).toMatch(/^invalid-options: /)
    expect(identity.find('other')?.createdAtMs).toBe(9)
    expect(await codeOfError(identity.add(client('a b')))).toMatch(/^invalid-options: /)
  })

  it('revokes a token once, also after its entry was deleted by hand', async () => {
    const identity = await open()
    await identity.revoke('t1')
    await identity.revoke('t1')
    expect([identity.isRevoked('t1'), bucket.revision]).toEqual([true, 1])
    bucket.set(revokedKey('t1'), undefined)
    expect(identity.isRevoked('t1')).toBe(false)
    await identity.revoke('t1')
    expect(identity.isRevoked('t1')).toBe(true)
  })

  it('forgets revocations of tokens that have expired with a new one', async () => {
    const identity = await open()
    await identity.revoke('old', 1_000)
    await identity.revoke('new', 9_000)
    await pass(2)
    await identity.revoke('newest', 9_000)
    expect([...bucket.entries.keys()]).toEqual([revokedKey('new'), revokedKey('newest')])
    expect([identity.isRevoked('old'), identity.isRevoked('new')]).toEqual([false, true])
  })

  it('answers from memory while the servers are away, and refuses changes at once', async () => {
    const identity = await open()
    await identity.add(client('acme'))
    isUp$.next(false)
    expect(identity.find('acme')).toEqual(client('acme'))
    const sentence =
      'overloaded: The NATS servers of identity.nats cannot be reached, so nothing was changed; try again.'
    expect(await codeOfError(identity.cancel('acme'))).toBe(sentence)
    expect(await codeOfError(identity.revoke('t1'))).toBe(sentence)
    expect(identity.isRevoked('t1')).toBe(false)
  })

  it('says that a change may have been made when the servers do not confirm it', async () => {
    const identity = await open()
    bucket.isReachable = false
    expect(await codeOfError(identity.revoke('t1'))).toMatch(/^overloaded: .* have not confirmed the change/)
  })

  it('has every change after the servers were away', async () => {
    const identity = await open()
    await identity.add(client('acme'))
    isUp$.next(false)
    bucket.isSilent = true
    bucket.set(clientKey('acme'), encodeClient(client('acme', { cancelled: true })))
    bucket.set(revokedKey('t1'), encodeRevocation(1e12))
    bucket.isSilent = false
    isUp$.next(true)
    await flushPromises()
    expect([identity.find('acme')?.cancelled, identity.isRevoked('t1')]).toEqual([true, true])
    expect(faults).toEqual([])
  })

  it('reads only what is new with another connection, and everything after a failure, without a change', async () => {
    const identity = await open()
    await identity.add(client('acme'))
    const before = identity.version()
    isUp$.next(false)
    isUp$.next(true)
    await flushPromises()
    expect(bucket.readAfter).toEqual([0, 1])
    bucket.breakWatches()
    await pass(1)
    expect([bucket.readAfter, identity.version()]).toEqual([[0, 1, 0], before])
    expect(identity.find('acme')).toEqual(client('acme'))
  })

  it('knows at once of a revocation that another machine was faster with', async () => {
    const identity = await open()
    bucket.isSilent = true
    bucket.set(revokedKey('t1'), encodeRevocation(1e12))
    expect(identity.isRevoked('t1')).toBe(false)
    await identity.revoke('t1')
    expect(identity.isRevoked('t1')).toBe(true)
  })

  it('notices a watch that delivers nothing, and reads everything again', async () => {
    const identity = await open()
    bucket.isSilent = true
    bucket.set(revokedKey('t1'), encodeRevocation(1e12))
    await pass(1)
    expect([identity.isRevoked('t1'), bucket.readAfter]).toEqual([false, [0]])
    await pass(2)
    expect([identity.isRevoked('t1'), bucket.readAfter]).toEqual([true, [0, 0]])
    bucket.isSilent = false
    await pass(5)
    expect(bucket.readAfter).toHaveLength(2)
  })

  it('watches again a second after a watch broke', async () => {
    const identity = await open()
    bucket.breakWatches()
    bucket.set(revokedKey('t1'), encodeRevocation(1e12))
    expect(identity.isRevoked('t1')).toBe(false)
    await pass(1)
    expect(identity.isRevoked('t1')).toBe(true)
  })

  it('reports its age, and when it is stale and no longer', async () => {
    const identity = await open()
    const stale: boolean[] = []
    const watching = identity.stale$.subscribe((isStale) => stale.push(isStale))
    await pass(3)
    expect(identity.ageMs()).toBeLessThanOrEqual(1_000)
    bucket.isReachable = false
    await pass(5)
    expect([stale, identity.ageMs()]).toEqual([[], 5_000])
    await pass(1)
    expect(stale).toEqual([true])
    bucket.isReachable = true
    await pass(2)
    expect([stale, identity.ageMs() <= 1_000]).toEqual([[true, false], true])
    watching.unsubscribe()
  })

  it('reads a new bucket completely after the servers were away', async () => {
    const identity = await open()
    await identity.revoke('t1')
    isUp$.next(false)
    bucket.isSilent = true
    bucket.recreate('second')
    for (const id of ['a', 'b', 'c']) bucket.set(revokedKey(id), encodeRevocation(1e12))
    bucket.isSilent = false
    isUp$.next(true)
    await flushPromises()
    expect(['t1', 'a', 'b', 'c'].map((id) => identity.isRevoked(id))).toEqual([true, true, true, true])
    expect(faults).toHaveLength(2)
  })

  it('keeps what a new bucket lacks, says so, and takes its new entries', async () => {
    const identity = await open()
    await identity.revoke('t1')
    await identity.add(client('acme'))
    await identity.add(client('other'))
    bucket.recreate('second')
    bucket.set(clientKey('other'), encodeClient(client('other', { cancelled: true })))
    await pass(3)
    expect([identity.isRevoked('t1'), identity.find('acme')?.cancelled]).toEqual([true, false])
    expect(identity.find('other')?.cancelled).toBe(true)
    expect(faults.map((fault) => (fault as Error).message)).toEqual([
      'The bucket fake was created again, or restored from an older copy. What it lacks stays known here until the restart.',
      'The bucket fake lacks 2 entries that it had before; restore it, for instance with rxspeech identity migrate.',
    ])
    const { length } = bucket.readAfter
    await pass(5)
    expect([bucket.readAfter.length, faults.length]).toEqual([length, 2])
  })

  it('takes changes of a bucket that was restored from an older copy', async () => {
    const identity = await open()
    await identity.add(client('acme'))
    const older = new Map(bucket.entries)
    await identity.add(client('later'))
    bucket.entries.clear()
    for (const [key, entry] of older) bucket.entries.set(key, entry)
    bucket.revision = 1
    await pass(2)
    bucket.set(clientKey('acme'), encodeClient(client('acme', { cancelled: true })))
    expect(identity.find('acme')?.cancelled).toBe(true)
    expect(faults).toHaveLength(2)
  })

  it('does not know a client whose entry is damaged, takes a damaged revocation as one, and reports both', async () => {
    bucket.set(clientKey('acme'), encodeClient(client('acme')))
    const identity = await open()
    bucket.set(clientKey('acme'), '{"secret":"hunter2"}')
    bucket.set(revokedKey('t1'), 'junk')
    bucket.set('later.kind', 'anything')
    expect([identity.find('acme'), identity.isRevoked('t1')]).toEqual([undefined, true])
    expect(faults).toHaveLength(2)
    expect(String(faults)).not.toContain('hunter2')
    expect(await codeOfError(identity.cancel('acme'))).toMatch(/^invalid-options: .*newer rxspeech/)
  })
})
