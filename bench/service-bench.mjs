// `npm run bench service`: the capacity of one process, with a null engine and voice activity on.
import { fork } from 'node:child_process'

const here = (file) => new URL(file, import.meta.url).pathname

/** A child process that answers requests one after another. */
const child = async (file, execArgv) => {
  const process_ = fork(here(file), { execArgv })
  const waiting = new Map()
  let last = 0
  const ready = new Promise((resolve, reject) => {
    waiting.set(0, resolve)
    process_.once('exit', (code) => reject(new Error(`${file} ended with ${String(code)}`)))
  })
  process_.on('message', ({ id, answer }) => {
    waiting.get(id)?.(answer)
    waiting.delete(id)
  })
  await ready
  return {
    request: (request, argument) =>
      new Promise((resolve, reject) => {
        last += 1
        waiting.set(last, resolve)
        process_.once('exit', () => reject(new Error(`${file} ended before it answered ${request}`)))
        process_.setMaxListeners(0)
        process_.send({ id: last, request, argument })
      }),
    end: () => process_.disconnect(),
  }
}

const counts = (process.env['SESSIONS'] ?? '50,100,200,300').split(',').map(Number)
const durationMs = Number(process.env['SECONDS'] ?? 10) * 1000

const column = (text, width) => String(text).padStart(width)
const names = { ws: 'WebSocket', grpc: 'gRPC' }

export const benchService = async () => {
  const service = await child('measured-service.mjs', ['--expose-gc'])
  const load = await child('service-load.mjs', [])
  await load.request('access', await service.request('access'))

  console.log(
    `Paced 8 kHz sessions of one process, null engine, voice activity on, ${durationMs / 1000} s each.
Per core: sessions for each core of CPU time that the service used. Late: the worst delay of the load generator itself.
Goal: 200 sessions per core, p99 of the loop's delay < 50 ms, p99 of the added latency < 20 ms.\n`,
  )
  const head = ['sessions', 'CPU', 'per core', 'loop p99', 'latency p50', 'p99', 'results', 'late']
  const widths = [20, 8, 16, 11, 13, 10, 9, 9]
  console.log(head.map((text, at) => column(text, widths[at])).join(''))
  let profile = []
  for (const by of ['ws', 'grpc']) {
    for (const count of counts) {
      await load.request('open', { by, count })
      // Compilation and warm-up are not part of the cost of a session.
      await load.request('pace', { durationMs: 2000 })
      const isProfiled = by === 'ws' && count === counts.at(-1)
      await service.request('begin', false)
      const latencies = await load.request('pace', { durationMs })
      const used = await service.request('end', false)
      if (isProfiled) {
        await service.request('begin', true)
        await load.request('pace', { durationMs: 5000 })
        profile = (await service.request('end', true)).shares
      }
      await load.request('close')
      const ms = (value) => `${value.toFixed(1)} ms`
      const cells = [
        `${names[by]} ${count}`,
        `${(used.cores * 100).toFixed(0)} %`,
        Math.round(count / used.cores),
        ms(used.delayP99Ms),
        ms(latencies.p50),
        ms(latencies.p99),
        latencies.results,
        ms(latencies.lateMs),
      ]
      console.log(cells.map((text, at) => column(text, widths[at])).join(''))
    }
  }

  console.log('\nMemory of a started session without audio, and setups (open, start, end) per second.\n')
  for (const by of ['ws', 'grpc']) {
    const before = await service.request('memory')
    await load.request('open', { by, count: 500 })
    const after = await service.request('memory')
    await load.request('close')
    const kB = (key) => `${((after[key] - before[key]) / 500 / 1000).toFixed(1)} kB`
    const { perSecond } = await load.request('setups', { by, durationMs: 5000, atOnce: 20 })
    console.log(
      `${names[by].padEnd(12)}heap ${kB('heap')}, buffers ${kB('outside')}, resident ${kB('rss')}; ${Math.round(perSecond)} setups per second`,
    )
  }

  console.log(`\nWhere the time goes, WebSocket, ${counts.at(-1)} sessions:\n`)
  for (const [layer, share] of profile.filter(([, part]) => part >= 0.005)) {
    console.log(`${layer.padEnd(32)}${column(`${(share * 100).toFixed(1)} %`, 8)}`)
  }
  load.end()
  service.end()
}
