// `npm run bench dialects`: what a socket of each dialect costs the service, beside the recognition socket. Their
// sessions take turns in one process of the service; compare ratios. Goal: at most 1.2.
import { child } from './child.mjs'
import { chunkCost, median, sessions } from './chunk-cost.mjs'

const here = (file) => new URL(file, import.meta.url).pathname

const rounds = Number(process.env['ROUNDS'] ?? 5)
const interfaces = { ws: 'recognition socket', deepgram: '/v1/listen', realtime: '/v1/realtime' }

export const benchDialects = async () => {
  const server = await child(here('measured-service.mjs'), '', JSON.stringify({ maxLoopDelayMs: 0 }))
  const clients = await child(here('service-load.mjs'))
  await clients.request('access', await server.request('access'))
  const costs = Object.fromEntries(Object.keys(interfaces).map((by) => [by, []]))
  for (let round = 0; round < rounds; round += 1) {
    for (const by of Object.keys(interfaces)) {
      costs[by].push(await chunkCost({ server, clients }, by, round === 0 ? 3000 : 500))
    }
  }
  clients.end()
  server.end()
  console.log(`CPU of a 20 ms chunk, ${sessions} sessions in real time, median of ${rounds} runs in turn.\n`)
  console.log(`${''.padEnd(20)}${'µs per chunk'.padStart(15)}${'x recognition'.padStart(15)}`)
  for (const [by, name] of Object.entries(interfaces)) {
    const ratio = median(costs[by].map((cost, at) => cost / costs.ws[at])).toFixed(2)
    console.log(`${name.padEnd(20)}${median(costs[by]).toFixed(1).padStart(15)}${ratio.padStart(15)}`)
  }
}
