import { defer, EMPTY, throwError, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { ServiceHealth } from '../../../src/client/failover/service-health.js'
import { SpeechError } from '../../../src/errors/speech-error.js'
import { virtually, type Tools } from '../virtual-session.js'
import { refused } from './several-services.js'

/** Two services; the probe of the first fails until `backAtMs`. */
const healthOf = ({ clock }: Tools, { backAtMs = Infinity, error = refused } = {}) => {
  const startMs = clock.now()
  const probedAtMs: number[] = []
  const probe$: Observable<never> = defer(() => {
    probedAtMs.push(clock.now() - startMs)
    return clock.now() - startMs < backAtMs ? throwError(() => error) : EMPTY
  })
  const health = new ServiceHealth({
    probes: [probe$, EMPTY],
    delayMs: (attempt) => 100 * 2 ** (attempt - 1),
    scheduler: clock,
  })
  const at = (ms: number, act: () => void) => void clock.schedule(act, ms)
  return { health, probedAtMs, at }
}

describe('the health of services', () => {
  it('is good at first, bad after a loss, and good after an answered probe', () => {
    virtually((tools) => {
      const { health, probedAtMs, at } = healthOf(tools, { backAtMs: 500 })
      const seen: boolean[] = []
      const end = health.watch()
      health.lost(0, refused)
      for (const ms of [0, 600, 800]) at(ms, () => seen.push(health.isAvailable(0)))
      at(900, end)
      return () => {
        expect(probedAtMs).toEqual([100, 300, 700])
        expect(seen).toEqual([false, false, true])
        expect(health.isAvailable(1)).toBe(true)
        expect(tools.clock.pending()).toBe(0)
      }
    })
  })

  it('is good if the probe is refused for another reason than the service', () => {
    virtually((tools) => {
      const { health } = healthOf(tools, { error: new SpeechError('unauthenticated', 'No.') })
      health.watch()
      health.lost(0, refused)
      return () => expect(health.isAvailable(0)).toBe(true)
    })
  })

  it('is probed only while a session runs, and at once if a probe is due when one begins', () => {
    virtually((tools) => {
      const { health, probedAtMs, at } = healthOf(tools)
      const ends = [health.watch(), health.watch()]
      health.lost(0, refused)
      at(150, () => ends[0]?.())
      at(350, () => ends[1]?.())
      let end: (() => void) | undefined
      at(5_000, () => (end = health.watch()))
      at(5_050, () => end?.())
      return () => {
        expect(probedAtMs).toEqual([100, 300, 5_000])
        expect(tools.clock.pending()).toBe(0)
      }
    })
  })

  it('is not probed while no service is available, because sessions try them all', () => {
    virtually((tools) => {
      const { health, probedAtMs, at } = healthOf(tools)
      const end = health.watch()
      health.lost(0, refused)
      health.lost(1, refused)
      at(2_000, () => health.served(1))
      at(2_150, end)
      return () => {
        expect(probedAtMs.length).toBeGreaterThan(0)
        expect(Math.min(...probedAtMs)).toBeGreaterThanOrEqual(2_000)
      }
    })
  })

  it('is good again with the first result, and its failures are forgotten', () => {
    virtually((tools) => {
      const { health, probedAtMs, at } = healthOf(tools)
      const end = health.watch()
      health.lost(0, refused)
      at(350, () => {
        health.served(0)
        expect(health.isAvailable(0)).toBe(true)
        health.lost(0, refused)
      })
      at(500, end)
      return () => expect(probedAtMs).toEqual([100, 300, 450])
    })
  })

  it('is not probed any more once a session is served', () => {
    virtually((tools) => {
      const { health, probedAtMs, at } = healthOf(tools)
      const end = health.watch()
      health.lost(0, refused)
      at(150, () => health.served(0))
      at(1_000, end)
      return () => expect(probedAtMs).toEqual([100])
    })
  })

  it('is bad for a minute if the service is slow, and twice as long each time, up to ten', () => {
    virtually((tools) => {
      const { health, at } = healthOf(tools)
      const minute = 60_000
      const badMinutes: number[] = []
      let fromMs = 0
      for (const minutes of [1, 2, 4, 8, 10, 10]) {
        at(fromMs, () => health.slow(0))
        at(fromMs + minutes * minute - 1, () => badMinutes.push(health.isAvailable(0) ? 0 : minutes))
        at(fromMs + minutes * minute, () => expect(health.isAvailable(0)).toBe(true))
        fromMs += minutes * minute
      }
      // After as long without being slow, it begins again.
      at(fromMs + 10 * minute, () => health.slow(0))
      at(fromMs + 11 * minute, () => badMinutes.push(health.isAvailable(0) ? 1 : 0))
      return () => expect(badMinutes).toEqual([1, 2, 4, 8, 10, 10, 1])
    })
  })
})
