import { createReadStream } from 'node:fs'
import type { AudioFormat } from '../../src/audio/format.js'
import { readWav } from '../../src/audio/read-wav.js'

export interface Recording {
  readonly format: AudioFormat
  /** As stated in the header. */
  readonly durationMs: number | undefined
  /** All audio of the file, encoded as in the file. */
  readonly bytes: Buffer
}

/** Reads a complete WAV file. */
export const readRecording = async (path: string): Promise<Recording> => {
  const { format, durationMs, audio } = await readWav(createReadStream(path))
  const parts: Uint8Array[] = []
  for await (const part of audio) parts.push(part)
  return { format, durationMs, bytes: Buffer.concat(parts) }
}
