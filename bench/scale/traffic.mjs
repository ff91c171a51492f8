// The second table of `npm run bench scale`: live traffic, how long after its end a segment is decided.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import rxjs from 'rxjs'
import { createSleepingEngine, Fingerprint, samplesPerHop } from './sleeping-engine.mjs'
import { places } from './sleeping-fleet.mjs'

const engineCount = 4
const edgeCounts = [1, 2]
/**
 * How long a place takes for 100 ms of audio: a little less than real time, as when all cores of a machine are busy.
 */
const hopMs = 80
/** Speech of 0.5 to 5.5 s, then silence of 0.5 to 6.8 s: 45 % of the time is speech, as on a channel of a call. */
const speechMs = [500, 5_500]
const silenceMs = [500, 6_800]
const speechShare = 3_000 / (3_000 + 3_650)
const warmUpMs = 8_000
const hop = Int16Array.from({ length: samplesPerHop }, (_, at) => at * 7)

/** A small generator with a seed (mulberry32), so that every run has the same traffic. */
const randomOf = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}

/** What one channel gets from one engine. */
class Listener {
  latenciesMs = []
  wrong = 0
  failed = 0
  part$ = new rxjs.Subject()
  #pending = []
  #subscription

  constructor(engine) {
    this.#subscription = this.part$.pipe(engine.recognize()).subscribe({
      next: (hypothesis) => {
        if (hypothesis.type === 'fault') this.failed += 1
        if (hypothesis.type !== 'segment') return
        const { text, endedMs, counts } = this.#pending.shift()
        if (counts) this.latenciesMs.push(performance.now() - endedMs)
        if (hypothesis.text !== text) this.wrong += 1
      },
      error: () => (this.failed += 1),
    })
  }

  ended(segment) {
    this.#pending.push(segment)
  }

  /** Segments without a result. */
  get missing() {
    return this.#pending.length
  }

  close() {
    this.#subscription.unsubscribe()
  }
}

/** A channel in real time, whose segments go to several engines at the same time. */
class Speaker {
  #random
  #listeners
  #fingerprint
  #hopsLeft = 0
  #silentHops

  constructor(random, listeners) {
    this.#random = random
    this.#listeners = listeners
    this.#silentHops = this.#hops(silenceMs) * random()
  }

  /** Call every 100 ms. `endsOnly` begins no more segments. */
  step(atMs, { counts, endsOnly }) {
    if (this.#hopsLeft > 0) {
      this.#speak(atMs, counts)
      return
    }
    this.#silentHops -= 1
    if (this.#silentHops > 0 || endsOnly) return
    this.#hopsLeft = this.#hops(speechMs)
    this.#fingerprint = new Fingerprint()
    for (const { part$ } of this.#listeners) part$.next({ type: 'open', startMs: atMs })
  }

  #speak(atMs, counts) {
    this.#fingerprint.add(hop)
    this.#hopsLeft -= 1
    for (const { part$ } of this.#listeners) part$.next({ type: 'audio', samples: hop })
    if (this.#hopsLeft > 0) return
    this.#silentHops = this.#hops(silenceMs)
    const segment = { text: this.#fingerprint.text, endedMs: performance.now(), counts }
    for (const listener of this.#listeners) {
      listener.ended(segment)
      listener.part$.next({ type: 'close', endMs: atMs + 100 })
    }
  }

  #hops([minMs, maxMs]) {
    return Math.round((minMs + this.#random() * (maxMs - minMs)) / 100)
  }
}

const percentile = (values, part) =>
  Math.round(values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? NaN)

const measure = async (fleet, engines, load, seconds) => {
  const pool = createSleepingEngine({ places: engineCount * places, hopMs })
  const count = Math.round((load * engineCount * places) / speechShare)
  const random = randomOf(1_000 * load)
  const inFleet = []
  const inPool = []
  const speakers = Array.from({ length: count }, (_, index) => {
    const listeners = [new Listener(engines[index % engines.length]), new Listener(pool)]
    inFleet.push(listeners[0])
    inPool.push(listeners[1])
    return new Speaker(random, listeners)
  })
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const before = fleet.cpu()
  const startMs = performance.now()
  const untilMs = warmUpMs + seconds * 1000
  let tick = 0
  await new Promise((resolve) => {
    const timer = setInterval(() => {
      const nowMs = performance.now() - startMs
      // Ten groups of channels, 10 ms apart.
      for (; tick * 10 <= nowMs; tick += 1) {
        const atMs = tick * 10
        const how = { counts: atMs > warmUpMs && atMs < untilMs, endsOnly: atMs >= untilMs }
        for (let at = tick % 10; at < count; at += 10) speakers[at].step(Math.floor(atMs / 100) * 100, how)
      }
      const isOver = nowMs > untilMs + 6_000 && inFleet.every(({ missing }) => missing === 0)
      if (!isOver && nowMs < untilMs + 20_000) return
      clearInterval(timer)
      resolve()
    }, 2)
  })
  const busy = (fleet.cpu().machine - before.machine) / (performance.now() - startMs)
  delay.disable()
  for (const listener of [...inFleet, ...inPool]) listener.close()
  const latencies = (listeners) => listeners.flatMap(({ latenciesMs }) => latenciesMs)
  const sum = (key) => inFleet.reduce((total, listener) => total + listener[key], 0)
  const [real, ideal] = [latencies(inFleet), latencies(inPool)]
  const shown = (values) => [0.5, 0.9, 0.99].map((part) => percentile(values, part)).join(' / ')
  return {
    load,
    channels: count,
    segments: real.length,
    'one pool p50/p90/p99 ms': shown(ideal),
    'engine processes p50/p90/p99 ms': shown(real),
    'p99 ratio': (percentile(real, 0.99) / percentile(ideal, 0.99)).toFixed(2),
    'wrong, failed, missing': `${sum('wrong')}, ${sum('failed')}, ${sum('missing')}`,
    'own delay p99 ms': Math.round(delay.percentile(99) / 1e6 - 1),
    'machine busy': busy.toFixed(2),
  }
}

export const benchTraffic = async (fleet, seconds) => {
  console.log(
    `\nLive traffic: channels speak 45 % of the time, in real time, through one or two services to ${engineCount} engine ` +
      `processes (${engineCount * places} places), and the same segments at the same time to one pool with as many places in ` +
      'this process: no network, and one line for all. A load of 1 fills all places in the mean. From the end of ' +
      'a segment to its result. Goal: p99 at 0.8 ≤ 1.5 times that of the pool.',
  )
  const rows = []
  for (const edgeCount of edgeCounts) {
    await fleet.startEngines(engineCount, hopMs)
    const edges = []
    for (let number = 0; number < edgeCount; number += 1) edges.push(await fleet.openEdge())
    const full = () => edges.reduce((sum, { counts }) => sum + counts().full, 0)
    const engines = edges.map(({ engine }) => engine)
    for (const load of [0.6, 0.8, 0.9]) {
      const before = full()
      const row = await measure(fleet, engines, load, seconds)
      rows.push({ services: edgeCount, ...row, 'told full': full() - before })
    }
    await fleet.closeEdges()
    await fleet.endEngines()
  }
  console.table(rows)
}
