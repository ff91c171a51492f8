// `npm run bench workers`: what a session costs a service of several workers, beside as many services of one process,
// which share nothing. Both take turns in one run, with the same sessions and as many load generators, whose CPU time
// does not count.
import { child } from './child.mjs'

const here = (file) => new URL(file, import.meta.url).pathname

/** Of each process. */
const sessions = Number(process.env['SESSIONS'] ?? 75)
const seconds = Number(process.env['SECONDS'] ?? 1)
const rounds = Number(process.env['ROUNDS'] ?? 9)
const count = Number(process.env['WORKERS'] ?? 2)
const interfaces = { ws: 'WebSocket', grpc: 'gRPC' }

const sum = (values) => values.reduce((total, value) => total + value, 0)
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
const line = (name, cells) =>
  console.log(`${name.padEnd(12)}${cells.map((cell) => String(cell).padStart(17)).join('')}`)
const times = (work) => Promise.all(Array.from({ length: count }, (_none, index) => work(index)))

/** Services with these numbers of workers, and a load generator for each process that serves sessions. */
const start = async (workers) => {
  const servers = await Promise.all(workers.map((number) => child(here('workers-service.mjs'), String(number))))
  const access = await Promise.all(servers.map((server) => server.request('access')))
  const clients = await times(() => child(here('service-load.mjs')))
  await times((index) => clients[index].request('access', access[index % access.length]))
  return {
    all: (request, argument) => times((index) => clients[index].request(request, argument)),
    /** CPU time so far of all processes, and of those that serve sessions. */
    cpu: async () => {
      const parts = await Promise.all(servers.map((server) => server.request('cpu')))
      const servingMs = parts.flatMap(({ ownMs, workersMs }) => (workersMs.length === 0 ? [ownMs] : workersMs))
      return { allMs: sum(parts.map(({ ownMs, workersMs }) => ownMs + sum(workersMs))), servingMs }
    },
    end: () => {
      for (const process_ of [...clients, ...servers]) process_.end()
    },
  }
}

const measure = async ({ cpu }, work) => {
  const from = await cpu()
  const done = await work()
  const to = await cpu()
  const servingMs = to.servingMs.map((ms, at) => ms - from.servingMs[at])
  return { done, allMs: to.allMs - from.allMs, balance: sum(servingMs) / servingMs.length / Math.max(...servingMs) }
}

/** CPU time of a chunk in real time, in µs. */
const chunkCost = async (running) => {
  const { done, allMs, balance } = await measure(running, () =>
    running.all('pace', { durationMs: seconds * 1000, isSilent: true }),
  )
  return { us: (allMs * 1000) / sum(done.map(({ chunks }) => chunks)), balance }
}

/** CPU time of a setup (open, start, end), in µs. */
const setupCost = async (running, by) => {
  const durationMs = seconds * 1000
  const { done, allMs } = await measure(running, () => running.all('setups', { by, durationMs, atOnce: 5 }))
  return (allMs * 1000) / ((sum(done.map(({ perSecond }) => perSecond)) * durationMs) / 1000)
}

export const benchWorkers = async () => {
  console.log(`CPU of all processes for a 20 ms chunk and for a setup: ${count} services of one process, and one service of
${count} workers. ${sessions} silent sessions in real time for each process, voice activity on, medians of ${rounds} runs in turn.
Balance: the mean of the workers' CPU time over the largest. Efficiency: (apart / workers) x balance; goal 0.9.
Apart / apart is the noise.\n`)
  const apart = await start(Array.from({ length: count }, () => 1))
  const together = await start([count])
  line('', ['apart, µs/chunk', 'workers', 'balance', 'efficiency', 'apart / apart', 'apart, µs/setup', 'workers'])
  for (const by of Object.keys(interfaces)) {
    const pairs = []
    // All sessions stay open, and those of one service at a time send.
    for (const running of [apart, together]) {
      await running.all('open', { by, count: sessions })
      await running.all('pace', { durationMs: 2000, isSilent: true })
    }
    for (let round = 0; round < rounds; round += 1) {
      const [first, second, again] = [await chunkCost(apart), await chunkCost(together), await chunkCost(apart)]
      const us = (first.us + again.us) / 2
      pairs.push({ apart: us, workers: second.us, balance: second.balance, noise: first.us / again.us })
    }
    for (const running of [apart, together]) await running.all('close')
    const setups = []
    for (let round = 0; round < 3; round += 1) setups.push([await setupCost(apart, by), await setupCost(together, by)])
    const of = (read) => median(pairs.map(read))
    line(interfaces[by], [
      of((pair) => pair.apart).toFixed(1),
      of((pair) => pair.workers).toFixed(1),
      of((pair) => pair.balance).toFixed(3),
      of((pair) => (pair.apart / pair.workers) * pair.balance).toFixed(3),
      of((pair) => pair.noise).toFixed(3),
      median(setups.map(([cost]) => cost)).toFixed(0),
      median(setups.map(([, cost]) => cost)).toFixed(0),
    ])
  }
  apart.end()
  together.end()
}
