import { isSherpaSettings, loadSherpa, type SherpaSettings } from './package.js'

/** Loads the model and decodes a second of silence. Files that are broken end this process, not the service. */
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
  process.stdin.on('data', (chunk: string) => (text += chunk))
  process.stdin.on('end', () => {
    const settings: unknown = JSON.parse(text)
    if (isSherpaSettings(settings)) tryModel(settings)
    else process.exitCode = 2
  })
}

// Importing this file has no effect unless it is the program of a process.
if (require.main === module) run()
