import { BehaviorSubject, NEVER, Subject } from 'rxjs'
import type { SharedIdentity } from '../../../server/src/identity/shared-identity.js'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { isSpeechError } from '../../../../src/errors/speech-error.js'
import { hashSecret } from '../../../server/src/identity/clients/client-secret.js'
import type { StoredClient } from '../../../server/src/identity/clients/client.js'
import { encodeClient, encodeRevocation, keyOf } from '../../src/identity/entries.js'
import { openSharedIdentity } from '../../src/identity/shared-identity.js'
import type { Withdrawal, WithdrawalExchange } from '../../src/identity/withdrawals.js'
import { flushPromises, VirtualClock } from '../../../service/test/virtual-clock.js'
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

/** Connects no processes, so that only the bucket does. */
const noExchange: WithdrawalExchange = { publish: () => undefined, received$: NEVER }
const createExchange = (): WithdrawalExchange => {
  const received$ = new Subject<Withdrawal>()
  return { publish: (withdrawal) => received$.next(withdrawal), received$ }
}
const open = async (withdrawals = noExchange): Promise<SharedIdentity> => {
  const identity = await openSharedIdentity({
    ...{ bucket, withdrawals, isUp$, scheduler: clock },
    onFault: (error) => faults.push(error),
  })
  opened.push(identity)
  return identity
}
const messages = (): readonly string[] => faults.map((fault) => (fault as Error).message)
const recreated = 'The bucket fake was created again. What it lacks stays known here until the restart.'
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
    expect([await one.cancel('unknown'), await one.setTokenLifetime('unknown', 60)]).toEqual([false, false])
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

  it('reads everything with another connection and after a failure, without a change', async () => {
    const identity = await open()
    await identity.add(client('acme'))
    const before = identity.version()
    isUp$.next(false)
    isUp$.next(true)
    await flushPromises()
    expect(bucket.readings).toBe(2)
    bucket.breakWatches()
    await pass(1)
    expect([bucket.readings, identity.version()]).toEqual([3, before])
    expect(identity.find('acme')).toEqual(client('acme'))
  })

  it('applies a revocation at once that another machine wrote first', async () => {
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
    expect([identity.isRevoked('t1'), bucket.readings]).toEqual([false, 1])
    await pass(2)
    expect([identity.isRevoked('t1'), bucket.readings]).toEqual([true, 2])
    bucket.isSilent = false
    await pass(5)
    expect(bucket.readings).toBe(2)
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
    expect(messages()).toEqual([recreated])
  })

  it('keeps what a new bucket lacks, says so, and takes its new entries', async () => {
    const identity = await open()
    await identity.add(client('acme'))
    await identity.add(client('other'))
    await identity.add(client('third'))
    bucket.recreate('second')
    bucket.set(clientKey('other'), encodeClient(client('other', { cancelled: true })))
    await pass(3)
    expect([identity.find('acme')?.cancelled, identity.find('other')?.cancelled]).toEqual([false, true])
    expect(messages()).toEqual([recreated])
    await pass(25)
    const lacks =
      'The bucket fake lacks 2 clients that are known here; restore it, for instance with rxspeech identity migrate.'
    expect(messages()).toEqual([recreated, lacks])
    await pass(30)
    expect(messages()).toEqual([recreated, lacks])
    expect(bucket.entries.has(clientKey('acme'))).toBe(false)
  })

  it('takes changes of a bucket that was restored from an older copy', async () => {
    const identity = await open()
    await identity.add(client('acme'))
    await identity.add(client('later'))
    bucket.lose(clientKey('later'))
    await pass(2)
    bucket.set(clientKey('acme'), encodeClient(client('acme', { createdAtMs: 1 })))
    expect(identity.find('acme')?.createdAtMs).toBe(1)
    expect(faults).toEqual([])
  })

  it('writes a confirmed revocation again that the servers have lost, for machines that missed it', async () => {
    const one = await open()
    bucket.isSilent = true
    await one.revoke('t1')
    await one.revoke('expires', 15_000)
    bucket.lose(revokedKey('expires'))
    bucket.lose(revokedKey('t1'))
    bucket.isSilent = false
    const two = await open()
    bucket.set(revokedKey('t2'), encodeRevocation(1e12))
    bucket.set(revokedKey('t3'), encodeRevocation(1e12))
    await pass(9)
    expect([two.isRevoked('t1'), two.isRevoked('expires')]).toEqual([false, false])
    await pass(2)
    expect([two.isRevoked('t1'), two.isRevoked('expires')]).toEqual([true, true])
    expect(messages()).toEqual([
      'The bucket fake lacked 2 revocations or cancellations that are known here; they were written again.',
    ])
    await pass(10)
    bucket.entries.delete(revokedKey('expires'))
    await pass(30)
    expect(bucket.entries.has(revokedKey('expires'))).toBe(false)
    expect(faults).toHaveLength(1)
  })

  it('cancels a client again whose cancellation the servers have lost', async () => {
    const [one, two] = [await open(), await open()]
    await one.add(client('acme'))
    const earlier = bucket.entries.get(clientKey('acme'))
    bucket.isSilent = true
    await one.cancel('acme')
    bucket.isSilent = false
    bucket.lose(clientKey('acme'), earlier)
    // The lost revision is given again.
    bucket.set(revokedKey('t1'), encodeRevocation(1e12))
    expect([one.find('acme')?.cancelled, two.find('acme')?.cancelled]).toEqual([true, false])
    await pass(11)
    expect([one.find('acme')?.cancelled, two.find('acme')?.cancelled]).toEqual([true, true])
    const third = await open()
    expect(third.find('acme')).toEqual(client('acme', { cancelled: true }))
    expect(faults).toHaveLength(1)
  })

  it('sends what it has withdrawn to others, who write it again when the servers have lost it and it has ended', async () => {
    const exchange = createExchange()
    const [one, two, three] = [await open(exchange), await open(exchange), await open(exchange)]
    await one.add(client('acme'))
    const earlier = bucket.entries.get(clientKey('acme'))
    let changes = 0
    two.changed$.subscribe(() => (changes += 1))
    bucket.isSilent = true
    await one.revoke('t1')
    await one.cancel('acme')
    for (const other of [two, three]) {
      expect([other.isRevoked('t1'), other.find('acme')?.cancelled]).toEqual([true, true])
    }
    expect(changes).toBe(2)
    bucket.lose(clientKey('acme'), earlier)
    bucket.lose(revokedKey('t1'))
    bucket.isSilent = false
    one.close()
    await pass(11)
    const later = await open()
    expect([later.isRevoked('t1'), later.find('acme')?.cancelled]).toEqual([true, true])
    expect(messages()).toEqual([
      'The bucket fake lacked 2 revocations or cancellations that are known here; they were written again.',
    ])
  })

  it('sends no change that is not confirmed, and ignores those that it has or that have expired', async () => {
    const exchange = createExchange()
    const [one, two] = [await open(exchange), await open(exchange)]
    await one.revoke('t1')
    const before = two.version()
    exchange.publish({ tokenId: 't1', untilMs: 1e12 })
    exchange.publish({ tokenId: 'expired', untilMs: 0 })
    exchange.publish({ clientId: 'unknown' })
    bucket.isReachable = false
    await one.revoke('t2').catch(() => undefined)
    expect([two.version(), two.isRevoked('expired'), two.isRevoked('t2')]).toEqual([before, false, false])
    expect(two.list()).toEqual([])
  })

  it('takes a revocation that a server did not deliver although its watch went on', async () => {
    const identity = await open()
    bucket.lagging.add(revokedKey('t1'))
    bucket.isSilent = true
    bucket.set(revokedKey('t1'), encodeRevocation(1e12))
    bucket.isSilent = false
    bucket.set(revokedKey('t2'), encodeRevocation(1e12))
    await pass(15)
    expect([identity.isRevoked('t1'), identity.ageMs() <= 1_000]).toEqual([false, true])
    bucket.lagging.clear()
    await pass(10)
    expect(identity.isRevoked('t1')).toBe(true)
    expect(faults).toEqual([])
  })

  it('opens only when a reading has delivered the last change, or two have not', async () => {
    bucket.set(revokedKey('t1'), encodeRevocation(1e12))
    bucket.lagging.add(revokedKey('t1'))
    const opening = open()
    await flushPromises()
    expect(bucket.readings).toBe(1)
    bucket.lagging.clear()
    await pass(1)
    expect((await opening).isRevoked('t1')).toBe(true)
    await bucket.forget([revokedKey('t1')])
    const later = open()
    await pass(2)
    expect((await later).isRevoked('t1')).toBe(false)
  })

  it('keeps a client cancelled when the servers deliver it as it was before', async () => {
    const identity = await open()
    await identity.add(client('acme'))
    const earlier = bucket.entries.get(clientKey('acme'))
    await identity.cancel('acme')
    bucket.lose(clientKey('acme'), earlier)
    await pass(3)
    expect([bucket.readings, identity.find('acme')?.cancelled]).toEqual([2, true])
  })

  it('reads again when nothing comes for 5 s, at the start and later', async () => {
    bucket.isStalled = true
    const opening = open()
    await flushPromises()
    await pass(5)
    bucket.isStalled = false
    await pass(1)
    await opening
    expect(bucket.readings).toBe(2)
    bucket.isStalled = true
    await pass(15)
    expect(bucket.readings).toBe(3)
    bucket.isStalled = false
    await pass(10)
    expect([bucket.readings, faults]).toEqual([4, []])
  })

  it('does not write again what only the server of a reading lacks, nor report it', async () => {
    const identity = await open()
    await identity.revoke('t1')
    await identity.add(client('acme'))
    await identity.add(client('other'))
    await identity.cancel('acme')
    const { revision } = bucket
    bucket.lagging.add(revokedKey('t1')).add(clientKey('acme')).add(clientKey('other'))
    await pass(15)
    bucket.lagging.clear()
    await pass(10)
    bucket.lagging.add(revokedKey('t1'))
    bucket.isReachable = false
    await pass(15)
    expect([bucket.revision, faults]).toEqual([revision, []])
  })

  it('reads many entries more rarely', async () => {
    for (let count = 0; count < 10_000; count += 1) bucket.set(revokedKey(`t${count}`), encodeRevocation(1e12))
    await open()
    await pass(19)
    expect(bucket.readings).toBe(1)
    await pass(2)
    expect(bucket.readings).toBe(2)
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
