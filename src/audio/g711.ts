/**
 * ITU-T G.711 with tables. 16-bit samples are the 14-bit (µ-law) and 13-bit (A-law) values of the standard with two and
 * three additional low bits, so full scale stays full scale. G.711 does not define the interval of an input that equals
 * a decision value; here it is the one above, for either sign, as in the reference software of the ITU (G.191).
 */

const signBit = 0x80
/** µ-law adds 33 to the 14-bit magnitude, so that every segment begins at a power of two. */
const muLawBias = 33
const muLawMax = 0x1fff
/** A-law inverts every second bit of a code (G.711, note to table 1a). */
const aLawMask = 0x55

const decodeMuLawCode = (code: number): number => {
  const inverted = ~code & 0xff
  const segment = (inverted >> 4) & 7
  const magnitude = ((((inverted & 15) << 1) + muLawBias) << segment) - muLawBias
  return (inverted & signBit ? -magnitude : magnitude) * 4
}

const encodeMuLawSample = (sample: number): number => {
  const magnitude = Math.min(((sample < 0 ? ~sample : sample) >> 2) + muLawBias, muLawMax)
  const segment = 26 - Math.clz32(magnitude)
  const step = (magnitude >> (segment + 1)) & 15
  return ~((sample < 0 ? signBit : 0) | (segment << 4) | step) & 0xff
}

const decodeALawCode = (code: number): number => {
  const plain = code ^ aLawMask
  const segment = (plain >> 4) & 7
  const step = ((plain & 15) << 1) + 1
  const magnitude = segment === 0 ? step : (step + 32) << (segment - 1)
  return (plain & signBit ? magnitude : -magnitude) * 8
}

const encodeALawSample = (sample: number): number => {
  const magnitude = (sample < 0 ? ~sample : sample) >> 4
  const segment = Math.max(28 - Math.clz32(magnitude), 0)
  const step = (magnitude >> Math.max(segment - 1, 0)) & 15
  return ((sample < 0 ? 0 : signBit) | (segment << 4) | step) ^ aLawMask
}

/** Builds a table on first use, so that the import has no cost. It is pure, so that bundlers can leave it out. */
const lazy = <Table>(build: () => Table): (() => Table) => {
  let table: Table | undefined
  return () => (table ??= build())
}

const decodeTable = (decode: (code: number) => number): Int16Array =>
  Int16Array.from({ length: 256 }, (_, i) => decode(i))

/** The index is the sample as an unsigned 16-bit number. */
const encodeTable = (encode: (sample: number) => number): Uint8Array =>
  Uint8Array.from({ length: 65536 }, (_, i) => encode((i << 16) >> 16))

/** The sample of each code. */
export const muLawSamples = /* @__PURE__ */ lazy(() => decodeTable(decodeMuLawCode))
const muLawCodes = /* @__PURE__ */ lazy(() => encodeTable(encodeMuLawSample))
/** The sample of each code. */
export const aLawSamples = /* @__PURE__ */ lazy(() => decodeTable(decodeALawCode))
const aLawCodes = /* @__PURE__ */ lazy(() => encodeTable(encodeALawSample))

const expand = (codes: Uint8Array, table: Int16Array): Int16Array => {
  const samples = new Int16Array(codes.length)
  for (let i = 0; i < codes.length; i++) samples[i] = table[codes[i] ?? 0] ?? 0
  return samples
}

const compress = (samples: Int16Array, table: Uint8Array): Uint8Array => {
  const codes = new Uint8Array(samples.length)
  for (let i = 0; i < samples.length; i++) codes[i] = table[(samples[i] ?? 0) & 0xffff] ?? 0
  return codes
}

/**
 * Decodes µ-law to 16-bit samples, −32124 to 32124 (ITU-T G.711, tables 2a and 2b).
 *
 * @example
 * const samples = decodeMuLaw(Uint8Array.of(0xff)) // Int16Array [0]
 */
export const decodeMuLaw = (bytes: Uint8Array): Int16Array => expand(bytes, muLawSamples())

/**
 * Encodes 16-bit samples as µ-law, one byte each; clips magnitudes over 32635 (ITU-T G.711, tables 2a and 2b).
 *
 * @example
 * const bytes = encodeMuLaw(Int16Array.of(0)) // Uint8Array [0xff]
 */
export const encodeMuLaw = (samples: Int16Array): Uint8Array => compress(samples, muLawCodes())

/**
 * Decodes A-law to 16-bit samples, −32256 to 32256 (ITU-T G.711, tables 1a and 1b).
 *
 * @example
 * const samples = decodeALaw(Uint8Array.of(0xd5)) // Int16Array [8]
 */
export const decodeALaw = (bytes: Uint8Array): Int16Array => expand(bytes, aLawSamples())

/**
 * Encodes 16-bit samples as A-law, one byte each (ITU-T G.711, tables 1a and 1b).
 *
 * @example
 * const bytes = encodeALaw(Int16Array.of(8)) // Uint8Array [0xd5]
 */
export const encodeALaw = (samples: Int16Array): Uint8Array => compress(samples, aLawCodes())
