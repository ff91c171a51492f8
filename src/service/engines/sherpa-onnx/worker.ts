import { reportBusyTime, type FromWorker, type SegmentMessage } from '../pool/worker-messages.js'
import { isSherpaSettings, loadSherpa, type SherpaSettings } from './package.js'
import { SherpaSegments } from './segments.js'

const open = ({ config, sampleRateHz }: SherpaSettings, post: (message: FromWorker) => void): SherpaSegments => {
  const { OnlineRecognizer } = loadSherpa()
  const recognizer = new OnlineRecognizer(config)
  // Files that do not belong together are found out by decoding.
  const stream = recognizer.createStream()
  stream.acceptWaveform({ samples: new Float32Array(sampleRateHz), sampleRate: sampleRateHz })
  stream.inputFinished()
  while (recognizer.isReady(stream)) recognizer.decode(stream)
  recognizer.getResult(stream)
  return new SherpaSegments(recognizer, sampleRateHz, post, setImmediate)
}

const run = (): void => {
  const post = reportBusyTime((message) => process.send?.(message))
  let segments: SherpaSegments | undefined
  process.on('message', (message: unknown) => {
    if (segments !== undefined) segments.receive(message as SegmentMessage)
    else if (isSherpaSettings(message)) {
      segments = open(message, post)
      post({ type: 'ready' })
    }
  })
  // The service ends this process. A signal to all processes of a group, as Ctrl+C is, lets it end its sessions first, or reload.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  process.on('disconnect', () => process.exit())
}

// Importing this file has no effect unless it is the program of a process.
if (require.main === module) run()
