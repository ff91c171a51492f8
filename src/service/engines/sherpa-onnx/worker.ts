import { isSpeechError } from '../../../errors/speech-error.js'
import { reportBusyTime, type FromWorker, type ToWorker } from '../pool/worker-messages.js'
import { isSherpaSettings, loadSherpa, type SherpaSettings } from './package.js'
import { SherpaSegments } from './segments.js'

type Receive = (message: ToWorker) => void

const open = ({ config, sampleRateHz }: SherpaSettings, post: (message: FromWorker) => void): Receive => {
  const { OnlineRecognizer } = loadSherpa()
  const recognizer = new OnlineRecognizer(config)
  // Files that do not belong together are found out by decoding.
  const stream = recognizer.createStream()
  stream.acceptWaveform({ samples: new Float32Array(sampleRateHz), sampleRate: sampleRateHz })
  stream.inputFinished()
  while (recognizer.isReady(stream)) recognizer.decode(stream)
  recognizer.getResult(stream)
  const segments = new SherpaSegments(recognizer, sampleRateHz, post, setImmediate)
  return (message) => {
    if (message.type !== 'check-phrases') segments.receive(message)
  }
}

const run = (): void => {
  const post = reportBusyTime((message) => process.send?.(message))
  let receive: Receive | undefined
  process.on('message', (message: unknown) => {
    if (receive !== undefined) receive(message as ToWorker)
    else if (isSherpaSettings(message)) {
      try {
        receive = open(message, post)
        post({ type: 'ready' })
      } catch (error) {
        if (!isSpeechError(error)) throw error
        post({ type: 'refused', sentence: error.message })
      }
    }
  })
  // The service ends this process. A signal to all processes of a group, as Ctrl+C is, lets it end its sessions first, or reload.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  process.on('disconnect', () => process.exit())
}

// Importing this file has no effect unless it is the program of a process.
if (require.main === module) run()
