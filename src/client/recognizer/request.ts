import type { RecognizeRequest } from '../../protocol/recognizer-messages.js'
import type { RecognizeOptions } from './recognize-on.js'

/** The request of a recognition with these options (PROTOCOL 4.2). */
export const recognizeRequestOf = (options: RecognizeOptions): RecognizeRequest => ({
  audioFormat: 'pcm',
  modelName: options.model,
  modelTenant: options.tenant,
  modelVersion: options.modelVersion,
  sampleRateHz: options.format.sampleRateHz,
  audioSplitter: options.audioSplitter,
  // The fields have the names of the options, which were checked: `sensitivity` is `vadSensitivity`. Pages load this.
  ...Object.fromEntries(
    Object.entries(options.voiceActivity ?? {}).map(([name, value]) => [
      name.replace(/./, (letter) => `vad${letter.toUpperCase()}`),
      value,
    ]),
  ),
  reject: options.reject,
  phrases: options.phrases,
})
