// `npm run bench service`: what a session costs one process, beside a bare server of the same messages. The servers
// take turns in one run; compare ratios, because the speed of a machine varies. BEFORE=<folder of a built checkout>
// also measures the service of that checkout, in turn with this one.
import { child } from './child.mjs'
import { chunkCost, median, seconds, sessions } from './chunk-cost.mjs'

const here = (file) => new URL(file, import.meta.url).pathname

const before = process.env['BEFORE']
const servers = {
  bare: () => child(here('bare-service.mjs')),
  ...(before === undefined ? {} : { before: () => child(here('measured-service.mjs'), before) }),
  // Setups as fast as possible are no overload here.
  rxspeech: () => child(here('measured-service.mjs'), '', JSON.stringify({ maxLoopDelayMs: 0 })),
}
const names = Object.keys(servers)
const interfaces = { ws: 'WebSocket', grpc: 'gRPC' }

const rounds = Number(process.env['ROUNDS'] ?? 3)
/** The load at which latency is measured, as a share of a core. */
const load = 0.7

const column = (text, width) => String(text).padStart(width)
const line = (name, cells) => console.log(`${name.padEnd(12)}${cells.map((cell) => column(cell, 15)).join('')}`)
const ms = (value) => `${value.toFixed(1)} ms`

/** Starts a server and a load generator that knows it. */
const start = async (name) => {
  const server = await servers[name]()
  const clients = await child(here('service-load.mjs'))
  await clients.request('access', await server.request('access'))
  return {
    server,
    clients,
    end: () => {
      clients.end()
      server.end()
    },
  }
}

const measureChunks = async (running) => {
  console.log(`CPU of a 20 ms chunk, ${sessions} sessions in real time, median of ${rounds} runs in turn.
Per core: sessions in real time that would use one core. Goal: 800 per core, 25 µs.\n`)
  line('', ['µs per chunk', 'per core', 'x bare', ...(before === undefined ? [] : ['x before'])])
  const perCore = {}
  for (const by of Object.keys(interfaces)) {
    const costs = Object.fromEntries(names.map((name) => [name, []]))
    for (let round = 0; round < rounds; round += 1) {
      for (const name of names) costs[name].push(await chunkCost(running[name], by, round === 0 ? 3000 : 500))
    }
    const ratio = (name, to) => median(costs[name].map((cost, at) => cost / costs[to][at])).toFixed(2)
    for (const name of names) {
      const cost = median(costs[name])
      perCore[`${name} ${by}`] = Math.round(1e6 / 50 / cost)
      const ratios = [ratio(name, 'bare'), ...(before === undefined ? [] : [ratio(name, 'before')])]
      line(`${interfaces[by]}, ${name}`.padEnd(22), [cost.toFixed(1), perCore[`${name} ${by}`], ...ratios])
    }
  }
  return perCore
}

const measureLatency = async ({ server, clients }, by, count) => {
  await clients.request('open', { by, count })
  await clients.request('pace', { durationMs: 2000 })
  await server.request('begin', false)
  const { p50, p99, results, lateMs } = await clients.request('pace', { durationMs: seconds * 2000 })
  const { delayP99Ms, cores } = await server.request('end', false)
  await clients.request('close')
  line(`${interfaces[by]} ${count}`, [
    `${(cores * 100).toFixed(0)} %`,
    ms(delayP99Ms),
    ms(p50),
    ms(p99),
    results,
    ms(lateMs),
  ])
}

const measureMemory = async (by, name) => {
  const { server, clients, end } = await start(name)
  const count = 500
  const memoryOf = async (isSilent) => {
    await clients.request('open', { by, count })
    // Digital silence, so that what a first chunk allocates counts too.
    if (isSilent) await clients.request('pace', { durationMs: 1000, isSilent })
  }
  // Code and pools of the first sessions are not those of each session.
  await memoryOf(true)
  await clients.request('close')
  const from = await server.request('memory')
  await memoryOf(true)
  const to = await server.request('memory')
  await clients.request('close')
  const kB = (key) => ((to[key] - from[key]) / count / 1000).toFixed(1)
  const { perSecond } = await clients.request('setups', { by, durationMs: 4000, atOnce: 20 })
  end()
  const cells = [kB('heap'), kB('outside'), kB('both'), kB('rss'), Math.round(perSecond)]
  line(`${interfaces[by]}, ${name}`.padEnd(22), cells)
}

const printProfile = async ({ server, clients }, by) => {
  await clients.request('open', { by, count: sessions })
  await clients.request('pace', { durationMs: 500 })
  await server.request('begin', true)
  const { chunks } = await clients.request('pace', { durationMs: 4000 })
  const { shares, cpuMs } = await server.request('end', true)
  await clients.request('close')
  console.log(`\nWhere the time goes, ${interfaces[by]}, with the profiler:\n`)
  for (const [layer, share] of shares.filter(([, part]) => part >= 0.005)) {
    const us = ((cpuMs * 1000) / chunks) * share
    console.log(`${layer.padEnd(32)}${column(`${(share * 100).toFixed(1)} %`, 8)}${column(`${us.toFixed(1)} µs`, 10)}`)
  }
}

export const benchService = async () => {
  console.log('One process, 8 kHz PCM, null engine, voice activity on.\n')
  const parts = (process.env['PARTS'] ?? 'chunks,latency,memory,profile').split(',')
  const running = {}
  for (const name of names) running[name] = await start(name)
  const perCore = parts.includes('chunks') ? await measureChunks(running) : {}
  if (parts.includes('latency')) {
    console.log(`\nAt ${load * 100} % load. Goals: p99 of the latency and of the loop's delay < 20 ms.
Latency: from the send of the deciding chunk to its milestone. Late: the worst delay of the load generator itself.\n`)
    line('', ['CPU', 'loop p99', 'latency p50', 'p99', 'results', 'late'])
    for (const by of Object.keys(interfaces)) {
      await measureLatency(running['rxspeech'], by, Math.round((perCore[`rxspeech ${by}`] ?? 300) * load))
    }
  }
  if (parts.includes('profile')) for (const by of Object.keys(interfaces)) await printProfile(running['rxspeech'], by)
  for (const { end } of Object.values(running)) end()
  if (!parts.includes('memory')) return
  console.log(
    '\nMemory of a silent session in kB (goal: heap and buffers ≤ 40), and setups (open, start, end) per second.\n',
  )
  line('', ['heap', 'buffers', 'both', 'resident', 'setups'])
  for (const by of Object.keys(interfaces)) for (const name of names) await measureMemory(by, name)
}
