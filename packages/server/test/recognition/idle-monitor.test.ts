import { VirtualTimeScheduler, type SchedulerLike } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { IdleMonitor } from '../../src/recognition/idle-monitor.js'

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

  describe('that can ask the client', () => {
    /** When it asked first, when it closed, and when it finalized, with the answers of the client or from when it gives them. */
    const times = (answers: number | ((nowMs: number) => boolean), audioAtMs?: number) => {
      const scheduler = new StallingScheduler()
      let askedAtMs = Infinity
      const isAnswering = (): boolean => {
        askedAtMs = Math.min(askedAtMs, scheduler.now())
        return typeof answers === 'number' ? scheduler.now() >= answers : answers(scheduler.now())
      }
      const rules = { closeAfterSilentWallMs: 1000, finalizeAfterMs: 30_000, isAnswering }
      const watch = new IdleMonitor(rules, scheduler)
      watch.receive(20)
      if (audioAtMs !== undefined) scheduler.schedule(() => watch.receive(20), audioAtMs)
      const closedAtMs: number[] = []
      let checks = 0
      watch.start(() => {
        checks += 1
        const { due } = watch
        if (due === 'close') closedAtMs.push(scheduler.now())
        if (due === 'finalize' || checks > 200) watch.stop()
      })
      scheduler.flush()
      return { askedAtMs, closedAtMs, endedAtMs: scheduler.now(), checks }
    }

    it('closes on time for a client that answers within half of it', () => {
      expect(times(900)).toMatchObject({ askedAtMs: 520, closedAtMs: [1020], endedAtMs: 30_000 })
    })

    it('counts the silence again from a late answer, which audio may follow', () => {
      expect(times(3_000)).toMatchObject({ askedAtMs: 520, closedAtMs: [4_020], endedAtMs: 30_000 })
      expect(times(3_000, 3_900)).toMatchObject({ askedAtMs: 520, closedAtMs: [4_920], endedAtMs: 33_900 })
    })

    it('counts it again only once, also for a client whose other messages each need a new answer', () => {
      let askedMs = -Infinity
      const chatty = (nowMs: number): boolean => {
        const isAsked = askedMs >= nowMs - (nowMs % 240)
        if (!isAsked) askedMs = nowMs
        return isAsked
      }
      expect(times(chatty)).toMatchObject({ askedAtMs: 520, closedAtMs: [2_620], endedAtMs: 30_000 })
    })

    it('closes 10 s later without an answer, and does not finalize later', () => {
      const { checks, ...rest } = times(Infinity)
      expect(rest).toEqual({ askedAtMs: 520, closedAtMs: [11_020], endedAtMs: 30_000 })
      expect(checks).toBeLessThan(70)
    })

    it('keeps what is open for a client that does not answer until its audio arrives', () => {
      expect(times(6_500, 6_000)).toMatchObject({ askedAtMs: 520, closedAtMs: [7_020], endedAtMs: 36_000 })
    })
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
