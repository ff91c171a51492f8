// The recording at the rate of the realtime interface of OpenAI.
import { readFile } from 'node:fs/promises'

const headerBytes = 44
export const rate = 24_000

const wav = await readFile(process.env.RECORDING)
const narrow = new Int16Array(wav.buffer.slice(wav.byteOffset + headerBytes, wav.byteOffset + wav.length))
const at = (index) => narrow[Math.min(index, narrow.length - 1)]

/** 24 kHz of 8 kHz. */
export const samples = Int16Array.from({ length: narrow.length * 3 }, (_, index) => {
  const before = Math.floor(index / 3)
  return at(before) + ((at(before + 1) - at(before)) * (index % 3)) / 3
})

/** The samples in parts of this duration. */
export const parts = (ms) => {
  const length = (rate * ms) / 1000
  return Array.from({ length: Math.ceil(samples.length / length) }, (_, index) =>
    samples.subarray(index * length, (index + 1) * length),
  )
}

export const bytesOf = (part) => new Uint8Array(part.buffer, part.byteOffset, part.byteLength)

export const base64Of = (part) => Buffer.from(bytesOf(part)).toString('base64')
