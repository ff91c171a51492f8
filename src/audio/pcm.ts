import { SpeechError } from '../errors/speech-error.js'

/** Whether typed arrays of this machine have the byte order of PCM on the wire. */
export const machineIsLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

/** A copy with the two bytes of every sample swapped. */
export const swapBytePairs = (bytes: Uint8Array): Uint8Array => {
  const swapped = new Uint8Array(bytes.length)
  for (let i = 0; i + 1 < bytes.length; i += 2) {
    swapped[i] = bytes[i + 1] ?? 0
    swapped[i + 1] = bytes[i] ?? 0
  }
  return swapped
}

/**
 * Decodes 16-bit signed little-endian PCM. Shares the memory of `bytes` if possible (little-endian machine, even byte
 * offset) and copies otherwise, so do not write to either afterwards. Throws `cut-sample` if the bytes are not whole
 * samples.
 *
 * @example
 * const samples = samplesOf(Uint8Array.of(0, 0, 255, 127)) // Int16Array [0, 32767]
 */
export const samplesOf = (bytes: Uint8Array): Int16Array => {
  if (bytes.length % 2 !== 0) {
    throw new SpeechError('cut-sample', `${bytes.length} bytes are not whole samples of 2 bytes.`)
  }
  if (!machineIsLittleEndian) return new Int16Array(swapBytePairs(bytes).buffer)
  // The constructor also copies a Node Buffer, whose slice() would return another view at the odd offset.
  const aligned = bytes.byteOffset % 2 === 0 ? bytes : new Uint8Array(bytes)
  return new Int16Array(aligned.buffer, aligned.byteOffset, aligned.length / 2)
}

/**
 * Encodes 16-bit signed little-endian PCM: a view of the same memory on a little-endian machine.
 *
 * @example
 * const pcm = bytesOf(Int16Array.of(0, 32_767)) // Uint8Array [0, 0, 255, 127]
 */
export const bytesOf = (samples: Int16Array): Uint8Array => {
  const bytes = new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength)
  return machineIsLittleEndian ? bytes : swapBytePairs(bytes)
}
