import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { reportBusyTime, type FromWorker, type ToWorker } from '../pool/worker-messages.js'
import {
  isSherpaSettings,
  loadSherpa,
  sherpaRefusal,
  type SherpaPackage,
  type SherpaPunctuation,
  type SherpaRecognizer,
  type SherpaSettings,
} from './package.js'
import { SherpaReadings } from './readings.js'
import { SherpaSegments } from './segments.js'

type Receive = (message: ToWorker) => void
type Post = (message: FromWorker) => void

/** Behind what a model needs to decode the last words, in milliseconds. */
const moreTailMs = 200
/** No model looks ahead further. */
const maxTailMs = 10_000
const stepMs = 10

/** How much silence a stream needs until it is decoded, in milliseconds. */
const lookAheadMs = (recognizer: SherpaRecognizer, sampleRate: number): number => {
  const stream = recognizer.createStream()
  const samples = new Float32Array((sampleRate * stepMs) / 1000)
  let ms = 0
  for (; ms < maxTailMs && !recognizer.isReady(stream); ms += stepMs) stream.acceptWaveform({ samples, sampleRate })
  // Files that do not belong together are found out by decoding.
  while (recognizer.isReady(stream)) recognizer.decode(stream)
  recognizer.getResult(stream)
  return ms
}

const openStreaming = (
  sherpa: SherpaPackage,
  { config, sampleRateHz, ...settings }: SherpaSettings,
  punctuation: SherpaPunctuation | undefined,
  post: Post,
): Receive => {
  const recognizer = new sherpa.OnlineRecognizer(config)
  const tailMs = lookAheadMs(recognizer, sampleRateHz) + moreTailMs
  const segments = new SherpaSegments(
    recognizer,
    { ...settings, sampleRateHz, tailMs, punctuation },
    post,
    setImmediate,
  )
  return (message) => {
    if (message.type !== 'check-phrases') segments.receive(message)
  }
}

const openOffline = async (
  sherpa: SherpaPackage,
  settings: SherpaSettings,
  punctuation: SherpaPunctuation | undefined,
  post: Post,
): Promise<Receive> => {
  const recognizer = await sherpa.OfflineRecognizer.createAsync(settings.config)
  const stream = recognizer.createStream()
  const { sampleRateHz: sampleRate, languageSetting, language } = settings
  if (languageSetting.by === 'stream' && language !== undefined) stream.setOption(languageSetting.option, language)
  stream.acceptWaveform({ samples: new Float32Array(sampleRate), sampleRate })
  await recognizer.decodeAsync(stream)
  let isWorn = false
  const readings = new SherpaReadings(
    recognizer,
    settings,
    (message) => {
      post(message)
      if (isWorn || process.memoryUsage.rss() < settings.maxProcessBytes) return
      isWorn = true
      post({ type: 'worn' })
    },
    punctuation,
  )
  return (message) => {
    if (message.type === 'check-phrases') post({ type: 'phrases-checked', check: message.check, faults: [] })
    else readings.receive(message)
  }
}

const open = async (settings: SherpaSettings, post: Post): Promise<Receive> => {
  const sherpa = loadSherpa()
  const { punctuation: helper, streaming } = settings
  const Punctuation = helper?.streaming === true ? sherpa.OnlinePunctuation : sherpa.OfflinePunctuation
  const punctuation = helper === undefined ? undefined : new Punctuation(helper.config)
  return streaming
    ? openStreaming(sherpa, settings, punctuation, post)
    : openOffline(sherpa, settings, punctuation, post)
}

/** How long all threads of this process have worked, in milliseconds: those of the library read. */
const workedMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

const run = (): void => {
  const post = reportBusyTime((message) => process.send?.(message), workedMs)
  let receive: Receive | undefined
  const start = async (settings: SherpaSettings): Promise<void> => {
    try {
      receive = await open(settings, post)
      post({ type: 'ready' })
    } catch (error) {
      const sentence = isSpeechError(error) ? error.message : sherpaRefusal
      // The end of this process reports it as the cause.
      process.stderr.write(`${String(error)}\n`, () => post({ type: 'refused', sentence }))
    }
  }
  process.on('message', (message: unknown) => {
    if (receive !== undefined) receive(message as ToWorker)
    else if (isSherpaSettings(message)) void start(message)
  })
  // The service ends this process. A signal to all processes of a group, as Ctrl+C is, lets it end its sessions first,
  // or reload.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  process.on('disconnect', () => process.exit())
}

// Importing this file has no effect unless it is the program of a process.
if (require.main === module) run()
