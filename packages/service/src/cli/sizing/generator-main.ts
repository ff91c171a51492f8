// The process that makes the calls of `rxspeech bench`, so that nothing else delays them.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { bytesForMs, msForBytes } from 'rxspeech/internal/audio/format'
import { chunkMs, makeCall } from './call.js'
import {
  placeOf,
  type FromGenerator,
  type GeneratorSettings,
  type StepRequest,
  type ToGenerator,
} from './generator-protocol.js'
import type { CallFault, GeneratorLoad, MeasuredSegment } from './step-verdict.js'

const reportMs = 500
const loopResolutionMs = 10
/** A shorter time says nothing, as of a step that ends within its warm-up. */
const minLoadMs = 1_000
/** All calls have begun in this share of the warm-up. */
const beginShare = 0.5

let settings: GeneratorSettings | undefined
let running = new AbortController()

const send = (message: FromGenerator): void => {
  process.send?.(message)
}

/** Measures this thread until it is called again. */
const watchLoad = (): (() => GeneratorLoad) => {
  const before = performance.eventLoopUtilization()
  const cpu = process.cpuUsage()
  const sinceMs = performance.now()
  const delay = monitorEventLoopDelay({ resolution: loopResolutionMs })
  delay.enable()
  return () => {
    delay.disable()
    const { user, system } = process.cpuUsage(cpu)
    if (performance.now() - sinceMs < minLoadMs) return { use: 0, loopDelayMs: 0, cpuMs: 0 }
    return {
      use: performance.eventLoopUtilization(before).utilization,
      loopDelayMs: Math.max(0, delay.percentile(95) / 1e6 - loopResolutionMs),
      cpuMs: (user + system) / 1000,
    }
  }
}

const runStep = async (
  { recording, ...route }: GeneratorSettings,
  { calls, warmUpMs, measureMs, phase, finalWithinMs }: StepRequest,
): Promise<void> => {
  running = new AbortController()
  const { signal } = running
  const startMs = performance.now()
  const countsFromMs = startMs + warmUpMs
  const endsAtMs = countsFromMs + measureMs
  let segments: MeasuredSegment[] = []
  let faults: CallFault[] = []
  const report = (): void => {
    send({ type: 'received', segments, faults })
    segments = []
    faults = []
  }
  const timer = setInterval(report, reportMs)
  const { format, bytes } = recording
  const chunks = bytes.length / bytesForMs(format, chunkMs)
  const lengthMs = msForBytes(format, bytes.length)
  const made = Array.from({ length: calls }, (_none, call) => {
    const beginsAtMs = startMs + (call * warmUpMs * beginShare) / calls
    const fromMs = (Math.floor(placeOf(call, phase) * chunks) * chunkMs) % lengthMs
    return makeCall(
      recording,
      route,
      { fromMs, beginsAtMs, countsFromMs, endsAtMs, finalWithinMs },
      { segment: (one) => segments.push(one), fault: (one) => faults.push(one) },
      signal,
    ).catch((error: unknown) => faults.push({ kind: 'failed', reason: String(error).slice(0, 200) }))
  })
  const wait = (ms: number): Promise<void> => sleep(Math.max(ms, 0), undefined, { signal }).catch(() => undefined)
  await wait(countsFromMs - performance.now())
  send({ type: 'measuring' })
  const loadOf = watchLoad()
  await wait(endsAtMs - performance.now())
  send({ type: 'sent', load: loadOf() })
  await Promise.all(made)
  clearInterval(timer)
  report()
  send({ type: 'ended' })
}

process.on('message', (message: ToGenerator) => {
  if ('recording' in message) settings = message
  else if ('stop' in message) running.abort()
  else if (settings !== undefined) void runStep(settings, message.step)
})
// Ctrl-C is for the command, which stops this process.
process.on('SIGINT', () => undefined)
process.once('disconnect', () => process.exit(0))
