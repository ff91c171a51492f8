import type { ByteReader } from './byte-reader.js'

/**
 * Whether a length is a placeholder of a writer to a pipe. The ranges contain 0xffffffff minus a header, and the
 * numbers near 2^31 that recorders use for an unknown end.
 */
export const isStreamedLength = (byteCount: number): boolean =>
  byteCount === 0 || byteCount >= 0xfffff000 || (byteCount >= 0x7ffff000 && byteCount <= 0x80000000)

export const nameAt = (bytes: Uint8Array, offset: number): string =>
  String.fromCharCode(...bytes.subarray(offset, offset + 4))

export const lengthAt = (bytes: Uint8Array, offset: number): number =>
  new DataView(bytes.buffer, bytes.byteOffset).getUint32(offset, true)

/** The name of a chunk for a message; characters that are not printable ASCII become dots. */
export const printable = (name: string): string => name.replace(/[^\x20-\x7e]/g, '.')

/** Of a file with 64-bit lengths (EBU Tech 3306, ITU-R BS.2088), the others. */
export const riffNames = ['RIFF', 'RF64', 'BW64']

/** Chunks that are in many files: their names show where a chunk begins. */
export const knownChunks = [
  'fmt ',
  'data',
  'LIST',
  'fact',
  'JUNK',
  'PEAK',
  'bext',
  'cue ',
  'smpl',
  'id3 ',
  'iXML',
  ...riffNames,
]

/** Whether a chunk may begin here: a name of printable ASCII, and a length that samples do not have there. */
export const looksLikeChunk = (bytes: Uint8Array, offset: number): boolean =>
  knownChunks.includes(nameAt(bytes, offset)) ||
  (/^[\x20-\x7e]{4}$/.test(nameAt(bytes, offset)) && lengthAt(bytes, offset + 4) < maxOtherChunkBytes)

const maxOtherChunkBytes = 2 ** 24

/**
 * The name and the length of the next chunk, which stay to be read. Skips the byte after a chunk of an odd length,
 * whatever it is, unless the next chunk begins there, because the writer omitted it.
 */
export const peekHead = async (reader: ByteReader, isAfterOdd: boolean): Promise<Uint8Array> => {
  if (!isAfterOdd) return reader.peek(8)
  const bytes = await reader.peek(9)
  if (bytes.length < 9) return bytes.subarray(0, 8)
  const isOmitted = knownChunks.includes(nameAt(bytes, 0)) || !looksLikeChunk(bytes, 1)
  if (!isOmitted) await reader.skip(1)
  return isOmitted ? bytes.subarray(0, 8) : bytes.subarray(1)
}

const isFileAt = (bytes: Uint8Array, offset: number): boolean =>
  riffNames.includes(nameAt(bytes, offset)) && nameAt(bytes, offset + 8) === 'WAVE'

/** Where a file begins among samples, or may begin, because its first bytes are the last ones here. */
const fileStart = (bytes: Uint8Array): number => {
  for (let at = nextInitial(bytes, 0); at < bytes.length; at = nextInitial(bytes, at + 1)) {
    const begins = nameAt(bytes, at)
    const isWhole = at + 12 <= bytes.length
    if (isWhole ? isFileAt(bytes, at) : riffNames.some((name) => name.startsWith(begins))) return at
  }
  return -1
}

/** Where a letter with which a name of `riffNames` begins is next; the length if there is none. */
const nextInitial = (bytes: Uint8Array, from: number): number => {
  let at = from
  while (at < bytes.length && bytes[at] !== 0x52 && bytes[at] !== 0x42) at += 1
  return at
}

/** The next bytes of samples of unknown length; undefined at the end of the source, and before another WAV file. */
export const takeBeforeFile = async (reader: ByteReader): Promise<Uint8Array | undefined> => {
  const bytes = await reader.take(Infinity)
  const at = bytes === undefined ? -1 : fileStart(bytes)
  if (bytes === undefined || at < 0) return bytes
  reader.unread(bytes.subarray(at))
  if (at > 0) return bytes.subarray(0, at)
  return isFileAt(await reader.peek(12), 0) ? undefined : reader.take(1)
}
