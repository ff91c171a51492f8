import { VirtualTimeScheduler, type SchedulerLike } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { IdleMonitor } from '../../../src/service/recognition/idle-monitor.js'

/** Virtual time in a process that is blocked for a while: timers that are due then fire late. */
class StallingScheduler extends VirtualTimeScheduler {
  stallMs = 0
  override now = (): number => this.frame + this.stallMs
}

const watchOf = (scheduler: StallingScheduler): IdleMonitor =>
  new IdleMonitor({ closeAfterSilentWallMs: 1000, finalizeAfterMs: 30_000 }, scheduler)

/** The time of the first verdict other than `nothing`, and that verdict. */
const firstVerdictOf = (watch: IdleMonitor, scheduler: StallingScheduler): readonly [number, string] => {
  let verdict: readonly [number, string] = [0, 'nothing']
  watch.start(() => {
    verdict = [scheduler.now(), watch.due]
    if (verdict[1] !== 'nothing') watch.stop()
  })
  scheduler.flush()
  return verdict
}

const firstVerdict = (audioMs: number): readonly [number, string] => {
  const scheduler = new StallingScheduler()
  const watch = watchOf(scheduler)
  watch.receive(audioMs)
  return firstVerdictOf(watch, scheduler)
}

const whenHeldUntil = (releaseMs: number): readonly [number, string] => {
  const scheduler = new StallingScheduler()
  const isPaused = (): boolean => scheduler.now() < releaseMs
  const watch = new IdleMonitor({ closeAfterSilentWallMs: 1000, finalizeAfterMs: 30_000, isPaused }, scheduler)
  watch.receive(20)
  return firstVerdictOf(watch, scheduler)
}

const verdicts = (stallMs: number): readonly string[] => {
  const scheduler = new StallingScheduler()
  const watch = watchOf(scheduler)
  const seen: string[] = []
  watch.start(() => {
    seen.push(watch.due)
    if (seen.length === 2) watch.stop()
  })
  scheduler.stallMs = stallMs
  scheduler.flush()
  return seen
}

/** A drain, and the results of its checks after these times. */
const quietChecks = (isPaused?: () => boolean) => {
  let nowMs = 0
  const scheduler = { now: () => nowMs } as SchedulerLike
  const watch = new IdleMonitor({ closeAfterSilentWallMs: 0, finalizeAfterMs: 0, isPaused }, scheduler)
  watch.beginQuietChecks()
  const checks = (...afterMs: readonly number[]): readonly boolean[] =>
    afterMs.map((ms) => {
      nowMs += ms
      return watch.isQuiet()
    })
  return { watch, checks }
}

describe('IdleMonitor', () => {
  it('closes after a silence of 1 s', () => {
    expect(verdicts(0)[0]).toBe('close')
  })

  it('counts the silence from the end of the audio in real time', () => {
    expect(firstVerdict(20)).toEqual([1020, 'close'])
    expect(firstVerdict(3000)).toEqual([4000, 'close'])
    expect(firstVerdict(60_000)).toEqual([6000, 'close'])
  })

  it('finalizes 30 s after the last audio', () => {
    const scheduler = new StallingScheduler()
    const watch = new IdleMonitor({ closeAfterSilentWallMs: 0, finalizeAfterMs: 30_000 }, scheduler)
    watch.receive(60_000)
    expect(firstVerdictOf(watch, scheduler)).toEqual([30_000, 'finalize'])
  })

  it('does nothing after a late timer until waiting audio could be read', () => {
    expect(verdicts(900)).toEqual(['nothing', 'close'])
  })

  it('does not count paused audio as silence, by either rule', () => {
    expect(whenHeldUntil(0)).toEqual([1020, 'close'])
    const [atMs, due] = whenHeldUntil(50_000)
    expect(due).toBe('close')
    expect(atMs).toBeGreaterThanOrEqual(50_000)
    expect(atMs).toBeLessThanOrEqual(52_000)
  })

  it('is quiet after two checks on time without new audio', () => {
    const { watch, checks } = quietChecks()
    expect(checks(500, 500)).toEqual([false, true])
    watch.receive(20)
    expect(checks(500, 500, 500)).toEqual([false, false, true])
  })

  it('is not quiet when the process was blocked, until waiting audio could be read', () => {
    const { checks } = quietChecks()
    expect(checks(1_500, 500, 500)).toEqual([false, false, true])
  })

  it('is not quiet while audio is held back', () => {
    const { checks } = quietChecks(() => true)
    expect(checks(500, 500, 500)).toEqual([false, false, false])
  })
})
