import { either } from 'fp-ts'
import { deinterleaveChannels } from 'rxspeech/internal/audio/channels'
import { decodeSamples, encodeSamples } from 'rxspeech/internal/audio/codec'
import { type AudioFormat, bytesPerSample } from 'rxspeech/internal/audio/format'
import { downmixFrames, mixToMono, mixToStereo } from '../core/mix.js'
import { SampleQueue } from '../../recognition/sample-queue.js'
import { defineNode } from '../core/define-node.js'
import { eventItem } from '../core/events.js'
import { nodeOptions, noOptions, numberFrom, oneOfWords, wholeNumberFrom } from '../core/node-options.js'
import { audioItems, audioNode, portFormat } from '../core/node-steps.js'
import type { NodeItem, PortFormats } from '../core/node.js'

/** Splits stereo into its two channels, each on its own port and in the encoding of the input. */
export const channelSplit = defineNode({
  name: 'channel-split',
  summary: 'Splits a stereo stream into its two channels.',
  inputs: { audio: 'audio' },
  outputs: { left: 'audio', right: 'audio' },
  options: noOptions,
  formats: ({ audio }) => {
    if (audio?.channels !== 2)
      return either.left('channel-split needs stereo audio: a mono stream has only one channel')
    const mono = { ...audio, channels: 1 } as const
    return either.right({ left: mono, right: mono })
  },
  open: (_options, { inputs }) => {
    const sampleBytes = bytesPerSample(portFormat(inputs))
    return audioNode(() => ({
      take: ({ bytes }) => {
        const [left, right] = deinterleaveChannels(bytes, sampleBytes)
        return [...audioItems(left, 'left'), ...audioItems(right, 'right')]
      },
    }))
  },
})

/** Mixes stereo to one channel by weight, half of each by default. */
export const downmix = defineNode({
  name: 'downmix',
  summary: 'Mixes a stereo stream into one channel.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio' },
  options: nodeOptions({}, { leftWeight: numberFrom(0, 4), rightWeight: numberFrom(0, 4) }),
  formats: ({ audio }) =>
    audio?.channels === 2
      ? either.right({ audio: { ...audio, channels: 1 } })
      : either.left('downmix needs stereo audio: a mono stream is one channel already'),
  open: ({ leftWeight = 0.5, rightWeight = 0.5 }, { inputs }) => {
    const { encoding } = portFormat(inputs)
    const weights = { left: leftWeight, right: rightWeight }
    return audioNode(() => ({
      take: ({ bytes }) => audioItems(encodeSamples(downmixFrames(decodeSamples(bytes, encoding), weights), encoding)),
    }))
  },
})

/**
 * Joins two mono streams into one, stereo or mono, in the encoding of the left one. Samples at the same position of
 * both streams belong together. The faster side waits for the slower one by at most `maxWaitMs` of audio; after that,
 * and after the end of one side, silence replaces the missing samples. Samples that arrive too late are dropped and
 * reported.
 */
export const channelMix = defineNode({
  name: 'channel-mix',
  summary: 'Joins two mono streams into a stereo or mono stream.',
  inputs: { left: 'audio', right: 'audio' },
  outputs: { audio: 'audio', late: 'event' },
  options: nodeOptions(
    {},
    {
      to: oneOfWords('mono', 'stereo'),
      leftWeight: numberFrom(0, 4),
      rightWeight: numberFrom(0, 4),
      maxWaitMs: wholeNumberFrom(20, 30_000),
    },
  ),
  formats: (inputs, { to = 'stereo' }) => mixedFormats(inputs, to),
  open: (options, { inputs }) => {
    const { to = 'stereo', maxWaitMs = 1000 } = options
    const { leftWeight = to === 'mono' ? 0.5 : 1, rightWeight = to === 'mono' ? 0.5 : 1 } = options
    const formats = { left: portFormat(inputs, 'left'), right: portFormat(inputs, 'right') }
    const samplesPerMs = formats.left.sampleRateHz / 1000
    const mix = to === 'mono' ? mixToMono : mixToStereo
    const weights = { left: leftWeight, right: rightWeight }
    const mixed = ({ left, right }: SamplePair): readonly NodeItem[] =>
      audioItems(encodeSamples(mix(left, right, weights), formats.left.encoding))
    return audioNode(() => {
      const aligner = new SampleAligner(Math.round(maxWaitMs * samplesPerMs))
      const late = new LateAudioReport(samplesPerMs)
      return {
        take: ({ bytes, port }) => {
          const side = port === 'right' ? 'right' : 'left'
          const { lateSamples, ...pair } = aligner.add(side, decodeSamples(bytes, formats[side].encoding))
          late.add(side, lateSamples)
          return [...mixed(pair), ...late.due(aligner.position)]
        },
        finish: () => [...mixed(aligner.finish()), ...late.due(Infinity)],
      }
    })
  },
})

const mixedFormats = (
  { left, right }: PortFormats,
  to: 'mono' | 'stereo',
): either.Either<string, { readonly audio: AudioFormat }> => {
  if (left?.channels !== 1 || right?.channels !== 1)
    return either.left('channel-mix needs mono audio at left and right')
  if (left.sampleRateHz !== right.sampleRateHz) {
    const rates = `${left.sampleRateHz} and ${right.sampleRateHz} Hz`
    return either.left(`channel-mix needs one sample rate at left and right, not ${rates}: put a resample before one`)
  }
  return either.right({ audio: { ...left, channels: to === 'mono' ? 1 : 2 } })
}

/** Samples of both sides for the same stretch of time, equally many. */
interface SamplePair {
  readonly left: Int16Array
  readonly right: Int16Array
}

type Side = keyof SamplePair

/** Pairs two channels by sample position, waiting for the slower side by at most `maxWait` samples. */
class SampleAligner {
  readonly #queues: Readonly<Record<Side, SampleQueue>>
  readonly #maxWait: number
  #position = 0

  constructor(maxWait: number) {
    this.#maxWait = maxWait
    this.#queues = { left: new SampleQueue(maxWait), right: new SampleQueue(maxWait) }
  }

  /** How many sample pairs have left. */
  get position(): number {
    return this.#position
  }

  /** Returns the pairs that can leave by now, and how many of the added samples were too late. */
  add(side: Side, samples: Int16Array): SamplePair & { readonly lateSamples: number } {
    const queue = this.#queues[side]
    queue.append(samples)
    const lateSamples = Math.max(0, Math.min(this.#position, queue.end) - queue.begin)
    queue.discardBefore(this.#position)
    const { left, right } = this.#queues
    const until = Math.max(Math.min(left.end, right.end), Math.max(left.end, right.end) - this.#maxWait)
    return { ...this.#take(until), lateSamples }
  }

  /** Returns the remaining samples, with silence for the missing ones. */
  finish(): SamplePair {
    return this.#take(Math.max(this.#queues.left.end, this.#queues.right.end))
  }

  #take(until: number): SamplePair {
    const length = Math.max(0, until - this.#position)
    const takeFrom = (queue: SampleQueue): Int16Array => {
      const taken = queue.take(until)
      if (taken.length === length) return taken
      const padded = new Int16Array(length)
      padded.set(taken)
      return padded
    }
    const pair = { left: takeFrom(this.#queues.left), right: takeFrom(this.#queues.right) }
    this.#position += length
    return pair
  }
}

/** Reports late audio: the first time at once, then at most once for each second of audio. */
class LateAudioReport {
  readonly #samplesPerMs: number
  readonly #lost = { left: 0, right: 0 }
  #nextAt = 0

  constructor(samplesPerMs: number) {
    this.#samplesPerMs = samplesPerMs
  }

  add(side: Side, sampleCount: number): void {
    this.#lost[side] += sampleCount
  }

  due(position: number): readonly NodeItem[] {
    if (position < this.#nextAt || this.#lost.left + this.#lost.right === 0) return []
    this.#nextAt = position + 1000 * this.#samplesPerMs
    const sides = (['left', 'right'] as const).filter((side) => this.#lost[side] > 0)
    return sides.map((side) => {
      const data = { LostMsec: Math.round(this.#lost[side] / this.#samplesPerMs) }
      this.#lost[side] = 0
      return eventItem({ name: 'Audio Late', channel: side === 'left' ? 0 : 1, data })
    })
  }
}
