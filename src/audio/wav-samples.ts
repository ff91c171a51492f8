import { bytesOf } from './pcm.js'

/** How a WAV file stores its samples. The first three are streamed as they are, the others as 16-bit PCM. */
export type WavSamples = 'pcm' | 'alaw' | 'ulaw' | 'pcm8' | 'pcm24' | 'pcm32' | 'float32' | 'float64'

export const wavSampleBytes: Readonly<Record<WavSamples, number>> = {
  pcm: 2,
  alaw: 1,
  ulaw: 1,
  pcm8: 1,
  pcm24: 3,
  pcm32: 4,
  float32: 4,
  float64: 8,
}

const clip = (value: number): number => Math.max(-0x8000, Math.min(0x7fff, Math.round(value)))

/** Reads the sample at an offset, on the scale of 16 bits. */
const readers: Partial<Readonly<Record<WavSamples, (view: DataView, offset: number) => number>>> = {
  // The only unsigned one (RIFF specification of 1991, chapter 3).
  pcm8: (view, offset) => (view.getUint8(offset) - 128) * 256,
  pcm24: (view, offset) => (view.getInt16(offset + 1, true) * 256 + view.getUint8(offset)) / 256,
  pcm32: (view, offset) => view.getInt32(offset, true) / 65_536,
  // Not a number is silence.
  float32: (view, offset) => (view.getFloat32(offset, true) || 0) * 32_768,
  float64: (view, offset) => (view.getFloat64(offset, true) || 0) * 32_768,
}

/** Whole samples of a WAV file as they are streamed: themselves, or 16-bit PCM, rounded and clipped. */
export const streamedSamples = (stored: WavSamples, bytes: Uint8Array): Uint8Array => {
  const read = readers[stored]
  if (read === undefined) return bytes
  const sampleBytes = wavSampleBytes[stored]
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const samples = new Int16Array(bytes.length / sampleBytes)
  for (let index = 0; index < samples.length; index++) samples[index] = clip(read(view, index * sampleBytes))
  return bytesOf(samples)
}
