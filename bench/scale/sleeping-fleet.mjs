// NATS and engine processes that sleep, for `npm run bench scale`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import registries from '../../packages/engines/dist/models/model-registry.js'
import fleetModels from '../../packages/nats/dist/engines/fleet-models.js'
import fleets from '../../packages/nats/dist/engines/fleet.js'
import buses from '../../packages/nats/dist/connection/bus.js'
import connections from '../../packages/nats/dist/connection/connection.js'

/** Segments that one engine process recognizes at the same time. */
export const places = 16

const freePort = async () => {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}

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

export class SleepingFleet {
  #nats
  #folder
  #engines = []
  #edges = []

  constructor(nats, url, folder) {
    this.#nats = nats
    this.url = url
    this.#folder = folder
  }

  static async start() {
    const folder = mkdtempSync(join(tmpdir(), 'bench-scale-'))
    mkdirSync(join(folder, 'Default/sleeping/1'), { recursive: true })
    writeFileSync(join(folder, 'Default/sleeping/1/model.json'), '{"engine": "sleeping"}')
    const port = await freePort()
    const env = { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/sbin` }
    const nats = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env,
    })
    await once(nats.stderr, 'data')
    await sleep(300)
    nats.stderr.resume()
    return new SleepingFleet(nats, `nats://127.0.0.1:${port}`, folder)
  }

  /** @param hopMs how long a place takes for 100 ms of audio */
  async startEngines(count, hopMs) {
    const script = join(import.meta.dirname, 'sleeping-process.mjs')
    const started = Array.from({ length: count }, () =>
      spawn(process.execPath, [script, this.url, this.#folder, String(places), String(hopMs)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    )
    this.#engines.push(...started)
    await Promise.all(started.map((child) => once(child.stdout, 'data')))
    // Until every edge has read their adverts.
    await sleep(500)
  }

  async endEngines() {
    const engines = this.#engines.splice(0)
    for (const child of engines) child.kill('SIGTERM')
    await Promise.all(engines.map((child) => once(child, 'exit')))
  }

  /** An edge of its own connection: returns the engine of its model, and how often an engine had no place after all. */
  async openEdge() {
    const bus = buses.createBus(await connections.connectNats({ servers: [this.url] }, { name: 'bench' }))
    const fleet = new fleets.Fleet({ bus, onFault: console.error })
    const local = registries.createModelRegistry({ folders: [], kinds: [] })
    const models = fleetModels.createFleetModels({ fleet, local, onFault: () => undefined })
    this.#edges.push({ models, bus })
    await sleep(500)
    const [model] = models.list()
    return { engine: await models.engine(model), counts: () => fleet.counts }
  }

  /** CPU time so far, in milliseconds. */
  cpu() {
    const { user, system } = process.cpuUsage()
    return {
      edge: (user + system) / 1000,
      nats: cpuMsOf(this.#nats.pid),
      engines: this.#engines.reduce((total, { pid }) => total + cpuMsOf(pid), 0),
      machine: busyMsOfMachine() / availableParallelism(),
    }
  }

  async closeEdges() {
    for (const { models, bus } of this.#edges.splice(0)) {
      await models.close()
      await bus.close()
    }
  }

  async close() {
    await this.closeEdges()
    await this.endEngines()
    this.#nats.kill()
    rmSync(this.#folder, { recursive: true })
  }
}
