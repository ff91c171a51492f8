// The first table of `npm run bench scale`: how much of the capacity of 1, 2 and 4 engine processes a service uses.
import rxjs from 'rxjs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fingerprint, samplesPerHop } from './sleeping-engine.mjs'
import { places } from './sleeping-fleet.mjs'

/** How long a place takes for 100 ms of audio. */
const hopMs = 20
/** Seconds of audio that one process decodes in a second. */
const nominal = (places * 100) / hopMs
const lanesPerEngine = 40
const segmentHops = 40
const windowSamples = 16_000
const hop = Int16Array.from({ length: samplesPerHop }, (_, at) => at)

/** A channel that always speaks, as fast as its engine reads. */
class Lane {
  decided = 0
  wrong = 0
  failed = 0
  readSamples = 0
  #part$ = new rxjs.Subject()
  #sent = 0
  #hops = 0
  #fingerprint = new Fingerprint()
  #expected = []
  #subscription

  constructor(engine) {
    this.#subscription = this.#part$.pipe(engine.recognize()).subscribe({
      next: (hypothesis) => this.#receive(hypothesis),
      error: () => (this.failed += 1),
    })
    setImmediate(() => this.#feed())
  }

  close() {
    this.#subscription.unsubscribe()
  }

  #receive(hypothesis) {
    if (hypothesis.type === 'progress') {
      this.readSamples += hypothesis.sampleCount
      this.#feed()
    } else if (hypothesis.type === 'segment') {
      this.decided += 1
      if (hypothesis.text !== this.#expected.shift()) this.wrong += 1
    } else if (hypothesis.type === 'fault') this.failed += 1
  }

  #feed() {
    while (this.#sent - this.readSamples < windowSamples) {
      if (this.#hops === 0) this.#part$.next({ type: 'open', startMs: this.#sent / 8 })
      this.#sent += hop.length
      this.#hops += 1
      this.#fingerprint.add(hop)
      this.#part$.next({ type: 'audio', samples: hop })
      if (this.#hops < segmentHops) continue
      this.#expected.push(this.#fingerprint.text)
      this.#hops = 0
      this.#fingerprint = new Fingerprint()
      this.#part$.next({ type: 'close', endMs: this.#sent / 8 })
    }
  }
}

const measure = async (fleet, count, seconds) => {
  await fleet.startEngines(count, hopMs)
  const { engine } = await fleet.openEdge()
  const lanes = Array.from({ length: count * lanesPerEngine }, () => new Lane(engine))
  await sleep(2000)
  const sum = (key) => lanes.reduce((total, lane) => total + lane[key], 0)
  const now = () => ({ at: performance.now(), samples: sum('readSamples'), ...fleet.cpu() })
  const before = now()
  await sleep(seconds * 1000)
  const after = now()
  const elapsedMs = after.at - before.at
  const audio = (after.samples - before.samples) / 8 / elapsedMs
  const hops = (after.samples - before.samples) / hop.length
  const perHop = (key) => Math.round(((after[key] - before[key]) * 1000) / hops)
  for (const lane of lanes) lane.close()
  await fleet.closeEdges()
  await fleet.endEngines()
  return {
    engines: count,
    'audio s/s': audio.toFixed(1),
    efficiency: (audio / (count * nominal)).toFixed(3),
    segments: sum('decided'),
    'wrong or failed': sum('wrong') + sum('failed'),
    'edge µs/hop': perHop('edge'),
    'nats µs/hop': perHop('nats'),
    'engines µs/hop': perHop('engines'),
    'machine busy': ((after.machine - before.machine) / elapsedMs).toFixed(2),
  }
}

export const benchSaturated = async (fleet, seconds) => {
  console.log(
    `\nSaturated: ${lanesPerEngine} channels for each engine process speak without a pause, as fast as they are read. A place takes ${hopMs} ms ` +
      `for 100 ms of audio, so the capacity of a process is ${nominal} s of audio a second. Goal: efficiency ≥ 0.95 with 4 processes. The µs of the edge include ` +
      'the channels of this program.',
  )
  const rows = []
  for (const count of [1, 2, 4]) rows.push(await measure(fleet, count, seconds))
  console.table(rows)
}
