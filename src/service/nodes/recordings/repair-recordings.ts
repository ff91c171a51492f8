import { constants } from 'node:fs'
import { open, opendir, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { bytesPerFrame, type AudioFormat } from '../../../audio/format.js'
import { parseWavFormat } from '../../../audio/wav-format.js'
import { wavHeader } from '../../../audio/wav-header.js'

/** As the recorder names its files. */
const recordingName = /^[\w-]{1,64}-[\w-]{1,64}-(?:all|\d)(?:-\d{1,3})?\.wav$/
/** So many entries of the folder are looked at. */
const maxEntries = 10_000
const longestHeaderBytes = 58
const formatAt = 20

/**
 * Puts the sizes into the headers of recordings that a process left which was killed, so that they can be read: those with a
 * name and a header of the recorder, and no size in it. Looks at 10,000 files of the folder at most. A recording that another
 * process still writes is given the size of now, and its own when it ends. Gives how many were mended; a folder that is not
 * there has none.
 */
export const repairRecordings = async (folder: string): Promise<number> => {
  let mended = 0
  let looked = 0
  const entries = await opendir(folder).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  })
  for await (const entry of entries) {
    looked += 1
    if (looked > maxEntries) break
    if (entry.isFile() && recordingName.test(entry.name) && (await mendFile(join(folder, entry.name)))) mended += 1
  }
  return mended
}

const mendFile = async (path: string): Promise<boolean> => {
  const file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW).catch(() => undefined)
  if (file === undefined) return false
  try {
    const format = await unfinishedFormat(file)
    if (format === undefined) return false
    // Whoever writes it still may end it meanwhile, by a header of its own.
    let size = -1
    for (let now = (await file.stat()).size; now !== size; now = (await file.stat()).size) {
      size = now
      await writeSizes(file, format, size)
    }
    // A chunk of an odd length is followed by a zero byte (RIFF).
    if (audioIn(format, size) % 2 === 1) await file.write(new Uint8Array(1), 0, 1, size)
    return true
  } finally {
    await file.close()
  }
}

/** The format of a recording of ours whose header has no size yet; undefined for any other file. */
const unfinishedFormat = async (file: FileHandle): Promise<AudioFormat | undefined> => {
  const start = Buffer.alloc(longestHeaderBytes)
  const { bytesRead } = await file.read(start, 0, longestHeaderBytes, 0)
  try {
    const format = parseWavFormat(start.subarray(formatAt, bytesRead))
    const header = wavHeader(format)
    return start.subarray(0, Math.min(bytesRead, header.length)).equals(header) ? format : undefined
  } catch {
    return undefined
  }
}

/** Bytes of whole frames in a file of so many bytes. */
const audioIn = (format: AudioFormat, size: number): number => {
  const audioBytes = Math.max(0, size - wavHeader(format).length)
  return audioBytes - (audioBytes % bytesPerFrame(format))
}

const writeSizes = async (file: FileHandle, format: AudioFormat, size: number): Promise<void> => {
  const header = wavHeader(format, audioIn(format, size))
  await file.write(header, 0, header.length, 0)
}
