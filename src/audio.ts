/**
 * Primitives of audio for programs that make or read it themselves: bytes and durations of a format, samples, G.711,
 * the header of a WAV file, and a clock of samples. For Node and browsers.
 *
 * @module rxspeech/audio
 */
export { type AudioFormat, type Encoding, bytesForMs, msForBytes } from './audio/format.js'
export { decodeALaw, decodeMuLaw, encodeALaw, encodeMuLaw } from './audio/g711.js'
export { bytesOf, samplesOf } from './audio/pcm.js'
export { wavHeader } from './audio/wav-header.js'
export { sampleClock, type SampleClock, type SampleClockOptions } from './operators/metrics/sample-clock.js'
