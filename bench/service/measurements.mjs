// What a measured server process reports about itself to the bench that started it.
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { Session } from 'node:inspector/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { shares } from './profile-shares.mjs'

/**
 * Answers the requests of the parent process: `access`, how clients reach the server, and measurements. `close` is
 * called before the process ends.
 */
export const measurements = ({ access, close }) => {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  const inspector = new Session()
  let from = process.cpuUsage()
  let fromMs = performance.now()
  let profiles = 0

  const handlers = {
    access,
    /** Starts a measurement window. */
    begin: async (isProfiled) => {
      if (isProfiled) {
        inspector.connect()
        await inspector.post('Profiler.enable')
        await inspector.post('Profiler.setSamplingInterval', { interval: 500 })
        await inspector.post('Profiler.start')
      }
      delay.enable()
      delay.reset()
      from = process.cpuUsage()
      fromMs = performance.now()
    },
    /**
     * Ends the window: CPU time, share of a core, p99 of the event loop delay; PROFILES names a folder for profiles.
     */
    end: async (isProfiled) => {
      const { user, system } = process.cpuUsage(from)
      const cpuMs = (user + system) / 1000
      const wallMs = performance.now() - fromMs
      delay.disable()
      // The timer of the histogram itself waits for a millisecond.
      const delayP99Ms = Math.max(0, delay.percentile(99) / 1e6 - 1)
      const metrics = { cpuMs, cores: cpuMs / wallMs, delayP99Ms }
      if (!isProfiled) return metrics
      const { profile } = await inspector.post('Profiler.stop')
      inspector.disconnect()
      const folder = process.env['PROFILES']
      profiles += 1
      if (folder !== undefined) await writeFile(`${folder}/${profiles}.cpuprofile`, JSON.stringify(profile))
      return { ...metrics, shares: shares(profile) }
    },
    memory: () => {
      for (let turn = 0; turn < 3; turn += 1) globalThis.gc()
      const { heapUsed, external } = process.memoryUsage()
      const pages = Number(readFileSync('/proc/self/statm', 'utf8').split(' ')[1])
      // `external` includes array buffers.
      return { heap: heapUsed, outside: external, both: heapUsed + external, rss: pages * 4096 }
    },
  }

  process.on('message', async ({ id, request, argument }) => {
    process.send({ id, answer: (await handlers[request](argument)) ?? null })
  })
  process.once('disconnect', async () => {
    await close()
    process.exit(0)
  })
  process.send({ id: 0, answer: 'ready' })
}
