import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Admissions, type Slot } from '../../src/sessions/admissions.js'
import { reserveOf, type TenantWeights } from '../../src/sessions/tenant-shares.js'

const sessions = 20
const reservePercent = 10
/** Of the sessions. */
const reserve = 2

/** A service with a limit of sessions. */
class Service {
  nowMs = 0
  readonly held: { readonly tenant: string; readonly slot: Slot }[] = []
  readonly admissions: Admissions

  constructor(weights?: TenantWeights, limits: Partial<ConstructorParameters<typeof Admissions>[0]> = {}) {
    const all = { sessions, sessionsPerTenant: sessions, sessionsPerToken: sessions, reservePercent, ...limits }
    this.admissions = new Admissions(all, { weights, now: () => this.nowMs })
  }

  /** Whether a tenant got a session. */
  ask(tenant: string): boolean {
    try {
      this.held.push({ tenant, slot: this.admissions.admit(tenant, tenant) })
      return true
    } catch {
      // A full service learns of it from its token.
      this.admissions.saw(tenant)
      return false
    }
  }

  askOften(tenant: string, times = sessions + 1): void {
    for (let time = 0; time < times; time += 1) this.ask(tenant)
  }

  countOf(tenant: string): number {
    return this.held.filter((one) => one.tenant === tenant).length
  }

  /** Ends the oldest session, or the one at this index. */
  end(index = 0): void {
    for (const { slot } of this.held.splice(index, 1)) slot.release()
  }
}

describe('the shares of tenants', () => {
  it('are everything for a tenant that is alone, and a tenth less within an hour after another one', () => {
    const service = new Service()
    service.askOften('large')
    expect(service.countOf('large')).toBe(sessions)
    expect(service.ask('small')).toBe(false)
    service.end()
    expect(service.ask('large')).toBe(false)
    expect(service.ask('small')).toBe(true)
    service.end(service.held.length - 1)
    service.nowMs += 3_599_999
    for (let number = 0; number < 3; number += 1) service.end()
    service.askOften('large')
    expect(service.countOf('large')).toBe(sessions - reserve)
    service.nowMs += 1
    service.askOften('large')
    expect(service.countOf('large')).toBe(sessions)
  })

  it('are reached with the sessions of others that end', () => {
    const service = new Service()
    service.askOften('large')
    for (let ended = 0; ended < 2 * sessions; ended += 1) {
      service.end()
      service.askOften('large')
      service.askOften('small')
    }
    expect([service.countOf('large'), service.countOf('small')]).toEqual([sessions / 2, sessions / 2])
  })

  it('are in proportion to their weights', () => {
    const service = new Service({ large: 3 })
    for (let ended = 0; ended < 4 * sessions; ended += 1) {
      service.end()
      service.askOften('large')
      service.askOften('small')
    }
    expect([service.countOf('large'), service.countOf('small')]).toEqual([15, 5])
  })

  it('are in proportion to weights below 1', () => {
    const service = new Service({ large: 0.3, small: 0.1 })
    service.askOften('large', sessions - reserve)
    service.ask('small')
    for (let ended = 0; ended < 4 * sessions; ended += 1) {
      service.end()
      service.askOften('large')
      service.askOften('small')
    }
    expect([service.countOf('large'), service.countOf('small')]).toEqual([15, 5])
  })

  it('are everything again for a tenant whose weight was added to others', () => {
    const service = new Service({ large: 0.2, small: 0.1 })
    service.ask('small')
    service.ask('large')
    service.end()
    service.nowMs += 3_600_000
    service.askOften('large')
    expect(service.countOf('large')).toBe(sessions)
  })

  it('are nothing that is kept free with a reserve of 0', () => {
    const service = new Service(undefined, { reservePercent: 0 })
    service.ask('small')
    service.askOften('large')
    expect(service.countOf('large')).toBe(sessions - 1)
  })

  it('refuse a tenant below its share only while all places are used, and one above it the reserve', () => {
    const tenants = ['small', 'one', 'two', 'constructor']
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...tenants), fc.nat(sessions), fc.nat(9)), { minLength: 40, maxLength: 80 }),
        (steps) => {
          const service = new Service()
          for (const [tenant, index, kind] of steps) {
            if (kind < 3 && service.held.length > 0) service.end(index % service.held.length)
            const before = service.held.length
            const names = new Set([...service.held.map((one) => one.tenant), tenant])
            const isBelow = (service.countOf(tenant) + 1) * names.size <= before + 1
            const isAdmitted = service.ask(tenant)
            // Below its share it is refused only while there is no place at all.
            if (isBelow && before < sessions) expect(isAdmitted).toBe(true)
            // Above it, with others there, it leaves them the reserve.
            if (!isBelow && names.size > 1 && isAdmitted)
              expect(service.held.length).toBeLessThanOrEqual(sessions - reserve)
            if (before < sessions - reserve) expect(isAdmitted).toBe(true)
            const counted = [...service.admissions.counts.tenants.values()].reduce((sum, count) => sum + count, 0)
            expect(counted).toBe(service.held.length)
          }
        },
      ),
    )
  })

  it('refuse a tenant that wants less than its share once, if a session ends before each of its attempts', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: sessions / 2 }),
        fc.array(fc.nat(99), { minLength: 60 }),
        (wanted, ends) => {
          const service = new Service()
          service.askOften('large')
          let refusals = 0
          for (const end of ends) {
            // A session ends each time, and both ask again, the large one first and more often.
            service.end(end % service.held.length)
            service.askOften('large', 3)
            if (service.countOf('small') < wanted && !service.ask('small')) refusals += 1
          }
          // The large one was alone until then.
          expect(refusals).toBe(1)
          expect(service.countOf('small')).toBeGreaterThanOrEqual(wanted - 1)
        },
      ),
      { numRuns: 20 },
    )
  })
})

it('leaves whole sessions, none of a few, and at least one place', () => {
  expect([9, 19, 20].map((limit) => reserveOf.sessions(limit, 10))).toEqual([0, 1, 2])
  expect([0.5, 15].map((limit) => reserveOf.places(limit, 10))).toEqual([1, 1.5])
  expect(reserveOf.places(15, 0)).toBe(0)
})
