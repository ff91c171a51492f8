import {
  type AudioFormat,
  encodings,
  maxSampleRateHz,
  minSampleRateHz,
  validateFormat,
} from 'rxspeech/internal/audio/format'
import { flag, type FlagValues } from '../parsing/flags.js'
import { oneOf, wholeNumber } from '../parsing/values.js'
import { usageError } from '../process/failure.js'

/** The format of recordings without a header. */
export const rawFlags = {
  encoding: flag('<name>', 'the encoding of raw samples: pcm, ulaw or alaw', oneOf(encodings)),
  rate: flag('<hz>', 'the sample rate of raw samples', wholeNumber({ min: minSampleRateHz, max: maxSampleRateHz })),
  channels: flag('<count>', '1 or 2 channels of raw samples (default: 1)', wholeNumber({ min: 1, max: 2 })),
}

/** Undefined for WAV files. Throws `invalid-options`. */
export const rawFormat = ({ encoding, rate, channels }: FlagValues<typeof rawFlags>): AudioFormat | undefined => {
  if (encoding !== undefined && rate !== undefined) {
    return validateFormat({ encoding, sampleRateHz: rate, channels: channels ?? 1 })
  }
  if (encoding !== undefined) throw usageError('Raw samples need a rate; set it with --rate, such as --rate 8000.')
  if (rate === undefined && channels === undefined) return undefined
  throw usageError('--rate and --channels are for raw samples and need --encoding; a WAV file has its own.')
}
