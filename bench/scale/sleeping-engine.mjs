// An engine of fixed capacity that sleeps instead of working, for `npm run bench scale`: several of them do not compete
// for cores.
import service from '../../packages/service/dist/index.js'

export const samplesPerHop = 800

/** What the engine must recognize: a lost, doubled or misplaced sample changes it. */
export class Fingerprint {
  #count = 0
  #hash = 7

  add(samples) {
    this.#count += samples.length
    for (let at = 0; at < samples.length; at += 100) this.#hash = (this.#hash * 31 + samples[at]) | 0
  }

  get text() {
    return `${this.#count} ${this.#hash}`
  }
}

/** Each place takes `hopMs` for 100 ms of audio, by the clock and not by the sum of timers, which run late. */
class Place {
  #freeAtMs = 0

  work(samples, hopMs, done) {
    const nowMs = performance.now()
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs) + (samples / samplesPerHop) * hopMs
    setTimeout(done, this.#freeAtMs - nowMs)
  }
}

/** Segments beyond the places wait in one line. */
export const createSleepingEngine = ({ places, hopMs }) => {
  const free = Array.from({ length: places }, () => new Place())
  const line = new Set()
  const release = (place) => {
    const [next] = line
    if (next === undefined) free.push(place)
    else {
      line.delete(next)
      next(place)
    }
  }

  const openSegment = (startMs, listener) => {
    const fingerprint = new Fingerprint()
    const waiting = []
    let place
    let isOver = false
    const work = (samples, done) => {
      if (place === undefined) waiting.push([samples, done])
      else place.work(samples, hopMs, () => !isOver && done())
    }
    const start = (given) => {
      place = given
      for (const [samples, done] of waiting.splice(0)) work(samples, done)
    }
    const end = () => {
      isOver = true
      line.delete(start)
      if (place !== undefined) release(place)
    }
    const first = free.pop()
    if (first === undefined) line.add(start)
    else start(first)
    return {
      write: (samples) => {
        fingerprint.add(samples)
        work(samples.length, () => listener.progress(samples.length))
      },
      close: (endMs) =>
        work(0, () => {
          end()
          listener.decided([{ text: fingerprint.text, startMs, endMs, confidence: 1 }])
        }),
      abort: () => {
        if (!isOver) end()
      },
    }
  }

  return service.createSegmentEngine({
    capabilities: { sampleRateHz: 8000, partials: false, words: true, kind: 'dictation', segmentsAtOnce: places },
    openChannel: () => openSegment,
  })
}
