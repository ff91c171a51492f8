// One measurement in a separate process: `node client.mjs <plan>`. The plan, as JSON: address, who (raw, library),
// transport, load, source, results, sampleRateHz, sessions.
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises'
import { openWithLibrary } from './library-sessions.mjs'
import { openRaw } from './raw-sessions.mjs'

const plan = JSON.parse(process.argv[2])
const open = { raw: openRaw, library: openWithLibrary }[plan.who]
/** 20 ms of 16-bit samples. */
const chunk = new Uint8Array(plan.sampleRateHz / 25)

const openMany = async (count) => {
  const sessions = []
  for (let index = 0; index < count; index += 1) sessions.push(await open(plan))
  return sessions
}

const cpuMicros = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** All sessions get a chunk every 20 ms. */
const paced = async () => {
  const sessions = await openMany(plan.sessions)
  const warmUpTicks = 100
  const ticks = 250
  let tick = 0
  let from = 0
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (tick === warmUpTicks) from = cpuMicros()
      for (const session of sessions) session.push(chunk)
      tick += 1
      if (tick === warmUpTicks + ticks) {
        clearInterval(timer)
        setTimeout(() => resolve((cpuMicros() - from) / (ticks * sessions.length)), 20)
      }
    }, 20)
  })
}

/** All sessions get chunks as fast as they take them, half a second of audio in turn. */
const flooded = async () => {
  const sessions = await openMany(plan.sessions)
  const burst = 25
  const flood = async (count) => {
    for (let sent = 0; sent < count; sent += burst) {
      for (const session of sessions) {
        for (let index = 0; index < burst; index += 1) session.push(chunk)
      }
      await turn()
    }
  }
  const count = Math.max(500, Math.round(100_000 / sessions.length / burst) * burst)
  await flood(200)
  await delay(300)
  const from = cpuMicros()
  await flood(count)
  await Promise.all(sessions.map((session) => session.finish()))
  return (cpuMicros() - from) / (count * sessions.length)
}

/** The heap of an open session without audio, in bytes. */
const idle = async () => {
  const count = 500
  await openMany(20)
  globalThis.gc()
  const from = process.memoryUsage().heapUsed
  const sessions = await openMany(count)
  await delay(200)
  globalThis.gc()
  const bytes = process.memoryUsage().heapUsed - from
  return bytes / sessions.length
}

process.send({ value: await { paced, flooded, idle }[plan.load]() })
process.exit()
