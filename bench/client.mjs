// One measurement in a separate process: `node client.mjs <address> <raw|library> <websocket|grpc>
// <paced|flooded|idle>`.
import { setInterval } from 'node:timers'
import { openWithLibrary } from './library-sessions.mjs'
import { openRaw } from './raw-sessions.mjs'

const [addressText, who, transport, load] = process.argv.slice(2)
const address = JSON.parse(addressText)
const open = { raw: openRaw, library: openWithLibrary }[who][transport]
const chunk = new Uint8Array(320)

const openMany = async (count) => {
  const sessions = []
  for (let index = 0; index < count; index += 1) sessions.push(await open(address))
  return sessions
}

const cpuMicros = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}

const paced = async () => {
  const sessions = await openMany(100)
  const warmUpTicks = 100
  const ticks = 250
  let tick = 0
  let from = 0
  const cpu = await new Promise((resolve) => {
    const timer = setInterval(() => {
      if (tick === warmUpTicks) from = cpuMicros()
      for (const session of sessions) session.push(chunk)
      tick += 1
      if (tick === warmUpTicks + ticks) {
        clearInterval(timer)
        setTimeout(() => resolve(cpuMicros() - from), 20)
      }
    }, 20)
  })
  for (const session of sessions) session.close()
  return cpu / (ticks * sessions.length)
}

const flooded = async () => {
  const count = 100_000
  const warmUp = await open(address)
  await warmUp.flood(chunk, count)
  const session = await open(address)
  const from = cpuMicros()
  await session.flood(chunk, count)
  return (cpuMicros() - from) / count
}

const idle = async () => {
  const count = 500
  const warmUp = await openMany(20)
  globalThis.gc()
  const from = process.memoryUsage().heapUsed
  const sessions = await openMany(count)
  await new Promise((resolve) => setTimeout(resolve, 200))
  globalThis.gc()
  const bytes = (process.memoryUsage().heapUsed - from) / count
  for (const session of [...warmUp, ...sessions]) session.close()
  return bytes
}

process.send({ value: await { paced, flooded, idle }[load]() })
process.exit()
