import { isMainThread, parentPort, workerData, type MessagePort } from 'node:worker_threads'
import { reportBusyTime, takeNextFrom, type ToWorker } from '../pool/worker-messages.js'
import { isSherpaSettings, loadSherpa, type SherpaSettings } from './package.js'
import { SherpaSegments } from './segments.js'

const start = (port: MessagePort, { config, sampleRateHz }: SherpaSettings): void => {
  const post = reportBusyTime((message) => port.postMessage(message))
  const { OnlineRecognizer } = loadSherpa()
  try {
    const segments = new SherpaSegments(new OnlineRecognizer(config), sampleRateHz, post, takeNextFrom(port))
    port.on('message', (message: ToWorker) => segments.receive(message))
  } catch {
    post({ type: 'refused', sentence: 'sherpa-onnx does not accept its files; check that they belong together.' })
    return
  }
  post({ type: 'ready' })
}

// Importing this file has no effect unless the thread was started with settings of this worker.
if (!isMainThread && parentPort !== null && isSherpaSettings(workerData)) start(parentPort, workerData)
