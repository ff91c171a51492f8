import { either } from 'fp-ts'
import * as t from 'io-ts'
import { encodings, maxSampleRateHz, minSampleRateHz, type AudioFormat } from '../../../audio/format.js'
import { flag, listOf, oneOfWords, text, wholeNumberFrom } from '../core/node-options.js'
import type { PortFormats } from '../core/node.js'

/** What all nodes that play may be told; each adds its own. */
export const playerOptions = {
  on: listOf(text, 100),
  atStart: flag,
  bargeIn: flag,
  maxQueue: wholeNumberFrom(0, 100),
  flushMs: wholeNumberFrom(0, 60_000),
  sampleRateHz: wholeNumberFrom(minSampleRateHz, maxSampleRateHz),
  encoding: oneOfWords(...encodings),
  channels: new t.Type<1 | 2, unknown>(
    '1 or 2',
    (value): value is 1 | 2 => value === 1 || value === 2,
    (input, context) => (input === 1 || input === 2 ? t.success(input) : t.failure(input, context)),
    (value) => value,
  ),
}

export interface PlayerOptions {
  readonly on?: readonly string[]
  readonly atStart?: boolean
  readonly bargeIn?: boolean
  readonly maxQueue?: number
  readonly flushMs?: number
  readonly sampleRateHz?: number
  readonly encoding?: AudioFormat['encoding']
  readonly channels?: 1 | 2
}

/** As the options say, else like the audio that comes in, else 16-bit mono at 8000 Hz. */
export const playerFormats = (
  inputs: PortFormats,
  { sampleRateHz, encoding, channels }: PlayerOptions,
): either.Either<string, PortFormats> => {
  const given = inputs['audio'] ?? { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
  return either.right({
    audio: {
      encoding: encoding ?? given.encoding,
      sampleRateHz: sampleRateHz ?? given.sampleRateHz,
      channels: channels ?? given.channels,
    },
  })
}
