import { isMainThread, parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { sayBusyTime } from '../pool/busy-time.js'
import { takeNextOf } from '../pool/take-next.js'
import type { ToWorker } from '../pool/worker-messages.js'
import { isSherpaSettings, type SherpaSettings } from './worker-settings.js'
import { loadSherpa } from './package.js'
import { SherpaSegments } from './segments.js'

const start = (port: MessagePort, { config, sampleRateHz }: SherpaSettings): void => {
  const say = sayBusyTime((message) => port.postMessage(message))
  const { OnlineRecognizer } = loadSherpa()
  try {
    const segments = new SherpaSegments(new OnlineRecognizer(config), sampleRateHz, say, takeNextOf(port))
    port.on('message', (message: ToWorker) => segments.receive(message))
  } catch {
    say({ type: 'refused', sentence: 'sherpa-onnx does not take its files; check that they belong together.' })
    return
  }
  say({ type: 'ready' })
}

// Only a thread that was started with settings of ours does anything; to import this file does nothing
if (!isMainThread && parentPort !== null && isSherpaSettings(workerData)) start(parentPort, workerData)
