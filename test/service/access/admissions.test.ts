import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Admissions } from '../../../src/service/access/admissions.js'

describe('places for sessions', () => {
  it('are given up to the cap exactly, and then refused at once, by the name of the limit', () => {
    const admissions = new Admissions({ sessions: 2, sessionsPerToken: 2 })
    const release = admissions.admit('a')
    admissions.admit('b')
    expect(() => admissions.admit('c')).toThrow(
      expect.objectContaining({ code: 'overloaded', message: expect.stringMatching(/ 2 sessions/) as unknown }),
    )
    release()
    admissions.admit('c')
    expect(() => admissions.admit('c')).toThrow(/^The service carries 2/)
  })

  it('are counted for each token by itself', () => {
    const admissions = new Admissions({ sessions: 10, sessionsPerToken: 1 })
    const release = admissions.admit('a')
    expect(() => admissions.admit('a')).toThrow(/^The token has 1 sessions/)
    admissions.admit('b')
    release()
    release()
    admissions.admit('a')
    expect(() => admissions.admit('a')).toThrow(/^The token has/)
  })

  it('are as many as are held, whatever is taken and given back, how often ever', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.constantFrom('a', 'b', 'c'), fc.nat(9))), (steps) => {
        const limits = { sessions: 5, sessionsPerToken: 3 }
        const admissions = new Admissions(limits)
        const held: { readonly token: string; readonly release: () => void }[] = []
        const released: (() => void)[] = []
        for (const [takes, token, index] of steps) {
          if (takes) {
            const fits =
              held.length < limits.sessions &&
              held.filter((one) => one.token === token).length < limits.sessionsPerToken
            const take = (): unknown => held.push({ token, release: admissions.admit(token) })
            if (fits) take()
            else expect(take).toThrow()
          } else if (held.length > 0) {
            const [one] = held.splice(index % held.length, 1)
            one?.release()
            if (one !== undefined) released.push(one.release)
            for (const again of released) again()
          }
        }
      }),
    )
  })
})
