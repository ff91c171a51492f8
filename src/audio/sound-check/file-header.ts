/** How many bytes from the beginning of a stream are examined for a header. */
export const headBytes = 1600

const ascii = (text: string): Uint8Array => Uint8Array.from(text, (character) => character.charCodeAt(0))

interface Signature {
  readonly found: string
  readonly offset: number
  readonly bytes: Uint8Array
  /** Whether it is also expected at the beginning of a later message: long enough that samples never look like it. */
  readonly isLong: boolean
}

const signature = (found: string, bytes: Uint8Array, { offset = 0, isLong = false } = {}): Signature => ({
  found,
  offset,
  bytes,
  isLong,
})

const signatures: readonly Signature[] = [
  signature('WAV', ascii('WAVE'), { offset: 8, isLong: true }),
  signature('Ogg', ascii('OggS\0'), { isLong: true }),
  signature('MP3', ascii('ID3')),
  signature('FLAC', ascii('fLaC')),
  signature('WebM', Uint8Array.of(0x1a, 0x45, 0xdf, 0xa3)),
  signature('MP4', ascii('ftyp'), { offset: 4, isLong: true }),
  signature('AMR', ascii('#!AMR')),
  signature('AIFF', ascii('AIF'), { offset: 8, isLong: true }),
  signature('AU', ascii('.snd')),
  signature('CAF', ascii('caff')),
  signature('gzip', Uint8Array.of(0x1f, 0x8b, 0x08)),
  signature('ZIP', ascii('PK\x03\x04')),
  signature('WMA', Uint8Array.of(0x30, 0x26, 0xb2, 0x75, 0x8e, 0x66)),
  signature('Wave64', Uint8Array.of(0x72, 0x69, 0x66, 0x66, 0x2e, 0x91)),
  signature('SPHERE', ascii('NIST_1A')),
  signature('VOC', ascii('Creative')),
]

/** What a signature alone does not tell: the four bytes before `WAVE`, for example. */
const isConfirmed = (found: string, bytes: Uint8Array, from: number): boolean => {
  const at = (offset: number): number => bytes[from + offset] ?? -1
  switch (found) {
    case 'WAV':
      // RIFF, RIFX or RF64
      return at(0) === 0x52 && (at(1) === 0x49 || at(1) === 0x46)
    case 'AIFF':
      return at(0) === 0x46 && at(1) === 0x4f && at(2) === 0x52 && at(3) === 0x4d
    case 'MP3':
      return at(3) >= 2 && at(3) <= 4 && at(4) === 0
    case 'MP4':
      return at(0) === 0 && at(1) === 0
    default:
      return true
  }
}

/** The format of the file whose header is at `from`, if there is one. `isStart` is the beginning of the stream. */
export const headerAt = (bytes: Uint8Array, from: number, to: number, isStart: boolean): string | undefined => {
  for (const { found, offset, bytes: expected, isLong } of signatures) {
    if ((isLong || isStart) && matches(bytes, from + offset, to, expected) && isConfirmed(found, bytes, from)) {
      return found
    }
  }
  return isStart ? (frameFormat(bytes, from, to) ?? (isText(bytes, from, to) ? 'text' : undefined)) : undefined
}

const matches = (bytes: Uint8Array, from: number, to: number, expected: Uint8Array): boolean => {
  if (from + expected.length > to) return false
  for (let i = 0; i < expected.length; i++) if (bytes[from + i] !== expected[i]) return false
  return true
}

/** The position of a WAV header in the middle of audio, as when files are joined; -1 without one. */
export const findWavHeader = (bytes: Uint8Array, to: number): number => {
  for (let at = bytes.indexOf(0x52); at >= 0 && at + 12 <= to; at = bytes.indexOf(0x52, at + 1)) {
    if (bytes[at + 1] === 0x49 && bytes[at + 2] === 0x46 && headerAt(bytes, at, to, false) === 'WAV') return at
  }
  return -1
}

const mp3BitRates = [
  // MPEG 1, layer III, and MPEG 2, layer III, in kbit/s (ISO/IEC 11172-3, 2.4.2.3 and ISO/IEC 13818-3, 2.4.2.3)
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0],
] as const
const mp3Rates = [44_100, 48_000, 32_000, 0] as const

/** MP3 without a tag, or AAC in ADTS: a frame, and where it says that it ends, another one. */
const frameFormat = (bytes: Uint8Array, from: number, to: number): string | undefined => {
  const [first = 0, second = 0, third = 0] = [bytes[from], bytes[from + 1], bytes[from + 2]]
  if (first !== 0xff) return undefined
  const isNext = (length: number): boolean =>
    length > 24 && from + length + 1 < to && bytes[from + length] === 0xff && bytes[from + length + 1] === second
  if ((second & 0xf6) === 0xf0) {
    const length = ((bytes[from + 3] ?? 0) & 3) * 2048 + (bytes[from + 4] ?? 0) * 8 + ((bytes[from + 5] ?? 0) >> 5)
    return isNext(length) ? 'AAC' : undefined
  }
  if ((second & 0xe6) !== 0xe2) return undefined
  const version = (second >> 3) & 3
  const isFirst = version === 3
  const bitRate = (mp3BitRates[isFirst ? 0 : 1][third >> 4] ?? 0) * 1000
  const rate = (mp3Rates[(third >> 2) & 3] ?? 0) / (isFirst ? 1 : version === 2 ? 2 : 4)
  if (bitRate === 0 || rate === 0) return undefined
  return isNext(Math.floor(((isFirst ? 144 : 72) * bitRate) / rate) + ((third >> 1) & 1)) ? 'MP3' : undefined
}

const minTextBytes = 32
/** The bytes of samples that follow each other are closer than the letters of a text, where they have one sign. */
const minTextStep = 8
const minNumberStep = 5

/**
 * Letters, digits and signs only, not in the order of a waveform: of three of the four rows of ASCII, or numbers, which
 * a waveform through their range is not, because they lack what is between the digits and the letters.
 */
export const isText = (bytes: Uint8Array, from: number, end: number): boolean => {
  if (end - from < minTextBytes) return false
  let rows = 0
  let steps = 0
  let digits = 0
  let between = 0
  for (let i = from; i < end; i++) {
    const byte = bytes[i] ?? 0
    const isLetter = (byte >= 0x20 && byte < 0x7f) || byte === 0x0a || byte === 0x0d || byte === 0x09
    if (!isLetter) return false
    rows |= 1 << (byte >> 5)
    if (byte >= 0x30 && byte <= 0x40) {
      if (byte < 0x3a) digits += 1
      else between += 1
    }
    if (i > from) steps += Math.abs(byte - (bytes[i - 1] ?? 0))
  }
  const rowCount = ((rows >> 1) & 1) + ((rows >> 2) & 1) + ((rows >> 3) & 1)
  const step = steps / (end - from)
  if (rowCount === 3 && step >= minTextStep) return true
  return between === 0 && digits >= (end - from) / 3 && step >= minNumberStep
}
