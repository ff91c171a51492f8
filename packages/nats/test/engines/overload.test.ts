import { afterEach, describe, expect, it } from 'vitest'
import { isSpeechError } from '../../../../src/errors/speech-error.js'
import { seededRandom } from '../../../../src/testing/faults/traffic.js'
import { countingEngine } from './counting-engine.js'
import { VirtualFleet, type Lane } from './virtual-fleet.js'

const places = 10
/** Of the time of a channel: speech of 1 to 4 s, then silence of 1 to 5.1 s. */
const speechShare = 2.5 / (2.5 + 3.05)
/** Channels that use all places in the mean. */
const channelsAtCapacity = places / speechShare
const durationMs = 40_000

interface Outcome {
  readonly admitted: number
  /** How long each refused client was asked to wait, in milliseconds. */
  readonly waits: readonly (number | undefined)[]
  /** From the end of a segment to its result, in milliseconds. */
  readonly latenciesMs: readonly number[]
}

/** A client that asks until it is admitted, and then speaks until the end. */
class Caller {
  readonly latenciesMs: number[] = []
  readonly expected: string[] = []
  readonly #fleet: VirtualFleet
  readonly #random: () => number
  #nextMs: number
  #lane: Lane | undefined
  #speaksUntilMs = 0
  /** When the segments ended that have no result yet. */
  readonly #endedAtMs: number[] = []

  constructor(fleet: VirtualFleet, random: () => number, firstMs: number) {
    this.#fleet = fleet
    this.#random = random
    this.#nextMs = firstMs
  }

  get texts(): readonly string[] {
    return this.#lane?.texts ?? []
  }

  get isAdmitted(): boolean {
    return this.#lane !== undefined
  }

  /** Call every 20 ms. Returns the wait of a refusal. */
  async step(nowMs: number, isEnding: boolean): Promise<{ readonly waitMs: number | undefined } | undefined> {
    this.#takeResults(nowMs)
    if (this.#lane === undefined) return isEnding || nowMs < this.#nextMs ? undefined : this.#ask(nowMs)
    if (this.#speaksUntilMs > 0) this.#speak(nowMs, this.#lane)
    else if (nowMs >= this.#nextMs && !isEnding) {
      this.#lane.open()
      this.#speaksUntilMs = nowMs + 1_000 + this.#random() * 3_000
      this.#nextMs = nowMs
    }
    return undefined
  }

  async #ask(nowMs: number): Promise<{ readonly waitMs: number | undefined } | undefined> {
    const model = this.#fleet.models.find({ tenant: 'Default', name: 'calls' })
    if (model === undefined) throw new Error('no model')
    try {
      this.#fleet.models.admit?.(model)
    } catch (error) {
      if (!isSpeechError(error) || error.code !== 'overloaded') throw error
      this.#nextMs = nowMs + (error.retryAfterMs ?? 0)
      return { waitMs: error.retryAfterMs }
    }
    this.#lane = await this.#fleet.openLane()
    this.#nextMs = nowMs + this.#random() * 1_000
    return undefined
  }

  #speak(nowMs: number, lane: Lane): void {
    if (nowMs >= this.#nextMs) {
      lane.write()
      this.#nextMs += 100
    }
    if (nowMs < this.#speaksUntilMs) return
    this.expected.push(lane.end())
    this.#endedAtMs.push(nowMs)
    this.#speaksUntilMs = 0
    this.#nextMs = nowMs + 1_000 + this.#random() * 4_100
  }

  #takeResults(nowMs: number): void {
    const decided = this.texts.length - this.latenciesMs.length
    for (const endedMs of this.#endedAtMs.splice(0, decided)) this.latenciesMs.push(nowMs - endedMs)
  }
}

let current: VirtualFleet | undefined
afterEach(() => current?.close())

/** So many channels want to speak, one after another within 15 s; those that may do so until the end. */
const offer = async (channels: number): Promise<Outcome> => {
  await current?.close()
  const fleet = (current = new VirtualFleet())
  for (let at = 0; at < 2; at += 1) {
    // As fast as an engine whose places are as many as its cores can decode.
    fleet.startEngine({ capacity: places / 2, engine: countingEngine(fleet.clock, { realTimeFactor: 0.9 }) })
  }
  await fleet.pass(300)
  const random = seededRandom(14)
  const startMs = fleet.clock.now()
  const callers = Array.from(
    { length: channels },
    (_none, index) => new Caller(fleet, random, startMs + (index * 15_000) / channels),
  )
  const waits: (number | undefined)[] = []
  for (let atMs = 0; atMs < durationMs + 10_000; atMs += 20) {
    for (const caller of callers) {
      const refusal = await caller.step(fleet.clock.now(), atMs >= durationMs)
      if (refusal !== undefined) waits.push(refusal.waitMs)
    }
    await fleet.pass(20)
  }
  const admitted = callers.filter(({ isAdmitted }) => isAdmitted)
  for (const { texts, expected } of admitted) expect(texts).toEqual(expected)
  expect(fleet.faults).toEqual([])
  return { admitted: admitted.length, waits, latenciesMs: callers.flatMap(({ latenciesMs }) => latenciesMs) }
}

const p99 = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? NaN

// Many segments in virtual time, with the words of each.
describe('engine processes to which 1.5 times their capacity is offered', () => {
  it('keep every word and the latency of those that are admitted, and ask the others to wait', async () => {
    const full = await offer(Math.floor(channelsAtCapacity))
    const over = await offer(Math.floor(1.5 * channelsAtCapacity))
    expect(over.admitted).toBeGreaterThan(0.8 * full.admitted)
    // Those that speak at the same time find a place each, in the mean.
    expect(over.admitted * speechShare).toBeLessThan(places)
    expect(over.waits.length).toBeGreaterThan(0.5 * channelsAtCapacity)
    for (const waitMs of over.waits) expect([(waitMs ?? 0) >= 2_000, (waitMs ?? 0) <= 10_000]).toEqual([true, true])
    // The same in this sequence of random numbers. Without a refusal all segments wait longer and longer, beyond ten
    // seconds.
    expect(p99(over.latenciesMs)).toBeLessThan(1.5 * p99(full.latenciesMs))
  })
})
