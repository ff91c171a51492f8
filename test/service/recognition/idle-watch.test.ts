import { VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { IdleWatch } from '../../../src/service/recognition/idle-watch.js'

/** Virtual time in a process that stands still for a while: timers that are due then fire late. */
class StallingScheduler extends VirtualTimeScheduler {
  stallMs = 0
  override now = (): number => this.frame + this.stallMs
}

const verdicts = (stallMs: number): readonly string[] => {
  const scheduler = new StallingScheduler()
  const watch = new IdleWatch({ closeAfterSilentWallMs: 1000, finalizeAfterMs: 0 }, scheduler)
  const seen: string[] = []
  const ticking = watch.ticks$.subscribe(() => {
    seen.push(watch.due)
    if (seen.length === 2) ticking.unsubscribe()
  })
  scheduler.stallMs = stallMs
  scheduler.flush()
  return seen
}

describe('IdleWatch', () => {
  it('finds a silence of 1 s due when it has lasted', () => {
    expect(verdicts(0)[0]).toBe('close')
  })

  it('finds nothing due when its timer comes late, until it had time to read what came', () => {
    expect(verdicts(900)).toEqual(['nothing', 'close'])
  })
})
