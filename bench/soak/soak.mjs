// `npm run soak [sessions]`: whether sockets and memory return to their initial level after many short sessions,
// separately for each way to end a session. Exits with 1 when they do not. `npm run soak 10000 grpc` tests one
// interface only.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { closeShared, socketSession, streamSession, ways } from './soak-sessions.mjs'

const [, , wanted = '10000', only] = process.argv
const count = Number(wanted)
const atOnce = 20
const steps = 4
/** A connection may still be closing after its end was reported. */
const maxMoreFds = 2
/**
 * Code and hidden classes settle in the first quarter; in the others, a leak of 70 bytes per session exceeds this
 * limit.
 */
const maxMoreBytes = 500_000

const service = fork(new URL('./soak-service.mjs', import.meta.url).pathname, [], { execArgv: ['--expose-gc'] })
const [address] = await once(service, 'message')

const held = async () => {
  service.send('held')
  return (await once(service, 'message'))[0]
}

const run = async (session, way, sessions) => {
  let left = sessions
  const worker = async () => {
    while (left > 0) {
      left -= 1
      await session(address, way)
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, sessions) }, worker))
}

const kilobytes = (bytes) => (bytes / 1000).toFixed(0)
const row = (cells) =>
  console.log(cells.map((cell, at) => (at < 2 ? String(cell).padEnd(11) : String(cell).padStart(11))).join(''))

console.log(`${count} sessions of each way, ${atOnce} at once; heap in kB after each quarter, against before.\n`)
row([
  'interface',
  'ended by',
  'sessions/s',
  'fds before',
  'fds after',
  'heap',
  '25 %',
  '50 %',
  '75 %',
  '100 %',
  'verdict',
])
let failed = false
for (const [name, session] of [
  ['websocket', socketSession],
  ['grpc', streamSession],
].filter(([name]) => only === undefined || name === only)) {
  for (const way of ways) {
    await run(session, way, Math.min(count, 500))
    const before = await held()
    const growth = []
    let after = before
    let spentMs = 0
    for (let step = 0; step < steps; step += 1) {
      const startMs = performance.now()
      await run(session, way, Math.ceil(count / steps))
      spentMs += performance.now() - startMs
      after = await held()
      growth.push(after.heapBytes - before.heapBytes)
    }
    const settled = growth[0] ?? 0
    const good = after.fds - before.fds <= maxMoreFds && after.heapBytes - before.heapBytes - settled <= maxMoreBytes
    failed ||= !good
    const rate = ((count / spentMs) * 1000).toFixed(0)
    const verdict = good ? 'ok' : 'LEAKS'
    row([
      name,
      way,
      rate,
      before.fds,
      after.fds,
      kilobytes(before.heapBytes),
      ...growth.map((bytes) => `${bytes < 0 ? '' : '+'}${kilobytes(bytes)}`),
      verdict,
    ])
  }
}
closeShared()
service.send('end')
await once(service, 'exit')
process.exitCode = failed ? 1 : 0
