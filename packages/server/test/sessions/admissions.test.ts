import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Admissions, type AdmissionLimits } from '../../src/sessions/admissions.js'

const admissionsOf = (limits: Omit<AdmissionLimits, 'reservePercent'>): Admissions =>
  new Admissions({ reservePercent: 10, ...limits }, { now: () => 0 })

describe('places for sessions', () => {
  it('are granted exactly up to the limit, and then refused immediately, by the name of the limit', () => {
    const admissions = admissionsOf({ sessions: 2, sessionsPerTenant: 2, sessionsPerToken: 2 })
    const { release } = admissions.admit('a', 't')
    admissions.admit('b', 't')
    expect(() => admissions.admit('c', 't')).toThrow(
      expect.objectContaining({ code: 'overloaded', message: expect.stringMatching(/ 2 sessions/) as unknown }),
    )
    release()
    admissions.admit('c', 't')
    expect(() => admissions.admit('c', 't')).toThrow(/^The service has 2/)
  })

  it('are counted for each token separately', () => {
    const admissions = admissionsOf({ sessions: 10, sessionsPerTenant: 10, sessionsPerToken: 1 })
    const { release } = admissions.admit('a', 't')
    expect(() => admissions.admit('a', 't')).toThrow(/^The token has 1 sessions/)
    admissions.admit('b', 't')
    release()
    release()
    admissions.admit('a', 't')
    expect(() => admissions.admit('a', 't')).toThrow(/^The token has/)
  })

  it('are counted for each tenant separately, whatever the token', () => {
    const admissions = admissionsOf({ sessions: 10, sessionsPerTenant: 2, sessionsPerToken: 10 })
    const { release } = admissions.admit('a', 'Acme')
    admissions.admit('b', 'Acme')
    expect(() => admissions.admit('c', 'Acme')).toThrow(/^The tenant has 2 sessions, its limit/)
    admissions.admit('c', 'Other')
    release()
    admissions.admit('c', 'Acme')
  })

  it('are checked before the token only if none is free', () => {
    const admissions = admissionsOf({ sessions: 1, sessionsPerTenant: 1, sessionsPerToken: 1 })
    admissions.checkCapacity()
    const { release } = admissions.admit('a', 't')
    expect(() => {
      admissions.checkCapacity()
    }).toThrow(expect.objectContaining({ code: 'overloaded' }))
    release()
    admissions.checkCapacity()
  })

  it('are as many as are held, after any sequence of grants and releases', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.constantFrom('a', 'b', 'c'), fc.nat(9))), (steps) => {
        const limits = { sessions: 5, sessionsPerTenant: 5, sessionsPerToken: 3 }
        const admissions = admissionsOf(limits)
        const held: { readonly token: string; readonly release: () => void }[] = []
        const released: (() => void)[] = []
        for (const [takes, token, index] of steps) {
          if (takes) {
            const fits =
              held.length < limits.sessions &&
              held.filter((item) => item.token === token).length < limits.sessionsPerToken
            const take = (): unknown => held.push({ token, release: admissions.admit(token, 't').release })
            if (fits) take()
            else expect(take).toThrow()
          } else if (held.length > 0) {
            const [item] = held.splice(index % held.length, 1)
            item?.release()
            if (item !== undefined) released.push(item.release)
            for (const again of released) again()
          }
        }
      }),
    )
  })
})
