// `npm run bench overload`: twice as many clients as one process can serve want sessions at the same time. The service
// must refuse some of them at once and keep the latency of the others. Each chunk keeps the service busy for longer
// than it would, because clients in one process could not send twice what a service of one process carries. Needs a
// machine that does nothing else.
import { child } from './child.mjs'

const here = (file) => new URL(file, import.meta.url).pathname
const interfaces = { ws: 'WebSocket', grpc: 'gRPC' }
/** Those of a service that is not for development. */
const limits = { maxLoadPercent: 85, maxLoopDelayMs: 100, maxEngineDelayMs: 1000 }
const durationMs = Number(process.env['SECONDS'] ?? 30) * 1000
const busyMicros = Number(process.env['BUSY_US'] ?? 150)
/** Enough sessions for a stable cost, which use less than half of a core. */
const calibrating = 40

const ms = (value) => `${value.toFixed(1)} ms`
const row = (name, value, goal = '') => console.log(`  ${name.padEnd(44)}${value.padStart(12)}   ${goal}`)

/** Starts a service with these limits, and its clients. */
const start = async (given) => {
  const server = await child(here('measured-service.mjs'), '', JSON.stringify(given), String(busyMicros))
  const clients = await child(here('service-load.mjs'))
  await clients.request('access', await server.request('access'))
  const end = () => {
    clients.end()
    server.end()
  }
  return { server, clients, end }
}

/** How many sessions in real time would use one core, from the cost of a chunk. */
const capacity = async (by) => {
  const { server, clients, end } = await start({ maxLoopDelayMs: 0 })
  await clients.request('open', { by, count: calibrating })
  await clients.request('pace', { durationMs: 3000 })
  await server.request('begin', false)
  const { chunks } = await clients.request('pace', { durationMs: 3000 })
  const { cpuMs } = await server.request('end', false)
  end()
  return Math.round((20 * chunks) / cpuMs)
}

const measure = async (by) => {
  const carried = await capacity(by)
  const { server, clients, end } = await start(limits)
  const count = 2 * carried
  console.log(`\n${interfaces[by]}: ${count} clients, twice what a core carries, for ${durationMs / 1000} s`)
  await server.request('begin', false)
  const [offer, latencies] = await Promise.all([
    clients.request('offer', { by, count, durationMs }),
    clients.request('pace', { durationMs }),
  ])
  const { cores, delayP99Ms } = await server.request('end', false)
  await clients.request('close')
  const recoveryMs = await clients.request('recovery', { by })
  row('sessions', String(offer.admitted), `of ${carried} for a whole core`)
  row('refusals', String(offer.refused))
  row('time to a refusal, median', ms(offer.refusalP50), '< 5 ms')
  row('time to a refusal, p99', ms(offer.refusalP99))
  row('latency of results, median', ms(latencies.p50))
  row('latency of results, p99', ms(latencies.p99), '< 250 ms')
  row('recovery after the load is gone', ms(recoveryMs), '< 5 s')
  row('load of the service', `${(cores * 100).toFixed(0)} %`)
  row("delay of the service's loop, p99", ms(delayP99Ms))
  row('worst delay of the clients themselves', ms(latencies.lateMs), 'above 50 ms the machine is the limit')
  end()
}

export const benchOverload = async () => {
  for (const by of Object.keys(interfaces)) await measure(by)
}
