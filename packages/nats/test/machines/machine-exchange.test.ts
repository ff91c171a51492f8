import { Observable, Subject, throwError } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClientAuthentication } from '../../../server/src/identity/clients/client-authentication.js'
import { hashSecret } from '../../../server/src/identity/clients/client-secret.js'
import { memoryClients } from '../../../server/src/identity/clients/client.js'
import { MachineExchange, type MachineExchangeOptions } from '../../src/machines/machine-exchange.js'
import type { BusMessage } from '../../src/connection/bus.js'
import { Admissions, type AdmissionLimits } from '../../../server/src/sessions/admissions.js'
import { VirtualClock } from '../../../service/test/virtual-clock.js'

/** A bus that delivers at once, also to the sender, as NATS does. */
class FakeBus {
  readonly #messages$ = new Subject<BusMessage>()
  readonly published: { readonly subject: string; readonly text: string }[] = []
  isUp = true
  /** Whether messages get lost on the way. */
  losing = false

  publish(subject: string, payload: Uint8Array | string): boolean {
    if (!this.isUp) return false
    if (this.losing) return true
    const text = String(payload)
    this.published.push({ subject, text })
    this.#messages$.next({ subject, payload: Buffer.from(text), replyTo: '', hasNoReceiver: false })
    return true
  }

  messages(subject: string): Observable<BusMessage> {
    return new Observable((subscriber) =>
      this.#messages$.subscribe((message) => {
        if (message.subject === subject) subscriber.next(message)
      }),
    )
  }
}

let clock: VirtualClock
let bus: FakeBus
let faults: string[]
const opened: MachineExchange[] = []
beforeEach(() => {
  clock = new VirtualClock()
  bus = new FakeBus()
  faults = []
})
afterEach(() => {
  for (const exchange of opened.splice(0)) exchange.close()
  expect(clock.waiting).toBe(0)
})

const exchangeOf = (change: Partial<MachineExchangeOptions> = {}): MachineExchange => {
  const origin = { issuer: 'https://speech.example.com', audience: 'urn:a' }
  const onFault = (error: unknown): void => void faults.push((error as Error).message)
  const exchange = new MachineExchange({ bus, bucket: 'b', origin, scheduler: clock, onFault, ...change })
  opened.push(exchange)
  return exchange
}

const limits = { reservePercent: 10, sessions: 100, sessionsPerTenant: 5, sessionsPerToken: 3 }
const shared = () => machine({}, { sessions: 10, sessionsPerTenant: 20, sessionsPerToken: 20 })
const machine = (change: Partial<MachineExchangeOptions> = {}, changed: Partial<AdmissionLimits> = {}) => {
  const exchange = exchangeOf(change)
  const admissions = new Admissions({ ...limits, ...changed }, { others: exchange, now: () => clock.now() })
  exchange.publishCounts(() => admissions.counts)
  return { exchange, admissions }
}
const pass = (seconds: number): void => clock.advanceTo(clock.now() + seconds * 1_000)

describe('the counts of sessions', () => {
  it('of a token on several machines reach its limit together, and each machine has its own', () => {
    const [one, two] = [machine(), machine()]
    const ends = [one.admissions.admit('t', 'a'), one.admissions.admit('t', 'a')]
    pass(1)
    ends.push(two.admissions.admit('t', 'a'))
    pass(1)
    for (const { admissions } of [one, two]) {
      expect(() => admissions.admit('t', 'a')).toThrow('The token has 3 sessions, its limit')
      expect(() => admissions.admit('other', 'b')).not.toThrow()
    }
    ends[0]?.release()
    expect(() => two.admissions.admit('t', 'a')).toThrow()
    pass(1)
    expect(() => two.admissions.admit('t', 'a')).not.toThrow()
  })

  it('of a tenant are limited in the same way', () => {
    const [one, two] = [machine(), machine()]
    for (const tokenId of ['1', '2', '3']) one.admissions.admit(tokenId, 'a')
    for (const tokenId of ['4', '5']) two.admissions.admit(tokenId, 'a')
    pass(1)
    expect(() => one.admissions.admit('6', 'a')).toThrow('The tenant has 5 sessions, its limit')
  })

  it('are limited for each machine that is there, unless the limit was set', () => {
    const one = machine()
    const options = { others: one.exchange, now: () => clock.now(), eachMachine: ['sessionsPerTenant'] as const }
    const lifted = new Admissions({ ...limits, sessionsPerToken: 100 }, options)
    for (let number = 0; number < 5; number += 1) lifted.admit('t', 'a')
    expect(() => lifted.admit('t', 'a')).toThrow('The tenant has 5 sessions, its limit')
    const two = machine()
    pass(1)
    for (let number = 0; number < 5; number += 1) lifted.admit('t', 'a')
    expect(() => lifted.admit('t', 'a')).toThrow('The tenant has 10 sessions, its limit')
    two.exchange.close()
    pass(4)
    expect(one.exchange.machines).toBe(0)
    expect(() => lifted.admit('t', 'a')).toThrow('The tenant has 5 sessions, its limit')
  })

  it('that have ended are sent within a second', () => {
    const [one, two] = [machine(), machine()]
    const { release } = one.admissions.admit('t', 'a')
    pass(1)
    expect([two.exchange.ofToken('t'), two.exchange.ofTenant('a')]).toEqual([1, 1])
    release()
    pass(1)
    expect([two.exchange.ofToken('t'), two.exchange.ofTenant('a')]).toEqual([0, 0])
  })

  it('leave the last sessions of a machine to a tenant that has asked another one', () => {
    const [one, two] = [shared(), shared()]
    for (let number = 0; number < 8; number += 1) one.admissions.admit('t', 'a')
    two.admissions.saw('b')
    pass(1)
    expect(one.admissions.admit('t', 'a').isAboveShare).toBe(true)
    expect(() => one.admissions.admit('t', 'a')).toThrow('The tenant has its share of the sessions')
  })

  it('are those of before, too, for a machine that begins to count after it has heard of others', () => {
    const [one, two] = [machine(), exchangeOf()]
    const slots = [one.admissions.admit('t', 'a'), one.admissions.admit('t', 'a')]
    pass(1)
    const seen = new Map<string, number>()
    two.onTenant((tenant, change) => seen.set(tenant, (seen.get(tenant) ?? 0) + change))
    expect([...seen]).toEqual([['a', 2]])
    slots[0]?.release()
    pass(1)
    expect([...seen]).toEqual([['a', 1]])
  })

  it('exceed a limit by no more than what starts on other machines within a second', () => {
    const [one, two] = [machine(), machine()]
    for (let count = 0; count < limits.sessionsPerToken; count += 1) {
      one.admissions.admit('t', 'a')
      two.admissions.admit('t', `${count}`)
    }
    pass(1)
    for (const { admissions } of [one, two]) expect(() => admissions.admit('t', 'b')).toThrow('its limit')
  })

  it('of a machine that has gone are forgotten after 3 seconds', () => {
    const [one, two] = [machine(), machine()]
    for (let count = 0; count < 3; count += 1) one.admissions.admit('t', 'a')
    pass(1)
    one.exchange.close()
    pass(2)
    expect(two.exchange.ofToken('t')).toBe(3)
    pass(1)
    expect([two.exchange.ofToken('t'), two.exchange.ofTenant('a')]).toEqual([0, 0])
  })

  /** What a machine sends within some seconds, as lists of counts of tokens. */
  const sentTokens = (seconds: number): readonly unknown[] => {
    const before = bus.published.length
    pass(seconds)
    return bus.published.slice(before).map(({ text }) => (JSON.parse(text) as { readonly tokens: unknown }).tokens)
  }

  it('are sent when they have changed, and all of them each 5 seconds', () => {
    const { admissions } = machine()
    admissions.admit('t', 'a')
    expect(sentTokens(1)).toEqual([[['t', 1]]])
    expect(sentTokens(3)).toEqual([[], [], []])
    admissions.admit('u', 'a')
    expect(sentTokens(2)).toEqual([[['t', 1], ['u', 1]], []]) // prettier-ignore
    expect(sentTokens(5)).toEqual([[], [], [], [['t', 1], ['u', 1]], []]) // prettier-ignore
  })

  it('are all sent to a machine that comes, and stay valid while they do not change', () => {
    const one = machine()
    one.admissions.admit('t', 'a')
    pass(2)
    const two = machine()
    pass(1)
    expect(two.exchange.ofToken('t')).toBe(1)
    pass(60)
    expect([two.exchange.ofToken('t'), two.exchange.ofTenant('a')]).toEqual([1, 1])
  })

  it('are all sent again after messages that were lost, and ended ones are forgotten', () => {
    const [one, two] = [machine(), machine()]
    pass(1)
    bus.isUp = false
    const { release } = one.admissions.admit('t', 'a')
    pass(2)
    bus.isUp = true
    expect(two.exchange.ofToken('t')).toBe(0)
    pass(1)
    expect(two.exchange.ofToken('t')).toBe(1)
    // The message that it has ended is lost on the way.
    bus.losing = true
    release()
    pass(1)
    bus.losing = false
    pass(11)
    expect(two.exchange.ofToken('t')).toBe(0)
  })

  it('are all sent each second while a machine of version 0.2.0 is there, and its own are forgotten after 3', () => {
    const { admissions, exchange } = machine()
    admissions.admit('t', 'a')
    pass(1)
    const older = { v: 1, from: 'older', issuer: 'https://speech.example.com', audience: 'urn:a', tenants: [] }
    const tell = (tokens: unknown): unknown =>
      bus.publish('rxspeech.identity.b.counts', JSON.stringify({ ...older, tokens }))
    tell([['o', 1]])
    for (let second = 0; second < 2; second += 1) {
      expect(sentTokens(1)).toEqual([[['t', 1]]])
      tell([])
    }
    expect(exchange.ofToken('o')).toBe(1)
    pass(1)
    expect(exchange.ofToken('o')).toBe(0)
  })

  it('are those of one machine alone while the bus is down', () => {
    const [one, two] = [machine(), machine()]
    bus.isUp = false
    for (let count = 0; count < 3; count += 1) one.admissions.admit('t', 'a')
    pass(5)
    expect(() => two.admissions.admit('t', 'a')).not.toThrow()
    expect(() => one.admissions.admit('t', 'a')).toThrow()
  })

  it('are sent in messages of a limited size', () => {
    const [one, two] = [machine(), machine()]
    for (let count = 0; count < 100; count += 1) one.admissions.admit(`t${count}`, `${count} ${'ü'.repeat(500)}`)
    pass(1)
    expect(Math.max(...bus.published.map(({ text }) => Buffer.byteLength(text)))).toBeLessThan(34_000)
    const counted = Array.from({ length: 100 }, (_, count) => two.exchange.ofTenant(`${count} ${'ü'.repeat(500)}`))
    expect(counted).toEqual(Array.from({ length: 100 }, () => 1))
  })

  it('of another service with another bucket do not count', () => {
    const [one, two] = [machine(), machine({ bucket: 'other' })]
    for (let count = 0; count < 3; count += 1) one.admissions.admit('t', 'a')
    pass(1)
    expect(two.exchange.ofToken('t')).toBe(0)
  })
})

describe('a machine exchange', () => {
  it('ignores messages that it cannot read', () => {
    const { exchange } = machine()
    const message = { v: 1, from: 'x', issuer: 'i', audience: 'a', tenants: [['a', 1]], tokens: [], keys: [] }
    const tooLong = [{ from: 'x'.repeat(65) }, { issuer: 'i'.repeat(2_049) }, { audience: 'a'.repeat(2_049) }].map(
      (change) => JSON.stringify({ ...message, ...change }),
    )
    for (const text of ['', '{', '[]', '{"v":2,"from":"x"}', '{"v":1,"from":"x","tenants":[["a"]]}', ...tooLong]) {
      bus.publish('rxspeech.identity.b.counts', text)
      bus.publish('rxspeech.identity.b.failures', text)
    }
    expect([exchange.ofTenant('a'), faults]).toEqual([0, []])
  })

  it('takes no key of a wrong secret that is longer than any of its own', () => {
    const taken: (readonly string[])[] = []
    exchangeOf().onFailure((keys) => taken.push(keys))
    for (const length of [256, 257]) {
      const message = { v: 1, from: 'x', keys: ['k'.repeat(length)] }
      bus.publish('rxspeech.identity.b.failures', JSON.stringify(message))
    }
    expect(taken.flat().map((key) => key.length)).toEqual([256])
  })

  it('reports once that another machine has another issuer or audience', () => {
    machine()
    machine({ origin: { issuer: 'https://other.example.com', audience: 'urn:a' } })
    pass(3)
    const [first, ...others] = faults
    expect(first).toBe(
      'Another machine of this service has the issuer https://other.example.com, and this one has https://speech.example.com, so they refuse the tokens of each other. Set the same identity.issuer on all of them.',
    )
    // The other machine reports this one.
    expect(others).toHaveLength(1)
    machine({ origin: { issuer: 'https://speech.example.com', audience: 'urn:b' } })
    expect(faults.some((fault) => fault.includes('has the audience urn:b'))).toBe(true)
  })

  it('reports that it may not receive the messages', () => {
    const refused = { publish: () => true, messages: () => throwError(() => new Error('refused')) }
    exchangeOf({ bus: refused })
    expect(faults).toEqual(['refused', 'refused'])
  })
})

describe('wrong secrets', () => {
  const secret = 'correct horse battery staple'
  const authentication = async (exchange: MachineExchange) =>
    createClientAuthentication({
      clients: memoryClients([
        {
          ...{ clientId: 'acme', secretHash: await hashSecret(secret), tenants: [], projects: [], models: [] },
          ...{ validFromMs: 0, validUntilMs: Infinity, cancelled: false },
        },
      ]),
      failuresPerMinute: 3,
      now: () => clock.now(),
      exchange,
    })

  it('on one machine count on the others too, so that more machines allow no more guesses', async () => {
    const machines = [await authentication(exchangeOf()), await authentication(exchangeOf())]
    const results: string[] = []
    for (let guess = 0; guess < 6; guess += 1) {
      const { type } = (await machines[guess % 2]?.authenticate('acme', 'wrong', '192.0.2.1')) ?? { type: 'none' }
      results.push(type)
    }
    expect(results).toEqual(['rejected', 'rejected', 'rejected', 'wait', 'wait', 'wait'])
    expect((await machines[0]?.authenticate('acme', secret, '192.0.2.2'))?.type).toBe('accepted')
  })

  it('of tokens are counted together by address', async () => {
    const machines = [await authentication(exchangeOf()), await authentication(exchangeOf())]
    const waits = Array.from({ length: 20 }, (_, guess) => machines[guess % 2]?.countFailure('192.0.2.1') ?? -1)
    expect(waits.filter((ms) => ms === 0)).toHaveLength(15)
    expect(machines[1]?.retryAfterMs('192.0.2.1')).toBeGreaterThan(0)
    expect(machines[1]?.retryAfterMs('192.0.2.2')).toBe(0)
  })

  it('travel without the id, the secret and the address', async () => {
    const machine = await authentication(exchangeOf())
    await machine.authenticate('a-secret-as-id', 'a-secret', '192.0.2.1')
    const sent = bus.published.map(({ text }) => text).join()
    expect(sent).toContain('"keys":["pair:')
    expect(sent).not.toMatch(/a-secret|192\.0\.2\.1/)
  })
})
