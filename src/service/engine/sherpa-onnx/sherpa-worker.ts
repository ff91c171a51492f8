import { isMainThread, parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import { sayBusyTime } from '../busy-time.js'
import type { ToWorker } from '../worker-messages.js'
import type { SherpaSettings } from './sherpa-messages.js'
import { loadSherpa } from './sherpa-module.js'
import { SherpaSegments } from './sherpa-segments.js'

const start = (port: MessagePort, { config, sampleRateHz }: SherpaSettings): void => {
  const say = sayBusyTime((message) => port.postMessage(message))
  const { OnlineRecognizer } = loadSherpa()
  const takeNext = (): ToWorker | undefined =>
    (receiveMessageOnPort(port) as { readonly message: ToWorker } | undefined)?.message
  try {
    const segments = new SherpaSegments(new OnlineRecognizer(config), sampleRateHz, say, takeNext)
    port.on('message', (message: ToWorker) => segments.receive(message))
  } catch {
    say({ type: 'refused', sentence: 'sherpa-onnx does not take its files; check that they belong together.' })
    return
  }
  say({ type: 'ready' })
}

const isSettings = (data: unknown): data is SherpaSettings =>
  typeof data === 'object' && data !== null && 'type' in data && data.type === 'rxspeech-sherpa-onnx'

// Only a thread that was started with settings of ours does anything; to import this file does nothing
if (!isMainThread && parentPort !== null && isSettings(workerData)) start(parentPort, workerData)
