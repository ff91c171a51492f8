// npm run bench [client | service]: figures of one run on one machine; ratios count, not the machine.
import { benchClient } from './client-bench.mjs'
import { benchService } from './service-bench.mjs'

const benches = { client: benchClient, service: benchService }
const [name = 'client'] = process.argv.slice(2)
const bench = Object.hasOwn(benches, name) ? benches[name] : undefined
if (bench === undefined) {
  console.error(`There is no bench ${JSON.stringify(name)}; there are ${Object.keys(benches).join(' and ')}.`)
  process.exitCode = 64
} else await bench()
