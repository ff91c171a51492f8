// npm run bench [client | service | dialects | engine | free-text | overload | scale | sizing | workers] [-- options]:
// measurements of one run on one machine; compare ratios, not absolute values.
import { benchClient } from './client/client-bench.mjs'
import { benchDialects } from './service/dialects-bench.mjs'
import { benchEngine } from './engine-bench.mjs'
import { benchFreeText } from './free-text/free-text-bench.mjs'
import { benchOverload } from './service/overload-bench.mjs'
import { benchScale } from './scale/scale-bench.mjs'
import { benchService } from './service/service-bench.mjs'
import { benchSizing } from './sizing/sizing-bench.mjs'
import { benchWorkers } from './service/workers-bench.mjs'

const benches = {
  client: benchClient,
  service: benchService,
  dialects: benchDialects,
  engine: benchEngine,
  'free-text': benchFreeText,
  overload: benchOverload,
  scale: benchScale,
  sizing: benchSizing,
  workers: benchWorkers,
}
const [name = 'client', ...options] = process.argv.slice(2)
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined
if (bench === undefined) {
  console.error(`Unknown benchmark ${JSON.stringify(name)}; choose ${Object.keys(benches).join(' or ')}.`)
  process.exitCode = 64
} else await bench(options)
