import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** A recognition server of known capacity, in this process. */
export interface SleepingRecognizer {
  /** How many segments it has read. */
  readonly read: () => number
  readonly close: () => void
}

/** A timer that is later than this makes a reading longer. */
const maxLateMs = 20

/**
 * A server with one place, which takes exactly `readMs` for each segment: by the clock, and not by the sum of timers,
 * which run late. It sleeps, so that a busy machine does not change its capacity. The model `sleeping` of the folder
 * uses it.
 */
export const startSleepingRecognizer = async (folder: string, readMs: number): Promise<SleepingRecognizer> => {
  const waiting = new Set<() => void>()
  let freeAtMs = 0
  let isReading = false
  let read = 0
  const readNext = (): void => {
    const [answer] = waiting
    if (isReading || answer === undefined) return
    waiting.delete(answer)
    isReading = true
    freeAtMs = Math.max(freeAtMs, performance.now() - maxLateMs) + readMs
    setTimeout(() => {
      isReading = false
      read += 1
      answer()
      readNext()
    }, freeAtMs - performance.now())
  }
  const server = createServer((request, response) => {
    const answer = (): void => {
      response.setHeader('Content-Type', 'application/json').end('{"text":"seven"}')
    }
    // What no client waits for is not read.
    response.once('close', () => waiting.delete(answer))
    request.resume().once('end', () => {
      waiting.add(answer)
      readNext()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const model = join(folder, 'Default/sleeping/1')
  mkdirSync(model, { recursive: true })
  const options = {
    engine: 'openai',
    url: `http://127.0.0.1:${port}`,
    sampleRateHz: 8000,
    // As many requests as there are segments: only the server orders them.
    segmentsAtOnce: 32,
    partials: 'off',
  }
  writeFileSync(join(model, 'model.json'), JSON.stringify(options))
  return {
    read: () => read,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
