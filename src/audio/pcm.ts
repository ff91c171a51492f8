import { SpeechError } from '../errors/speech-error.js'

/** Whether typed arrays of this machine lie in memory as PCM lies on the wire. */
export const machineIsLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

/** A copy with the two bytes of every sample exchanged. */
export const swapBytePairs = (bytes: Uint8Array): Uint8Array => {
  const swapped = new Uint8Array(bytes.length)
  for (let i = 0; i + 1 < bytes.length; i += 2) {
    swapped[i] = bytes[i + 1] ?? 0
    swapped[i + 1] = bytes[i] ?? 0
  }
  return swapped
}

/**
 * 16-bit signed little-endian PCM as numbers. Shares the memory of `bytes` where the machine allows it
 * (little-endian, even byte offset) and copies otherwise, so write to neither afterwards.
 * Throws `cut-sample` when the bytes are not whole samples.
 */
export const samplesOf = (bytes: Uint8Array): Int16Array => {
  if (bytes.length % 2 !== 0) {
    throw new SpeechError('cut-sample', `${bytes.length} bytes are not whole samples of 2 bytes.`)
  }
  if (!machineIsLittleEndian) return new Int16Array(swapBytePairs(bytes).buffer)
  // The constructor copies even where `bytes` is a Node Buffer, whose slice() would only make another odd view.
  const aligned = bytes.byteOffset % 2 === 0 ? bytes : new Uint8Array(bytes)
  return new Int16Array(aligned.buffer, aligned.byteOffset, aligned.length / 2)
}

/** The samples as 16-bit signed little-endian PCM: a view of the same memory on a little-endian machine. */
export const bytesOf = (samples: Int16Array): Uint8Array => {
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)
  return machineIsLittleEndian ? bytes : swapBytePairs(bytes)
}
