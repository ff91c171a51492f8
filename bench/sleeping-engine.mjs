// One engine process of `npm run bench scale`: its engine has a fixed capacity and sleeps instead of working, so that several
// of them do not compete for the cores. Arguments: the URL of NATS, a folder of models, places, milliseconds per 100 ms of audio.
import service from '../dist/cjs/service.js'

const [url = '', folder = '', places = '16', hopMs = '20'] = process.argv.slice(2)
const samplesPerHop = 800

/** Each place takes `hopMs` for 100 ms of audio, by the clock and not by the sum of timers, which run late. */
class Place {
  #freeAtMs = 0

  work(samples, done) {
    const nowMs = performance.now()
    this.#freeAtMs = Math.max(this.#freeAtMs, nowMs) + (samples / samplesPerHop) * Number(hopMs)
    setTimeout(done, this.#freeAtMs - nowMs)
  }
}

const engine = service.createSegmentEngine({
  capabilities: { sampleRateHz: 8000, partials: false, words: true, kind: 'dictation', segmentsAtOnce: Number(places) },
  openChannel: () => (startMs, listener) => {
    const place = new Place()
    let count = 0
    let hash = 7
    let isOver = false
    return {
      write: (samples) => {
        count += samples.length
        for (let at = 0; at < samples.length; at += 100) hash = (hash * 31 + samples[at]) | 0
        place.work(samples.length, () => !isOver && listener.progress(samples.length))
      },
      close: (endMs) =>
        place.work(0, () => {
          if (!isOver) listener.decided([{ text: `${count} ${hash}`, startMs, endMs, confidence: 1 }])
        }),
      abort: () => (isOver = true),
    }
  },
})

const running = await service.startEngineProcess({
  nats: { servers: [url] },
  modelFolders: [folder],
  engines: [{ name: 'sleeping', open: () => Promise.resolve(engine) }],
})
console.log(JSON.stringify({ instance: running.instance }))
process.on('SIGTERM', () => void running.close({ drainMs: 1000 }).then(() => process.exit(0)))
