import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { decodeChannels } from '../../../src/audio/codec.js'
import { readRecording } from '../../../test/audio/read-recording.js'

const samples = join(__dirname, '../../../samples')

/** A turn of the sample call. */
export interface CallTurn {
  readonly text: string
  /** With 300 ms before and 400 ms after the speech, as voice activity cuts it; 8 kHz. */
  readonly samples: Int16Array
}

interface CallDescription {
  readonly turns: readonly {
    readonly channel: number
    readonly startMs: number
    readonly endMs: number
    readonly text: string
  }[]
}

/** A part of one channel of the sample call, 8 kHz. */
export const callChannel = async (channel: number, fromMs: number, toMs: number): Promise<Int16Array> => {
  const { format, bytes } = await readRecording(join(samples, 'call.wav'))
  return (decodeChannels(bytes, format)[channel] ?? new Int16Array(0)).slice(fromMs * 8, toMs * 8)
}

/** The turns of the sample call, in order. */
export const callTurns = async (): Promise<readonly CallTurn[]> => {
  const { format, bytes } = await readRecording(join(samples, 'call.wav'))
  const channels = decodeChannels(bytes, format)
  const { turns } = JSON.parse(readFileSync(join(samples, 'call.json'), 'utf8')) as CallDescription
  return turns.map(({ channel, startMs, endMs, text }) => ({
    text,
    samples: (channels[channel] ?? new Int16Array(0)).slice((startMs - 300) * 8, (endMs + 400) * 8),
  }))
}
