import { beforeAll, describe, expect, it } from 'vitest'
import type { Service } from '../../../service/src/start/running-service.js'
import { natsIsSkipped, natsTitle } from '../connection/nats-server.js'
import { delay } from './delay.js'
import { callThrough, latenessMs, LiveFleet, wordsOf, type Heard } from './live-fleet.js'

/** A fleet of its own, with three engine processes and a service. */
const withFleet = async (run: (fleet: LiveFleet, service: Service) => Promise<void>): Promise<void> => {
  const fleet = await LiveFleet.start()
  try {
    await Promise.all([1, 2, 3].map(() => fleet.startEngine()))
    await run(fleet, await fleet.startService())
  } finally {
    await fleet.close()
  }
}

/** Kills the engine that has a segment, and starts another one in its place. */
const killBusy = async (fleet: LiveFleet): Promise<void> => {
  await (await fleet.busy()).kill()
  await fleet.startEngine()
}

/**
 * An idle machine needs a fifth of a second for a loss; a busy one needs more, to notice it and to read the audio
 * again. Virtual time shows how soon a loss is noticed (fleet-losses.test.ts).
 */
const maxLateMs = 10_000

// In real time, so most of it is waiting: several fleets at a time.
describe.skipIf(natsIsSkipped).concurrent(natsTitle('a call of 33 s in real time, over engine processes'), () => {
  let undisturbed: Promise<readonly Heard[]>
  beforeAll(() => {
    undisturbed = new Promise((resolve, reject) => {
      withFleet(async (fleet, service) => {
        const heard = await callThrough(service)
        expect(fleet.faults).toEqual([])
        resolve(heard)
      }).catch(reject)
    })
  })

  const log = async (what: string, heard: readonly Heard[], { faults }: LiveFleet): Promise<void> => {
    const max = Math.round(Math.max(...latenessMs(heard, await undisturbed)))
    process.stderr.write(`${what}: ${heard.length} milestones, at most ${max} ms later, ${faults.length} faults\n`)
  }

  it.for(['grpc', 'websocket'] as const)(
    'loses no word when engines are killed three times within segments, over %s',
    (over, { expect }) =>
      withFleet(async (fleet, service) => {
        const heard = await callThrough(service, { over }, async () => {
          for (const waitMs of [2_000, 3_000, 3_000]) {
            await delay(waitMs)
            await killBusy(fleet)
          }
        })
        await log(`three kill -9 over ${over}`, heard, fleet)
        expect(wordsOf(heard)).toEqual(wordsOf(await undisturbed))
        expect(fleet.faults.length).toBeGreaterThanOrEqual(3)
        for (const lateMs of latenessMs(heard, await undisturbed)) expect(lateMs).toBeLessThan(maxLateMs)
      }),
  )

  it('notices an engine that hangs, and loses no word', ({ expect }) =>
    withFleet(async (fleet, service) => {
      const heard = await callThrough(service, {}, async () => {
        await delay(3_000)
        const hung = await fleet.busy()
        const before = fleet.faults.length
        hung.child.kill('SIGSTOP')
        const stoppedMs = performance.now()
        await expect.poll(() => fleet.faults.length, { interval: 10 }).toBeGreaterThan(before)
        const noticedMs = performance.now() - stoppedMs
        process.stderr.write(`SIGSTOP: noticed after ${Math.round(noticedMs)} ms\n`)
        hung.child.kill('SIGCONT')
      })
      await log('SIGSTOP', heard, fleet)
      expect(wordsOf(heard)).toEqual(wordsOf(await undisturbed))
    }))

  it('loses no word when the NATS server is killed and back after 0.3 s', ({ expect }) =>
    withFleet(async (fleet, service) => {
      const heard = await callThrough(service, {}, async () => {
        await delay(3_000)
        await fleet.busy()
        await fleet.nats.kill()
        await delay(300)
        await fleet.nats.restart()
      })
      await log('nats-server killed', heard, fleet)
      expect(wordsOf(heard)).toEqual(wordsOf(await undisturbed))
      expect(fleet.faults.length).toBeGreaterThan(0)
    }))

  it('restarts all engines one after another without a fault', ({ expect }) =>
    withFleet(async (fleet, service) => {
      const before = [...fleet.running]
      const heard = await callThrough(service, {}, async () => {
        for (const engine of before) {
          await fleet.startEngine()
          expect(await engine.end()).toBe(0)
        }
      })
      await log('rolling restart', heard, fleet)
      expect(wordsOf(heard)).toEqual(wordsOf(await undisturbed))
      expect(fleet.faults).toEqual([])
    }))

  it('loses no word when all engines are gone for 3 s', ({ expect }) =>
    withFleet(async (fleet, service) => {
      const heard = await callThrough(service, {}, async () => {
        await delay(3_000)
        await fleet.busy()
        const killedMs = performance.now()
        await Promise.all(fleet.running.map((engine) => engine.kill()))
        await delay(3_000 - (performance.now() - killedMs))
        await Promise.all([fleet.startEngine(), fleet.startEngine()])
      })
      await log('all engines gone', heard, fleet)
      expect(wordsOf(heard)).toEqual(wordsOf(await undisturbed))
    }))
})
