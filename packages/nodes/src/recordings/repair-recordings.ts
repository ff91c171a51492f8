import { constants } from 'node:fs'
import { open, opendir, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { type AudioFormat, bytesPerFrame } from 'rxspeech-server/nodes'
import { parseWavFormat, wavHeader } from 'rxspeech/internal/audio/wav-header'
import { codeOf } from 'rxspeech/internal/errors/speech-error'

/** The recorder's file names. */
const recordingName = /^[\w-]{1,64}-[\w-]{1,64}-(?:all|\d)(?:-\d{1,3})?\.wav$/
/** How many entries of the folder are examined. */
const maxEntries = 10_000
const maxHeaderBytes = 58
const formatOffset = 20

/**
 * Completes the headers of recordings that a killed process left, so that they can be read: files with the recorder's
 * name and header and without a size. Examines at most 10,000 entries of the folder. A recording that another process
 * still writes gets its present size, and the final one when it ends. Returns how many were repaired, 0 for a folder
 * that does not exist.
 */
export const repairRecordings = async (folder: string): Promise<number> => {
  let repaired = 0
  let examined = 0
  const entries = await opendir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  })
  for await (const entry of entries) {
    examined += 1
    if (examined > maxEntries) break
    if (entry.isFile() && recordingName.test(entry.name) && (await repairFile(join(folder, entry.name)))) repaired += 1
  }
  return repaired
}

const repairFile = async (path: string): Promise<boolean> => {
  const file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW).catch(() => undefined)
  if (file === undefined) return false
  try {
    const format = await unfinishedFormat(file)
    if (format === undefined) return false
    // Another process that still writes the file may complete it meanwhile.
    let size = -1
    for (let now = (await file.stat()).size; now !== size; now = (await file.stat()).size) {
      size = now
      await writeSizes(file, format, size)
    }
    // RIFF pads a chunk of odd length with a zero byte.
    if (audioBytesIn(format, size) % 2 === 1) await file.write(new Uint8Array(1), 0, 1, size)
    return true
  } finally {
    await file.close()
  }
}

/** The format of a recording whose header has no size yet; undefined for any other file. */
const unfinishedFormat = async (file: FileHandle): Promise<AudioFormat | undefined> => {
  const start = Buffer.alloc(maxHeaderBytes)
  const { bytesRead } = await file.read(start, 0, maxHeaderBytes, 0)
  try {
    const { format } = parseWavFormat(start.subarray(formatOffset, bytesRead))
    const header = wavHeader(format)
    return start.subarray(0, Math.min(bytesRead, header.length)).equals(header) ? format : undefined
  } catch {
    return undefined
  }
}

/** The bytes of whole frames in a file of `size` bytes. */
const audioBytesIn = (format: AudioFormat, size: number): number => {
  const audioBytes = Math.max(0, size - wavHeader(format).length)
  return audioBytes - (audioBytes % bytesPerFrame(format))
}

const writeSizes = async (file: FileHandle, format: AudioFormat, size: number): Promise<void> => {
  const header = wavHeader(format, audioBytesIn(format, size))
  await file.write(header, 0, header.length, 0)
}
