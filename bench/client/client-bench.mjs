// `npm run bench client`: what the library adds to the bare transports. Every value is the median of the ratios of
// alternating measurements, each in a new process; `noise` is the bare client measured against itself in the same way.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { throughputs } from './throughput.mjs'

const here = (file) => new URL(file, import.meta.url).pathname

/** What can be varied, with the values of a run without options. A list of values measures each combination. */
const axes = {
  transport: { values: ['websocket', 'grpc'], initial: 'websocket,grpc' },
  load: { values: ['paced', 'flooded', 'idle'], initial: 'paced,flooded,idle' },
  sessions: { initial: '50' },
  rate: { values: ['8000', '16000'], initial: '16000' },
  source: { values: ['observable', 'subject', 'iterable'], initial: 'observable' },
  results: { values: ['none', 'timed', 'untimed'], initial: 'untimed' },
}

const usage = `npm run bench client [-- --<axis> <value>[,<value>…] … --pairs <count> --without-throughput]
${Object.entries(axes)
  .map(([name, { values = ['<count>'], initial }]) => `  --${name.padEnd(10)} ${values.join(', ')}; default ${initial}`)
  .join('\n')}
  --pairs      how often each combination is measured; default 3`

const readOptions = (args) => {
  const names = Object.keys(axes)
  const { values } = parseArgs({
    args,
    options: {
      ...Object.fromEntries(names.map((name) => [name, { type: 'string', default: axes[name].initial }])),
      pairs: { type: 'string', default: '3' },
      'without-throughput': { type: 'boolean', default: false },
    },
  })
  const lists = names.map((name) => [name, values[name].split(',')])
  for (const [name, list] of lists) {
    const isAllowed = (value) => axes[name].values?.includes(value) ?? Number(value) > 0
    if (!list.every(isAllowed)) throw new Error(`--${name} ${values[name]}`)
  }
  return { lists, pairs: Number(values.pairs), hasThroughput: !values['without-throughput'] }
}

/** Every combination of the values of the axes. An idle session has no audio, so only the transport matters. */
const combinations = (lists) => {
  const all = lists.reduce(
    (cases, [name, values]) => cases.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  )
  const known = new Set()
  return all.filter(({ transport, load }) => {
    if (load !== 'idle') return true
    const isFirst = !known.has(transport)
    known.add(transport)
    return isFirst
  })
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]

const titleOf = ({ transport, load, sessions, rate, source, results }) => {
  const name = { websocket: 'ws', grpc: 'grpc-js' }[transport]
  if (load === 'idle') return `${name}: heap of an idle session`
  return `${name}: ${sessions} ${load}, ${Number(rate) / 1000} kHz, ${source}, ${results}`
}

const column = (text, width) => String(text).padStart(width)
const line = (name, ...columns) => console.log(`${name.padEnd(48)}${columns.map((text) => column(text, 11)).join('')}`)

export const benchClient = async (args) => {
  let options
  try {
    options = readOptions(args)
  } catch (error) {
    console.error(`${error.message}\n\n${usage}`)
    process.exitCode = 64
    return
  }
  const service = fork(here('sink-service.mjs'), { execArgv: [] })
  const [address] = await once(service, 'message')

  const measure = async ({ rate, sessions, ...one }, who) => {
    const plan = { ...one, address, who, sampleRateHz: Number(rate), sessions: Number(sessions) }
    const client = fork(here('client.mjs'), [JSON.stringify(plan)], { execArgv: ['--expose-gc'] })
    const [result] = await Promise.race([
      once(client, 'message'),
      once(client, 'exit').then(() => {
        throw new Error(`The client for ${who}, ${titleOf({ rate, sessions, ...one })} ended without a result.`)
      }),
    ])
    await once(client, 'exit')
    return result.value
  }

  const measurePairs = async (one) => {
    const pairs = []
    for (let pair = 0; pair < options.pairs; pair += 1) {
      const raw = await measure(one, 'raw')
      const library = await measure(one, 'library')
      const again = one.load === 'idle' ? raw : await measure(one, 'raw')
      pairs.push({ raw, library, again })
    }
    return pairs
  }

  console.log(
    'Client CPU for a chunk of 20 ms, in µs; heap of an idle session, in kB. Compare the ratios, not the values.\n',
  )
  line('', 'bare', 'rxspeech', 'result', 'noise', 'goal')
  for (const one of combinations(options.lists)) {
    const pairs = await measurePairs(one)
    const [raw, library] = [median(pairs.map((pair) => pair.raw)), median(pairs.map((pair) => pair.library))]
    if (one.load === 'idle') {
      const more = median(pairs.map((pair) => pair.library - pair.raw))
      const kB = (bytes) => (bytes / 1000).toFixed(1)
      line(titleOf(one), kB(raw), kB(library), `+${kB(more)} kB`, '', '≤ +8 kB')
      continue
    }
    // The bare client ran before and after the library: their mean is its value in this pair.
    const ratio = median(pairs.map((pair) => (2 * pair.library) / (pair.raw + pair.again)))
    const noise = median(pairs.map((pair) => pair.again / pair.raw))
    line(titleOf(one), raw.toFixed(2), library.toFixed(2), `${ratio.toFixed(2)} x`, noise.toFixed(2), '≤ 1.15 x')
  }
  service.disconnect()
  if (!options.hasThroughput) return

  console.log('\nThroughput of one core, best of five.\n')
  for (const { name, unit, perSecond } of throughputs) {
    const value = perSecond()
    const shown = unit === 'B' ? `${(value / 1e6).toFixed(0)} MB/s` : `${(value / 1e6).toFixed(2)} M ${unit}/s`
    console.log(`${name.padEnd(42)}${column(shown, 16)}`)
  }
}
