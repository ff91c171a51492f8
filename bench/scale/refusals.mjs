// The third table of `npm run bench scale`: how soon sessions are refused when more are wanted than the engine
// processes can recognize. Two services, one for each interface, share the engine processes; clients are processes of
// their own, over real sockets and without TLS.
import { child } from '../service/child.mjs'
import { places } from './sleeping-fleet.mjs'

const here = (file) => new URL(file, import.meta.url).pathname
const interfaces = { ws: 'WebSocket, with its connection', grpc: 'gRPC, over an open connection' }
const engineCount = 2
/** How long a place takes for 100 ms of audio: less than real time, because the engines must not be what is late. */
const hopMs = 20
/** On a channel of the sample call. */
const speechShare = 0.45
const offered = 1.5
/** Only the engine processes limit the service. */
const limits = { maxLoadPercent: 0, maxLoopDelayMs: 0, maxEngineDelayMs: 0 }

const ms = (value) => Number(value.toFixed(1))

const openSide = async (fleet, by) => {
  const server = await child(here('../service/measured-service.mjs'), '', JSON.stringify(limits), '0', fleet.url)
  const clients = await child(here('../service/service-load.mjs'))
  await clients.request('access', await server.request('access'))
  return { by, server, clients }
}

const measure = async ({ by, server, clients }, count, durationMs) => {
  await server.request('begin', false)
  const [offer, latencies] = await Promise.all([
    clients.request('offer', { by, count, durationMs }),
    clients.request('pace', { durationMs }),
  ])
  const { cores } = await server.request('end', false)
  return {
    interface: interfaces[by],
    'sessions wanted': count,
    admitted: offer.admitted,
    refusals: offer.refused,
    'not overloaded': offer.others,
    'refused after p50 ms': ms(offer.refusalP50),
    'p99 ms': ms(offer.refusalP99),
    'worst ms': ms(offer.refusalWorst),
    'results p99 ms': ms(latencies.p99),
    'load of the service': cores.toFixed(2),
    'clients late ms': ms(latencies.lateMs),
  }
}

export const benchRefusals = async (fleet, seconds) => {
  const count = Math.round((offered * engineCount * places) / speechShare / 2)
  console.log(
    `\nRefusals: ${2 * count} channels of a call want sessions of two services, ${offered} times what the ${engineCount * places} places of ` +
      `${engineCount} engine processes recognize; a refused one asks again after 2 s. From the request to its answer. Goal: 50 ms.`,
  )
  await fleet.startEngines(engineCount, hopMs)
  const sides = await Promise.all(Object.keys(interfaces).map((by) => openSide(fleet, by)))
  console.table(await Promise.all(sides.map((side) => measure(side, count, seconds * 1000))))
  for (const { clients, server } of sides) {
    clients.end()
    server.end()
  }
}
