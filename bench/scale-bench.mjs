// npm run bench scale: how much of the capacity of 1, 2 and 4 engine processes a service uses over NATS, and what a message
// costs. The engines sleep: their capacity is arithmetic, so this shows what the protocol loses, not that cores add up; for
// that, run engine processes on several machines. Everything is on one machine, over loopback.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import rxjs from 'rxjs'
import fleets from '../dist/cjs/service/engines/nats/fleet.js'
import fleetModels from '../dist/cjs/service/engines/nats/fleet-models.js'
import registries from '../dist/cjs/service/engines/models/model-registry.js'
import buses from '../dist/cjs/service/nats/bus.js'
import connections from '../dist/cjs/service/nats/connection.js'

const places = 16
const hopMs = 20
/** Seconds of audio that one process decodes in a second. */
const nominal = (places * 100) / hopMs
const lanesPerEngine = 40
const segmentHops = 40
const hop = Int16Array.from({ length: 800 }, (_, at) => at)
const windowSamples = 16_000

/** CPU time of a process so far, in milliseconds. */
const cpuMsOf = (pid) => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const [user = '0', system = '0'] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
  return (Number(user) + Number(system)) * 10
}

const busyMsOfMachine = () => {
  const [, ...times] = readFileSync('/proc/stat', 'utf8').split('\n')[0].split(/\s+/)
  const [user, nice, system, , , irq, softirq] = times.map(Number)
  return (user + nice + system + irq + softirq) * 10
}

const freePort = async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}

const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** A channel that always speaks, as fast as its engine reads. */
class Lane {
  decided = 0
  wrong = 0
  failed = 0
  readSamples = 0
  #part$ = new rxjs.Subject()
  #sent = 0
  #hops = 0
  #count = 0
  #hash = 7
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
      this.#count += hop.length
      for (let at = 0; at < hop.length; at += 100) this.#hash = (this.#hash * 31 + hop[at]) | 0
      this.#part$.next({ type: 'audio', samples: hop })
      if (this.#hops < segmentHops) continue
      this.#expected.push(`${this.#count} ${this.#hash}`)
      this.#hops = this.#count = 0
      this.#hash = 7
      this.#part$.next({ type: 'close', endMs: this.#sent / 8 })
    }
  }
}

const measure = async (url, nats, models, folder, count, seconds) => {
  const script = join(import.meta.dirname, 'sleeping-engine.mjs')
  const children = Array.from({ length: count }, () =>
    spawn(process.execPath, [script, url, folder, String(places), String(hopMs)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  )
  await Promise.all(children.map((child) => once(child.stdout, 'data')))
  await delay(500)
  const [model] = models.list()
  const engine = await models.engine(model)
  const lanes = Array.from({ length: count * lanesPerEngine }, () => new Lane(engine))
  await delay(2000)
  const sum = (key) => lanes.reduce((total, lane) => total + lane[key], 0)
  const cpu = () => ({
    edge: process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000,
    nats: cpuMsOf(nats.pid),
    engines: children.reduce((total, { pid }) => total + cpuMsOf(pid), 0),
    machine: busyMsOfMachine(),
  })
  const before = { at: performance.now(), samples: sum('readSamples'), ...cpu() }
  await delay(seconds * 1000)
  const after = { at: performance.now(), samples: sum('readSamples'), ...cpu() }
  const elapsedMs = after.at - before.at
  const audio = (after.samples - before.samples) / 8 / elapsedMs
  const hops = (after.samples - before.samples) / hop.length
  const perHop = (key) => Math.round(((after[key] - before[key]) * 1000) / hops)
  for (const lane of lanes) lane.close()
  const row = {
    engines: count,
    'audio s/s': audio.toFixed(1),
    efficiency: (audio / (count * nominal)).toFixed(3),
    segments: sum('decided'),
    'wrong or failed': sum('wrong') + sum('failed'),
    'edge µs/hop': perHop('edge'),
    'nats µs/hop': perHop('nats'),
    'engines µs/hop': perHop('engines'),
    'machine busy': ((after.machine - before.machine) / elapsedMs / availableParallelism()).toFixed(2),
  }
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(children.map((child) => once(child, 'exit')))
  return row
}

/** @param {readonly string[]} options `--seconds N`, 10 by default */
export const benchScale = async (options) => {
  const seconds = Number(options[options.indexOf('--seconds') + 1] ?? 10) || 10
  const folder = mkdtempSync(join(tmpdir(), 'bench-scale-'))
  mkdirSync(join(folder, 'Default/sleeping/1'), { recursive: true })
  writeFileSync(join(folder, 'Default/sleeping/1/model.json'), '{"engine": "sleeping"}')
  const port = await freePort()
  const path = `${process.env['PATH'] ?? ''}:/usr/sbin`
  const nats = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port)], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, PATH: path },
  })
  await once(nats.stderr, 'data')
  await delay(300)
  nats.stderr.resume()
  const url = `nats://127.0.0.1:${port}`
  const bus = buses.createBus(await connections.connectNats({ servers: [url] }, { name: 'bench' }))
  const fleet = new fleets.Fleet({ bus, onFault: console.error })
  const local = registries.createModelRegistry({ folders: [], kinds: [] })
  const models = fleetModels.createFleetModels({ fleet, local, onFault: () => undefined })
  console.log(
    `Engine processes that sleep: ${places} places, each ${hopMs} ms for 100 ms of audio, so ${nominal} s of audio a second ` +
      `(nominal); ${lanesPerEngine} channels for each that speak without a pause. It shows what the protocol loses, not that ` +
      'the cores of several machines add up. The µs of the edge include the channels of this program.',
  )
  try {
    const rows = []
    for (const count of [1, 2, 4]) rows.push(await measure(url, nats, models, folder, count, seconds))
    console.table(rows)
  } finally {
    await models.close()
    await bus.close()
    nats.kill()
    rmSync(folder, { recursive: true })
  }
}
