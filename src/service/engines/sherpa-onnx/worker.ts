import { isSpeechError } from '../../../errors/speech-error.js'
import { reportBusyTime, type FromWorker, type ToWorker } from '../pool/worker-messages.js'
import { Hotwords } from './hotwords.js'
import { createPhraseRecognizer } from './native-library.js'
import { isSherpaSettings, loadSherpa, type SherpaRecognizer, type SherpaSettings } from './package.js'
import { SherpaSegments } from './segments.js'

type Receive = (message: ToWorker) => void

const openRecognizer = (settings: SherpaSettings, hotwords: Hotwords | undefined): SherpaRecognizer => {
  if (hotwords !== undefined) return createPhraseRecognizer(settings.config, (phrases) => hotwords.textOf(phrases))
  const { OnlineRecognizer } = loadSherpa()
  return new OnlineRecognizer(settings.config)
}

const open = (settings: SherpaSettings, post: (message: FromWorker) => void): Receive => {
  const hotwords = settings.phrases ? new Hotwords(settings.config.modelConfig) : undefined
  const recognizer = openRecognizer(settings, hotwords)
  const { sampleRateHz } = settings
  // Files that do not belong together are found out by decoding.
  const stream = recognizer.createStream()
  stream.acceptWaveform({ samples: new Float32Array(sampleRateHz), sampleRate: sampleRateHz })
  stream.inputFinished()
  while (recognizer.isReady(stream)) recognizer.decode(stream)
  recognizer.getResult(stream)
  stream.free?.()
  const segments = new SherpaSegments(recognizer, sampleRateHz, post, setImmediate)
  return (message) => {
    if (message.type !== 'check-phrases') segments.receive(message)
    else post({ type: 'phrases-checked', check: message.check, faults: hotwords?.faultsOf(message.phrases) ?? [] })
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
