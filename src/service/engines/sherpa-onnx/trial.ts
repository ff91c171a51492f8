import { loadSherpa } from './package.js'
import { isSherpaSettings, type SherpaSettings } from './worker-settings.js'

/** Loads the model and has it read a second of silence; what is wrong with its files ends this process, not the service. */
const tryModel = ({ config, sampleRateHz }: SherpaSettings): void => {
  const { OnlineRecognizer } = loadSherpa()
  const recognizer = new OnlineRecognizer(config)
  const stream = recognizer.createStream()
  stream.acceptWaveform({ samples: new Float32Array(sampleRateHz), sampleRate: sampleRateHz })
  stream.inputFinished()
  while (recognizer.isReady(stream)) recognizer.decode(stream)
  recognizer.getResult(stream)
}

const run = (): void => {
  let text = ''
  process.stdin.setEncoding('utf8')
  process.stdin.on('data', (part: string) => (text += part))
  process.stdin.on('end', () => {
    const settings: unknown = JSON.parse(text)
    if (isSherpaSettings(settings)) tryModel(settings)
    else process.exitCode = 2
  })
}

// Only where it is what a process was started for; to import this file does nothing
if (require.main === module) run()
