import { VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { IdleMonitor } from '../../../src/service/recognition/idle-monitor.js'

/** Virtual time in a process that stands still for a while: timers that are due then fire late. */
class StallingScheduler extends VirtualTimeScheduler {
  stallMs = 0
  override now = (): number => this.frame + this.stallMs
}

const watchOf = (scheduler: StallingScheduler): IdleMonitor =>
  new IdleMonitor({ closeAfterSilentWallMs: 1000, finalizeAfterMs: 30_000 }, scheduler)

/** When the first verdict that is not `nothing` comes, and which it is. */
const firstVerdictOf = (watch: IdleMonitor, scheduler: StallingScheduler): readonly [number, string] => {
  let verdict: readonly [number, string] = [0, 'nothing']
  const ticking = watch.ticks$.subscribe(() => {
    verdict = [scheduler.now(), watch.due]
    if (verdict[1] !== 'nothing') ticking.unsubscribe()
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
  const ticking = watch.ticks$.subscribe(() => {
    seen.push(watch.due)
    if (seen.length === 2) ticking.unsubscribe()
  })
  scheduler.stallMs = stallMs
  scheduler.flush()
  return seen
}

describe('IdleMonitor', () => {
  it('finds a silence of 1 s due when it has lasted', () => {
    expect(verdicts(0)[0]).toBe('close')
  })

  it('counts the silence from where the audio would have been heard to its end', () => {
    expect(firstVerdict(20)).toEqual([1020, 'close'])
    expect(firstVerdict(3000)).toEqual([4000, 'close'])
    expect(firstVerdict(60_000)).toEqual([6000, 'close'])
  })

  it('finds the end due 30 s after the last audio', () => {
    const scheduler = new StallingScheduler()
    const watch = new IdleMonitor({ closeAfterSilentWallMs: 0, finalizeAfterMs: 30_000 }, scheduler)
    watch.receive(60_000)
    expect(firstVerdictOf(watch, scheduler)).toEqual([30_000, 'finalize'])
  })

  it('finds nothing due when its timer comes late, until it had time to read what came', () => {
    expect(verdicts(900)).toEqual(['nothing', 'close'])
  })

  it('does not take for silence that audio is held back, by either rule', () => {
    expect(whenHeldUntil(0)).toEqual([1020, 'close'])
    const [atMs, due] = whenHeldUntil(50_000)
    expect(due).toBe('close')
    expect(atMs).toBeGreaterThanOrEqual(50_000)
    expect(atMs).toBeLessThanOrEqual(52_000)
  })
})
