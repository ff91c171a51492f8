// `npm run bench client`: what the library adds to the bare transports, as ratios of alternating measurements in one
// run.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { throughputs } from './throughput.mjs'

const here = (file) => new URL(file, import.meta.url).pathname
const rounds = 3

export const benchClient = async () => {
  const service = fork(here('sink-service.mjs'), { execArgv: [] })
  const [address] = await once(service, 'message')

  const measure = async (who, transport, load) => {
    const client = fork(here('client.mjs'), [JSON.stringify(address), who, transport, load], {
      execArgv: ['--expose-gc'],
    })
    const [result] = await Promise.race([
      once(client, 'message'),
      once(client, 'exit').then(() => {
        throw new Error(`The client for ${who} ${transport} ${load} ended without a result.`)
      }),
    ])
    await once(client, 'exit')
    return result.value
  }

  const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]

  const compare = async (transport, load) => {
    const raw = []
    const library = []
    for (let round = 0; round < rounds; round += 1) {
      raw.push(await measure('raw', transport, load))
      library.push(await measure('library', transport, load))
    }
    return { raw: median(raw), library: median(library) }
  }

  const column = (text, width) => String(text).padStart(width)
  const line = (name, raw, library, result, goal) =>
    console.log(`${name.padEnd(42)}${column(raw, 12)}${column(library, 12)}${column(result, 12)}${column(goal, 12)}`)

  console.log(
    'Client CPU for a chunk of 20 ms, in µs; heap of an idle session, in kB. Compare the ratios, not the values.\n',
  )
  line('', 'bare', 'rxspeech', 'result', 'goal')
  const names = { websocket: 'ws', grpc: 'grpc-js' }
  for (const transport of ['websocket', 'grpc']) {
    for (const [load, goal] of [
      ['paced', 1.1],
      ['flooded', 1.5],
    ]) {
      const { raw, library } = await compare(transport, load)
      const what = load === 'paced' ? '100 sessions in real time' : 'one session, flooded'
      line(
        `${names[transport]}: ${what}`,
        raw.toFixed(2),
        library.toFixed(2),
        `${(library / raw).toFixed(2)} x`,
        `≤ ${goal} x`,
      )
    }
    const { raw, library } = await compare(transport, 'idle')
    const more = (library - raw) / 1000
    line(
      `${names[transport]}: heap of an idle session`,
      (raw / 1000).toFixed(1),
      (library / 1000).toFixed(1),
      `+${more.toFixed(1)} kB`,
      '≤ +12 kB',
    )
  }
  service.disconnect()

  console.log('\nThroughput of one core, best of five.\n')
  for (const { name, unit, perSecond } of throughputs) {
    const value = perSecond()
    const shown = unit === 'B' ? `${(value / 1e6).toFixed(0)} MB/s` : `${(value / 1e6).toFixed(2)} M ${unit}/s`
    console.log(`${name.padEnd(42)}${column(shown, 16)}`)
  }
}
