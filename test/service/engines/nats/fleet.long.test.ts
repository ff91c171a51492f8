import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Service } from '../../../../src/service/start/running-service.js'
import { natsIsSkipped, natsTitle } from '../../nats/nats-server.js'
import { delay } from './delay.js'
import { callThrough, latenessMs, LiveFleet, wordsOf, type Heard } from './live-fleet.js'

let fleet: LiveFleet
let service: Service
let undisturbed: readonly Heard[]

const log = (what: string, heard: readonly Heard[]): void => {
  const late = latenessMs(heard, undisturbed)
  const max = Math.round(Math.max(...late))
  process.stderr.write(`${what}: ${heard.length} milestones, at most ${max} ms later, ${fleet.faults.length} faults\n`)
}

/**
 * An idle machine needs a fifth of a second for a loss; a busy one needs more, to notice it and to read the audio again. Virtual
 * time shows how soon a loss is noticed (fleet.test.ts).
 */
const maxLateMs = 10_000

describe.skipIf(natsIsSkipped)(natsTitle('a call of 33 s in real time, over engine processes'), () => {
  beforeAll(async () => {
    fleet = await LiveFleet.start()
    await Promise.all([1, 2, 3].map(() => fleet.startEngine()))
    service = await fleet.startService()
    undisturbed = await callThrough(service)
    expect(fleet.faults).toEqual([])
  })
  afterEach(() => fleet.faults.splice(0))
  afterAll(() => fleet.close())

  /** Kills the engine that has a segment, and starts another one in its place. */
  const killBusy = async (): Promise<void> => {
    await (await fleet.busy()).kill()
    await fleet.startEngine()
  }

  it.each(['grpc', 'websocket'] as const)(
    'loses no word when engines are killed three times within segments, over %s',
    async (over) => {
      const heard = await callThrough(service, { over }, async () => {
        for (const waitMs of [2_000, 3_000, 3_000]) {
          await delay(waitMs)
          await killBusy()
        }
      })
      log(`three kill -9 over ${over}`, heard)
      expect(wordsOf(heard)).toEqual(wordsOf(undisturbed))
      expect(fleet.faults.length).toBeGreaterThanOrEqual(3)
      for (const lateMs of latenessMs(heard, undisturbed)) expect(lateMs).toBeLessThan(maxLateMs)
    },
  )

  it('notices an engine that hangs, and loses no word', async () => {
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
    log('SIGSTOP', heard)
    expect(wordsOf(heard)).toEqual(wordsOf(undisturbed))
  })

  it('loses no word when the NATS server is killed and back after 0.3 s', async () => {
    const heard = await callThrough(service, {}, async () => {
      await delay(3_000)
      await fleet.busy()
      await fleet.nats.kill()
      await delay(300)
      await fleet.nats.restart()
    })
    log('nats-server killed', heard)
    expect(wordsOf(heard)).toEqual(wordsOf(undisturbed))
    expect(fleet.faults.length).toBeGreaterThan(0)
  })

  it('restarts all engines one after another without a fault', async () => {
    const before = [...fleet.running]
    const heard = await callThrough(service, {}, async () => {
      for (const engine of before) {
        await fleet.startEngine()
        expect(await engine.end()).toBe(0)
      }
    })
    log('rolling restart', heard)
    expect(wordsOf(heard)).toEqual(wordsOf(undisturbed))
    expect(fleet.faults).toEqual([])
  })

  it('loses no word when all engines are gone for 3 s', async () => {
    const heard = await callThrough(service, {}, async () => {
      await delay(3_000)
      await fleet.busy()
      const killedMs = performance.now()
      await Promise.all(fleet.running.map((engine) => engine.kill()))
      await delay(3_000 - (performance.now() - killedMs))
      await Promise.all([fleet.startEngine(), fleet.startEngine()])
    })
    log('all engines gone', heard)
    expect(wordsOf(heard)).toEqual(wordsOf(undisturbed))
  })
})
