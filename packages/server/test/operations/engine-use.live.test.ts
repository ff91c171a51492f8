import { NEVER, Subject, type Subscription } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Engine, Hypothesis, ModelDescription, SegmentPart } from '../../../engines/src/engine.js'
import type { ModelRegistry } from '../../../engines/src/models/model-registry.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { EngineMeter } from '../../src/operations/engine-meter.js'
import { EngineUse } from '../../src/operations/engine-use.js'

/** A channel of an engine whose output is controlled by the test. */
const usedEngine = (change: Partial<Engine> = {}, now = () => 0) => {
  const use = new EngineUse(now)
  const output$ = new Subject<Hypothesis>()
  const received: SegmentPart[] = []
  const engine: Engine = {
    capabilities: { sampleRateHz: 8000, partials: true, words: true, kind: 'grammar', segmentsAtOnce: 1 },
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
    recognize: () => (part$) => {
      part$.subscribe({ next: (part) => received.push(part), complete: () => output$.complete() })
      return output$
    },
    ...change,
  }
  const watched = use.watch(engine)
  const open = () => {
    const part$ = new Subject<SegmentPart>()
    const hypotheses: Hypothesis[] = []
    const life: Subscription = part$.pipe(watched.recognize()).subscribe((hypothesis) => hypotheses.push(hypothesis))
    return { part$, hypotheses, life }
  }
  return { use, output$, received, watched, open }
}

const audio = (ms: number): SegmentPart => ({ type: 'audio', samples: new Int16Array(ms * 8) })
const decided: Hypothesis = { type: 'segment', startMs: 0, endMs: 100, text: '', words: [] }

describe('EngineUse', () => {
  it('passes everything through and counts channels, open segments and queued audio', () => {
    const { use, output$, received, open } = usedEngine()
    const { part$, hypotheses } = open()
    expect([use.channels, use.segments]).toEqual([1, 0])
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(300))
    expect([use.segments, use.queuedMs]).toEqual([1, 300])
    output$.next({ type: 'progress', sampleCount: 800 })
    expect(use.queuedMs).toBe(200)
    part$.next({ type: 'close', endMs: 300 })
    output$.next(decided)
    expect([use.segments, use.queuedMs]).toEqual([0, 0])
    part$.complete()
    expect(use.channels).toBe(0)
    expect(received.map(({ type }) => type)).toEqual(['open', 'audio', 'close'])
    expect(hypotheses).toEqual([{ type: 'progress', sampleCount: 800 }, decided])
  })

  it('counts each failed attempt once, also the last one, whose error ends the channel', () => {
    const { use, output$, watched } = usedEngine()
    const error = new SpeechError('engine-failed', 'Failed.')
    const read = (): Subscription => NEVER.pipe(watched.recognize()).subscribe({ error: () => undefined })
    read()
    for (const retried of [true, true, false]) output$.next({ type: 'fault', startMs: 0, error, retried })
    output$.error(error)
    expect(use.sinceLast().faults).toBe(3)
    // An engine process does not retry.
    read()
    expect(use.sinceLast().faults).toBe(1)
    expect(use.sinceLast().faults).toBe(0)
  })

  it('counts progress for the oldest segment, and no more than was sent', () => {
    const { use, output$, open } = usedEngine()
    const { part$ } = open()
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(100))
    part$.next({ type: 'close', endMs: 100 })
    part$.next({ type: 'open', startMs: 100 })
    part$.next(audio(50))
    output$.next({ type: 'progress', sampleCount: 4000 })
    expect(use.queuedMs).toBe(50)
    output$.next(decided)
    expect([use.segments, use.queuedMs]).toEqual([1, 50])
  })

  describe('is behind', () => {
    /** Channels whose engine reads nothing, with the audio that each has sent at once, and a sample every 100 ms. */
    const waiting = (sentMs: readonly number[], { limitMs = 1_000 } = {}) => {
      const clock = { ms: 0 }
      const { use, open, output$ } = usedEngine({}, () => clock.ms)
      const channels = sentMs.map((ms) => {
        const channel = open()
        channel.part$.next({ type: 'open', startMs: 0 })
        channel.part$.next(audio(ms))
        return channel
      })
      const passUntil = (ms: number): void => {
        while (clock.ms < ms) {
          clock.ms += 100
          use.sample(limitMs)
        }
      }
      return { use, clock, channels, output$, passUntil }
    }

    it('when half of the open segments wait longer than the limit, in two samples', () => {
      const { use, passUntil } = waiting([3_000, 3_000, 100, 100])
      passUntil(1_100)
      expect([use.lagMs, use.isBehind]).toEqual([1_000, false])
      passUntil(1_200)
      expect([use.lagMs, use.isBehind]).toEqual([1_100, true])
    })

    it('not after a pause of this thread, if its answers have come by the next sample', () => {
      const { use, clock, passUntil, output$ } = waiting([3_000, 3_000])
      passUntil(100)
      clock.ms = 2_000
      passUntil(2_100)
      output$.next({ type: 'progress', sampleCount: 2_000 * 8 })
      passUntil(2_200)
      expect([use.lagMs, use.isBehind]).toEqual([200, false])
    })

    it('until they have waited less than half of it for 5 s', () => {
      const { use, passUntil, output$ } = waiting([3_000, 3_000])
      passUntil(2_000)
      output$.next({ type: 'progress', sampleCount: 1_500 * 8 })
      passUntil(2_200)
      expect([use.lagMs, use.isBehind]).toEqual([1_900, true])
      output$.next({ type: 'progress', sampleCount: 1_500 * 8 })
      passUntil(6_900)
      expect([use.lagMs, use.isBehind]).toEqual([1_900, true])
      passUntil(7_000)
      expect([use.lagMs, use.isBehind]).toEqual([600, true])
      passUntil(7_200)
      expect([use.lagMs, use.isBehind]).toEqual([0, false])
    })

    it('not for less than half of the segments, nor for a single one, whose audio may be the cause, unless it is read', () => {
      const few = waiting([5_000, 5_000, 100, 100, 100])
      const one = waiting([9_000])
      const slow = waiting([9_000])
      for (let ms = 500; ms <= 5_000; ms += 500) {
        slow.output$.next({ type: 'progress', sampleCount: 8 })
        one.output$.next({ type: 'progress', sampleCount: 0 })
        for (const { passUntil } of [few, one, slow]) passUntil(ms)
      }
      expect([few, one, slow].map(({ use }) => use.isBehind)).toEqual([false, false, true])
    })

    it('not when the engine reads files faster than real time, however much of them waits', () => {
      const { use, passUntil, output$ } = waiting([60_000, 60_000])
      passUntil(900)
      // Progress belongs to each of both channels, which share the output here.
      output$.next({ type: 'progress', sampleCount: 3_000 * 8 })
      expect(use.queuedMs).toBe(114_000)
      passUntil(4_100)
      expect(use.isBehind).toBe(false)
      passUntil(4_200)
      expect(use.isBehind).toBe(true)
    })

    it('when results are late, although all audio was read', () => {
      const { use, passUntil, output$, channels } = waiting([300, 300])
      output$.next({ type: 'progress', sampleCount: 300 * 8 })
      for (const { part$ } of channels) part$.next({ type: 'close', endMs: 300 })
      // From where the speech ended in real time.
      passUntil(1_400)
      expect([use.lagMs, use.isBehind]).toEqual([1_000, false])
      passUntil(1_500)
      expect(use.isBehind).toBe(true)
    })

    it('never without a limit, nor when its segments are gone', () => {
      const without = waiting([3_000, 3_000], { limitMs: 0 })
      without.passUntil(3_000)
      expect([without.use.lagMs, without.use.isBehind]).toEqual([2_900, false])
      const { use, passUntil, channels } = waiting([3_000, 3_000])
      passUntil(3_000)
      expect(use.isBehind).toBe(true)
      for (const { life } of channels) life.unsubscribe()
      passUntil(8_100)
      expect([use.lagMs, use.isBehind]).toEqual([0, false])
    })
  })

  it('takes no further channel if its results would wait longer than the limit, by how much the others speak', () => {
    const waitMs = (speakers = 0) => 500 * speakers
    const { use, open } = usedEngine({ waitMs })
    const pass = (samples: number) => {
      for (let sample = 0; sample < samples; sample += 1) use.sample(1_000)
    }
    pass(1)
    const [first, second, third] = [open(), open(), open()]
    expect(use.isFull()).toBe(false)
    for (const { part$ } of [first, second, third]) part$.next({ type: 'open', startMs: 0 })
    pass(600)
    expect([use.isFull(), use.expectedWaitMs > 900]).toEqual([true, true])
    third.life.unsubscribe()
    expect(use.isFull()).toBe(false)
    open()
    for (const { part$ } of [first, second]) part$.next({ type: 'close', endMs: 0 })
    pass(600)
    expect(use.isFull()).toBe(false)
  })

  it('counts speech, of each channel that speaks, while the engine or the service thins partials', () => {
    const thinning = { ms: 0 }
    const { use, open } = usedEngine({ partialIntervalMs: () => thinning.ms })
    const sample = (isThinnedByService = false): void => {
      for (let at = 0; at < 10; at += 1) use.sample(1_000, isThinnedByService)
    }
    const [one, other] = [open(), open()]
    for (const { part$ } of [one, other]) part$.next({ type: 'open', startMs: 0 })
    sample()
    expect(use.sinceLast().thinnedMs).toBe(0)
    thinning.ms = 1_000
    sample()
    expect(use.sinceLast().thinnedMs).toBe(2_000)
    one.part$.next({ type: 'close', endMs: 100 })
    thinning.ms = 0
    sample(true)
    expect([use.sinceLast().thinnedMs, use.sinceLast().thinnedMs]).toEqual([1_000, 0])
  })

  it('asks the engine whether it thins partials, as long as a channel is open', () => {
    let partialIntervalMs = 1_000
    const { use, open } = usedEngine({ partialIntervalMs: () => partialIntervalMs })
    const { life } = open()
    expect(use.partialIntervalMs).toBe(1_000)
    partialIntervalMs = 0
    expect(use.partialIntervalMs).toBe(0)
    partialIntervalMs = 1_000
    life.unsubscribe()
    expect(use.partialIntervalMs).toBe(0)
  })

  it('releases what an unsubscribed channel held', () => {
    const { use, open } = usedEngine()
    const { part$, life } = open()
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(300))
    life.unsubscribe()
    expect([use.channels, use.segments, use.queuedMs]).toEqual([0, 0, 0])
  })

  it('sums up the decoded audio and the time that it took, each reported once', () => {
    const clock = { ms: 40 }
    const { use, output$, open } = usedEngine({ busyMs: () => clock.ms })
    const { part$ } = open()
    part$.next({ type: 'open', startMs: 0 })
    part$.next(audio(300))
    output$.next({ type: 'progress', sampleCount: 1600 })
    expect(use.sinceLast()).toEqual({ opened: 1, failed: 0, faults: 0, thinnedMs: 0, audioMs: 200, busyMs: 40 })
    clock.ms = 65
    output$.next(decided)
    expect(use.sinceLast()).toEqual({ opened: 0, failed: 0, faults: 0, thinnedMs: 0, audioMs: 100, busyMs: 25 })
    expect(use.sinceLast()).toEqual({ opened: 0, failed: 0, faults: 0, thinnedMs: 0, audioMs: 0, busyMs: 0 })
  })

  it('omits the time of an engine that does not report it, and counts failures', () => {
    const { use, watched } = usedEngine()
    use.failed()
    expect(use.sinceLast()).toEqual({ opened: 1, failed: 1, faults: 0, thinnedMs: 0, audioMs: 0 })
    expect(watched.busyMs?.()).toBeUndefined()
  })
})

describe('the work of several models', () => {
  it('has the interval of partials of each that thins them while a channel is open, and of no other', async () => {
    const intervalsMs: Readonly<Record<string, number>> = { busy: 2_000, free: 0, unused: 1_000 }
    const registry = {
      engine: ({ name }: ModelDescription) =>
        Promise.resolve<Partial<Engine>>({
          capabilities: { sampleRateHz: 8000, partials: true, words: true, kind: 'dictation', segmentsAtOnce: 1 },
          recognize: () => () => NEVER,
          partialIntervalMs: () => intervalsMs[name] ?? 0,
        }),
    }
    const meter = new EngineMeter({ changed: () => undefined, suspected: () => undefined }, () => 0)
    const watched = meter.watch(registry as unknown as ModelRegistry)
    for (const name of Object.keys(intervalsMs)) {
      const engine = await watched.engine({
        tenant: 'Default',
        name,
        version: '1',
        folder: '',
        options: { engine: '' },
      })
      if (name !== 'unused') NEVER.pipe(engine.recognize()).subscribe()
    }
    expect(meter.work.partialIntervalsMs).toEqual({ 'Default/busy/1': 2_000 })
  })
})
