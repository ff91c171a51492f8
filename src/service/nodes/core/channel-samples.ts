import { deinterleaveChannels } from '../../../audio/channels.js'
import { decodeSamples } from '../../../audio/codec.js'
import { bytesPerSample, type AudioFormat } from '../../../audio/format.js'

/** Frames of audio as the samples of each channel. */
export const channelSamples = (bytes: Uint8Array, format: AudioFormat): readonly Int16Array[] =>
  format.channels === 1
    ? [decodeSamples(bytes, format.encoding)]
    : deinterleaveChannels(bytes, bytesPerSample(format)).map((channel) => decodeSamples(channel, format.encoding))
