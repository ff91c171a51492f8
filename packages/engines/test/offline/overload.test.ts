import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Engine, ModelDescription, SegmentPart } from '../../src/engine.js'
import type { ModelRegistry } from '../../src/models/model-registry.js'
import { createOfflineEngine } from '../../src/offline/offline-engine.js'
import type { ReadRequest, Reader, Reading } from '../../src/offline/reader.js'
import { EngineMeter } from '../../../server/src/operations/engine-meter.js'
import { seededRandom } from '../../../../src/testing/faults/traffic.js'
import { VirtualClock } from '../../../service/test/virtual-clock.js'
import { settled, spoken } from './fake-reader.js'

const chunkMs = 100
/** What is read around a segment, too. */
const context = new Int16Array(250)
/** How long speech lasts before the service knows that it is speech, and opens a segment with it. */
const beforeOpenMs = 400
const chunk = Int16Array.from({ length: chunkMs }, (_none, ms) => 8000 * (ms % 2 === 0 ? 1 : -1))
const model: ModelDescription = {
  tenant: 'Default',
  name: 'calls',
  version: '1',
  folder: '/',
  options: { engine: 'x' },
}

/** How long a reading takes: about as with Whisper tiny on a core. Partials have less padding. */
const readMs = (lengthMs: number, purpose: ReadRequest['purpose'] = 'final'): number =>
  (50 + 0.1 * lengthMs) * (purpose === 'final' ? 1 : 0.7)

/** A recognizer with a number of processes. */
class PacedReader implements Reader {
  partials = 0
  readonly readsAtOnce: number
  readonly #clock: VirtualClock

  constructor(readsAtOnce: number, clock: VirtualClock) {
    this.readsAtOnce = readsAtOnce
    this.#clock = clock
  }

  read({ samples, purpose }: ReadRequest): Promise<Reading> {
    if (purpose === 'partial') this.partials += 1
    const words = Array.from({ length: Math.ceil(samples.length / 300) }, (_none, index) => `w${index}`)
    return new Promise((resolve) => {
      this.#clock.schedule(() => resolve(spoken(words.join(' '))), readMs(samples.length, purpose))
    })
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

const shortestMs = 1_000

/** Speaks, shorter sentences more often, and pauses for 1 to 4 s: up to 12 s, about 60 % of the time is speech. */
class Caller {
  /** How long each result came after the end of its segment, beside its own reading. */
  readonly waitsMs: number[] = []
  readonly #clock: VirtualClock
  readonly #random: () => number
  readonly #longestMs: number
  readonly #part$ = new Subject<SegmentPart>()
  readonly #dueMs: number[] = []
  #segmentMs: number | undefined
  #untilMs: number

  constructor(engine: Engine, clock: VirtualClock, random: () => number, longestMs: number) {
    this.#clock = clock
    this.#random = random
    this.#longestMs = longestMs
    this.#untilMs = clock.now() + random() * 4_000
    this.#part$.pipe(engine.recognize()).subscribe((hypothesis) => {
      if (hypothesis.type === 'segment') this.waitsMs.push(clock.now() - (this.#dueMs.shift() ?? NaN))
    })
  }

  /** Call it for each chunk. */
  step(): void {
    const nowMs = this.#clock.now()
    if (this.#segmentMs !== undefined) {
      this.#segmentMs += chunkMs
      this.#part$.next({ type: 'audio', samples: chunk })
    }
    if (nowMs < this.#untilMs) return
    if (this.#segmentMs === undefined) {
      this.#segmentMs = beforeOpenMs
      this.#untilMs = nowMs - beforeOpenMs + shortestMs + this.#random() ** 3 * (this.#longestMs - shortestMs)
      this.#part$.next({ type: 'open', startMs: nowMs - beforeOpenMs, before: context })
      for (let ms = 0; ms < beforeOpenMs; ms += chunkMs) this.#part$.next({ type: 'audio', samples: chunk })
    } else {
      this.#dueMs.push(nowMs + readMs(this.#segmentMs + 2 * context.length))
      this.#segmentMs = undefined
      this.#untilMs = nowMs + 1_000 + this.#random() * 3_000
      this.#part$.next({ type: 'close', endMs: nowMs, after: context })
    }
  }
}

const beginMs = 60_000
const durationMs = 200_000

/**
 * So many callers ask for a session within a minute, and those that are refused again; the others speak until the end.
 */
const offer = async (count: number, readsAtOnce: number, { maxEngineDelayMs = 1_000, longestMs = 12_000 } = {}) => {
  const clock = new VirtualClock()
  const reader = new PacedReader(readsAtOnce, clock)
  const engine = createOfflineEngine({ reader, sampleRateHz: 1000, words: true, maxReadMs: 20_500, scheduler: clock })
  const meter = new EngineMeter({ changed: () => undefined, suspected: () => undefined }, () => clock.now())
  const registry: Pick<ModelRegistry, 'engine'> = { engine: () => Promise.resolve(engine) }
  const measured = await meter.watch(registry as ModelRegistry).engine(model)
  const random = seededRandom(5)
  const asksAtMs = Array.from({ length: count }, (_none, index) => (index * beginMs) / count)
  const callers: Caller[] = []
  let refusals = 0
  for (let nowMs = 0; nowMs < durationMs; nowMs += chunkMs) {
    clock.advanceTo(nowMs)
    await settled()
    meter.sample(maxEngineDelayMs)
    for (const [index, askMs] of asksAtMs.entries()) {
      if (askMs > nowMs) continue
      const isRefused = meter.refuses(model)
      asksAtMs[index] = isRefused ? nowMs + 5_000 * (1 + random()) : Infinity
      if (isRefused) refusals += 1
      else callers.push(new Caller(measured, clock, random, longestMs))
    }
    for (const caller of callers) caller.step()
  }
  const waitsMs = callers.flatMap((caller) => caller.waitsMs).toSorted((a, b) => a - b)
  return {
    admitted: callers.length,
    refusals,
    lateMs: waitsMs[Math.floor(0.95 * waitsMs.length)] ?? NaN,
    partialsPerMinute: reader.partials / callers.length / (durationMs / 60_000),
  }
}

// Minutes of speech in virtual time.
describe('an offline engine to which more calls are offered than partials allow', () => {
  it('has its results within a second and their own reading, and rarer partials', async () => {
    const few = await offer(2, 1)
    const more = await offer(3, 1)
    expect([few.admitted, more.admitted]).toEqual([2, 3])
    expect(few.partialsPerMinute).toBeGreaterThan(18)
    expect(more.partialsPerMinute).toBeLessThan(12)
    for (const { lateMs } of [few, more]) expect(lateMs).toBeLessThan(1_000)
  })

  it('gets no session that would make results late, however many ask, and next to no partials', async () => {
    const { admitted, refusals, lateMs, partialsPerMinute } = await offer(32, 2)
    expect([admitted > 12, admitted < 20, refusals > 200]).toEqual([true, true, true])
    expect([lateMs < 1_000, partialsPerMinute < 5]).toEqual([true, true])
  })

  it('gets no more sessions if sentences are short, and much around them is read', async () => {
    const { admitted, refusals, lateMs } = await offer(48, 2, { longestMs: 2_000 })
    expect([admitted > 15, admitted < 24, refusals > 200]).toEqual([true, true, true])
    expect(lateMs).toBeLessThan(1_000)
  })

  it('gets every session without a limit, as in development, and is late', async () => {
    const { refusals, lateMs } = await offer(16, 1, { maxEngineDelayMs: 0 })
    expect([refusals, lateMs > 10_000]).toEqual([0, true])
  })
})
