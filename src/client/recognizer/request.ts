import type { RecognizeRequest } from '../../protocol/recognizer-messages.js'
import type { RecognizeOptions } from './recognize-on.js'

/** The request of a recognition with these options (PROTOCOL 4.2). */
export const recognizeRequestOf = (options: RecognizeOptions): RecognizeRequest => {
  const { voiceActivity: vad = {} } = options
  return {
    audioFormat: 'pcm',
    modelName: options.model,
    modelTenant: options.tenant,
    modelVersion: options.modelVersion,
    sampleRateHz: options.format.sampleRateHz,
    audioSplitter: options.audioSplitter,
    vadSensitivity: vad.sensitivity,
    vadPreSpeechBufferMs: vad.preSpeechBufferMs,
    vadPostSpeechBufferMs: vad.postSpeechBufferMs,
    vadMaxSpeechDurationMs: vad.maxSpeechDurationMs,
    vadSilenceTriggerMs: vad.silenceTriggerMs,
    vadCompleteSilenceMs: vad.completeSilenceMs,
    vadGracefulSilenceThresholdMs: vad.gracefulSilenceThresholdMs,
    reject: options.reject,
    phrases: options.phrases,
  }
}
