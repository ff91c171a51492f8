import { SpeechError } from '../errors/speech-error.js'
import { machineIsLittleEndian } from './pcm.js'

/** The bytes if a typed array with elements of `alignment` bytes can view them; otherwise a copy. */
const aligned = (bytes: Uint8Array, alignment: 2 | 4): Uint8Array =>
  bytes.byteOffset % alignment === 0 ? bytes : new Uint8Array(bytes)

const viewInt16 = (bytes: Uint8Array): Int16Array => {
  const source = aligned(bytes, 2)
  return new Int16Array(source.buffer, source.byteOffset, source.length / 2)
}

const viewInt32 = (bytes: Uint8Array): Int32Array => {
  const source = aligned(bytes, 4)
  return new Int32Array(source.buffer, source.byteOffset, source.length / 4)
}

const frameOf = (left = 0, right = 0): number => (left & 0xffff) | (right << 16)

/** Writes each stereo frame of PCM as one 32-bit number, four per turn of the loop. Little-endian machines only. */
const interleavePairs = (leftBytes: Uint8Array, rightBytes: Uint8Array): Uint8Array => {
  const left = viewInt16(leftBytes)
  const right = viewInt16(rightBytes)
  const frames = new Int32Array(left.length)
  let i = 0
  for (; i + 3 < frames.length; i += 4) {
    frames[i] = frameOf(left[i], right[i])
    frames[i + 1] = frameOf(left[i + 1], right[i + 1])
    frames[i + 2] = frameOf(left[i + 2], right[i + 2])
    frames[i + 3] = frameOf(left[i + 3], right[i + 3])
  }
  for (; i < frames.length; i++) frames[i] = frameOf(left[i], right[i])
  return new Uint8Array(frames.buffer)
}

const deinterleavePairs = (bytes: Uint8Array): [Uint8Array, Uint8Array] => {
  const frames = viewInt32(bytes)
  const left = new Int16Array(frames.length)
  const right = new Int16Array(frames.length)
  for (let i = 0; i < frames.length; i++) {
    const frame = frames[i] ?? 0
    left[i] = frame
    right[i] = frame >> 16
  }
  return [new Uint8Array(left.buffer), new Uint8Array(right.buffer)]
}

/**
 * Interleaves two channels, left sample first (PROTOCOL 3.2). Returns a new array. Throws `cut-sample` if the channels
 * differ in length or are not whole samples.
 */
export const interleaveChannels = (left: Uint8Array, right: Uint8Array, bytesPerSample: 1 | 2): Uint8Array => {
  if (left.length !== right.length || left.length % bytesPerSample !== 0) {
    const sizes = `${left.length} and ${right.length} bytes`
    throw new SpeechError('cut-sample', `Channels of ${sizes} are not equally many samples of ${bytesPerSample} bytes.`)
  }
  if (bytesPerSample === 2 && machineIsLittleEndian) return interleavePairs(left, right)
  const frames = new Uint8Array(left.length * 2)
  for (let from = 0; from < left.length; from += bytesPerSample) {
    for (let i = 0; i < bytesPerSample; i++) {
      frames[2 * from + i] = left[from + i] ?? 0
      frames[2 * from + bytesPerSample + i] = right[from + i] ?? 0
    }
  }
  return frames
}

/**
 * Splits frames into `[left, right]`, two new arrays. Throws `cut-sample` if the bytes are not whole frames of two
 * channels.
 */
export const deinterleaveChannels = (bytes: Uint8Array, bytesPerSample: 1 | 2): [Uint8Array, Uint8Array] => {
  const bytesPerFrame = 2 * bytesPerSample
  if (bytes.length % bytesPerFrame !== 0) {
    throw new SpeechError('cut-sample', `${bytes.length} bytes are not whole stereo frames of ${bytesPerFrame} bytes.`)
  }
  if (bytesPerSample === 2 && machineIsLittleEndian) return deinterleavePairs(bytes)
  const left = new Uint8Array(bytes.length / 2)
  const right = new Uint8Array(bytes.length / 2)
  for (let to = 0; to < left.length; to += bytesPerSample) {
    for (let i = 0; i < bytesPerSample; i++) {
      left[to + i] = bytes[2 * to + i] ?? 0
      right[to + i] = bytes[2 * to + bytesPerSample + i] ?? 0
    }
  }
  return [left, right]
}
