// npm run bench [client | service]: measurements of one run on one machine; compare ratios, not absolute values.
import { benchClient } from './client-bench.mjs'
import { benchService } from './service-bench.mjs'

const benches = { client: benchClient, service: benchService }
const [name = 'client'] = process.argv.slice(2)
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined
if (bench === undefined) {
  console.error(`Unknown benchmark ${JSON.stringify(name)}; choose ${Object.keys(benches).join(' or ')}.`)
  process.exitCode = 64
} else await bench()
