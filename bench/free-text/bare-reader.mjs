// The bare engine: whisper tiny.en of the package by sherpa-onnx in this process, without a service. WHISPER names
// other files of whisper, up to what their names have in common, and SILERO the file of Silero's voice activity.
import { createRequire } from 'node:module'

const { OfflineRecognizer, Vad } = createRequire(import.meta.url)('sherpa-onnx-node')

export const rateHz = 16_000

export const cpuSeconds = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

const packaged = new URL('../../packages/rxspeech-whisper-tiny-en/models/Default/English/1/tiny.en', import.meta.url)
  .pathname

export const openReader = (prefix = process.env['WHISPER'] ?? packaged) => {
  const recognizer = new OfflineRecognizer({
    modelConfig: {
      whisper: {
        encoder: `${prefix}-encoder.int8.onnx`,
        decoder: `${prefix}-decoder.int8.onnx`,
        tailPaddings: 1000,
        enableTokenTimestamps: 1,
      },
      tokens: `${prefix}-tokens.txt`,
      numThreads: 1,
    },
  })
  return (samples) => {
    const stream = recognizer.createStream()
    stream.acceptWaveform({ samples: Float32Array.from(samples, (value) => value / 32_768), sampleRate: rateHz })
    recognizer.decode(stream)
    return recognizer.getResult(stream)
  }
}

const windowSamples = 512

/**
 * Silero v5, frame by frame: the verdict of a window of 32 ms holds until the next one. `threshold` is its probability.
 */
export const openSilero = (threshold, model = process.env['SILERO']) => {
  const sileroVad = { model, threshold, minSilenceDuration: 0.001, minSpeechDuration: 0.001, windowSize: windowSamples }
  const vad = new Vad({ sileroVad, sampleRate: rateHz, numThreads: 1 }, 60)
  let window = new Float32Array(windowSamples)
  let filled = 0
  let isSpeech = false
  return (frame) => {
    for (const sample of frame) {
      window[filled++] = sample / 32_768
      if (filled < windowSamples) continue
      vad.acceptWaveform(window)
      window = new Float32Array(windowSamples)
      filled = 0
      isSpeech = vad.isDetected()
      while (!vad.isEmpty()) vad.pop()
    }
    return isSpeech
  }
}

/** Cuts a long span at the quietest 100 ms of the last third of what can be read, as `[fromMs, toMs]` each. */
export const piecesOf = (samples, [startMs, endMs], maxReadingMs) => {
  const pieces = []
  let fromMs = startMs
  while (endMs - fromMs > maxReadingMs) {
    let quietest = Infinity
    let cutMs = fromMs + maxReadingMs
    for (let ms = fromMs + (2 / 3) * maxReadingMs; ms < fromMs + maxReadingMs; ms += 20) {
      let power = 0
      for (let at = ms * 16; at < (ms + 100) * 16; at += 1) power += samples[at] ** 2
      if (power < quietest) [quietest, cutMs] = [power, ms + 50]
    }
    pieces.push([fromMs, cutMs])
    fromMs = cutMs
  }
  return [...pieces, [fromMs, endMs]]
}
