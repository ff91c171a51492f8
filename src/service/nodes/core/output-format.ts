import { either } from 'fp-ts'
import { encodings, maxSampleRateHz, minSampleRateHz, type AudioFormat } from '../../../audio/format.js'
import { SpeechError } from '../../../errors/speech-error.js'
import { integer, decodeWith, messageCodec, oneOfNumbers, optional } from '../../../protocol/message-codec.js'
import { oneOf } from '../../../protocol/validation.js'
import type { JsonObject } from '../../../protocol/json-object.js'

const output = messageCodec<Partial<AudioFormat>>({
  encoding: optional(oneOf(...encodings), 'Encoding', 'encoding'),
  sampleRateHz: optional(
    integer({ min: minSampleRateHz, max: maxSampleRateHz, unit: 'Hz' }),
    'SampleRate',
    'sample-rate',
  ),
  channels: optional(oneOfNumbers(1, 2), 'ChannelCount', 'channel-count'),
})

/**
 * What the client hears audio in: `Audio.Output`, and the format that it sends in what that leaves out. Throws
 * `invalid-field` with the field's name.
 */
export const outputFormat = (given: JsonObject | undefined, session: AudioFormat): AudioFormat => {
  const read = decodeWith(output, given ?? {})
  if (either.isLeft(read)) throw new SpeechError('invalid-field', `Audio.Output.${read.left.message}`)
  return { ...session, ...read.right }
}
