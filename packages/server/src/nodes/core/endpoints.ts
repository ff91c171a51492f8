import { either } from 'fp-ts'
import { decodeSamples, encodeSamples } from 'rxspeech/internal/audio/codec'
import { type AudioFormat, encodings, maxSampleRateHz, minSampleRateHz } from 'rxspeech/internal/audio/format'
import { downmixFrames } from './mix.js'
import { createResampler } from '../../recognition/resampler.js'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { JsonObject } from 'rxspeech/internal/protocol/json-object'
import { decodeWith, integer, messageCodec, oneOfNumbers, optional } from 'rxspeech/internal/protocol/message-codec'
import { oneOf } from 'rxspeech/internal/protocol/validation'
import { defineNode } from './define-node.js'
import { noOptions } from './node-options.js'
import { audioItems, stepItems, type NodeSteps } from './node-steps.js'

/** The client's audio: once in every project. Its output has the format of the session. */
export const entry = defineNode({
  name: 'entry',
  summary: 'The input of the client audio.',
  inputs: {},
  outputs: { audio: 'audio' },
  options: noOptions,
  // The check of a project and its run provide the session's own format for this port.
  formats: () => either.right({}),
  open: () => (input$) => input$,
})

/**
 * What the client receives: events as EVENT messages, audio as AUDIO messages, in the order in which they arrive. Audio
 * has the format of `Audio.Output`, and of the client's own audio where that says nothing. Refuses the session with
 * `invalid-field` for an invalid `Audio.Output`.
 */
export const publisher = defineNode({
  name: 'publisher',
  summary: 'Sends its input to the client: events, and audio to play.',
  inputs: { events: 'event', audio: 'audio' },
  optionalInputs: ['audio'],
  outputs: {},
  options: noOptions,
  open: async (_options, { inputs: { audio }, sessionFormat, audioOutput }) => {
    if (audio === undefined || sessionFormat === undefined) return (input$) => input$
    const wanted = outputFormat(audioOutput, sessionFormat)
    if (isSameFormat(audio, wanted)) return (input$) => input$
    // Loads the resampler, or refuses the session before it starts.
    const probe = await openConversion(audio, wanted)
    probe.free?.()
    return (input$) => input$.pipe(stepItems(() => openConversion(audio, wanted)))
  },
})

const output = messageCodec<Partial<AudioFormat>>({
  encoding: optional(oneOf(...encodings), 'Encoding', 'encoding'),
  sampleRateHz: optional(
    integer({ min: minSampleRateHz, max: maxSampleRateHz, unit: 'Hz' }),
    'SampleRate',
    'sample-rate',
  ),
  channels: optional(oneOfNumbers(1, 2), 'ChannelCount', 'channel-count'),
})

const outputFormat = (given: JsonObject | undefined, session: AudioFormat): AudioFormat => {
  const decoded = decodeWith(output, given ?? {})
  if (either.isLeft(decoded)) throw new SpeechError('invalid-field', `Audio.Output.${decoded.left.message}`)
  return { ...session, ...decoded.right }
}

const isSameFormat = (left: AudioFormat, right: AudioFormat): boolean =>
  left.encoding === right.encoding && left.sampleRateHz === right.sampleRateHz && left.channels === right.channels

/** Rejects with `missing-dependency` if the rates differ and the package for that is absent. */
const openConversion = async (from: AudioFormat, to: AudioFormat): Promise<NodeSteps> => {
  const { channels } = to
  const resampler = await createResampler({ fromHz: from.sampleRateHz, toHz: to.sampleRateHz, channels })
  const mapChannels = (samples: Int16Array): Int16Array => {
    if (from.channels === channels) return samples
    return channels === 2 ? toStereo(samples) : downmixFrames(samples, { left: 0.5, right: 0.5 })
  }
  return {
    take: (item) => {
      if (item.type === 'event') return [item]
      const samples = mapChannels(decodeSamples(item.bytes, from.encoding))
      return audioItems(encodeSamples(resampler.process(samples), to.encoding))
    },
    finish: () => audioItems(encodeSamples(resampler.flush(), to.encoding)),
    free: resampler.free,
  }
}

const toStereo = (mono: Int16Array): Int16Array => {
  const frames = new Int16Array(2 * mono.length)
  for (let at = 0; at < mono.length; at++) {
    frames[2 * at] = mono[at] ?? 0
    frames[2 * at + 1] = mono[at] ?? 0
  }
  return frames
}
