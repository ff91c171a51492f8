import type * as t from 'io-ts'
import { DtmfDetector, type DtmfDigit } from '../../../audio/dtmf-detector.js'
import type { AudioFormat } from '../../../audio/format.js'
import { SpeechError } from '../../../errors/speech-error.js'
import type { EventEnvelope } from '../../../protocol/dataflow-events.js'
import { channelSamples } from '../core/channel-samples.js'
import { defineNode } from '../core/define-node.js'
import { HeldAudio } from './held-audio.js'
import type { NodeItem } from '../core/node.js'
import { flag, nodeOptions, numberFrom } from '../core/node-options.js'
import { eventItem, stepItems, type ItemSteps } from '../core/node-steps.js'

const options = nodeOptions({}, { suppress: flag, minLevelDbm0: numberFrom(-50, 0) })

/**
 * The digits of a telephone's keypad, each told when its tone has ended as the event `DTMF` with `Data` {Digit,
 * DurationMsec}, by channel (ITU-T Q.23, Q.24; the numbers stand at `DtmfDetector`). The same audio gives the same
 * digits however it is cut. Audio passes unchanged; with `suppress` the tones are silenced, for which up to 150 ms of it
 * are held back. `minLevelDbm0` (default -30) is the weakest tone that counts.
 */
export const dtmfDetector = defineNode({
  name: 'dtmf-detector',
  summary: 'Tells the digits that are pressed on a telephone, and silences them if asked.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio', events: 'event' },
  options,
  open: (given, { inputs: { audio: format }, offsetMs = 0 }) => {
    if (format === undefined) throw new SpeechError('internal', 'The node has no audio port.')
    return (input$) => input$.pipe(stepItems(() => detecting(given, format, offsetMs)))
  },
})

const audioItem = (bytes: Uint8Array): NodeItem => ({ type: 'audio', bytes })

const detecting = (
  { suppress = false, minLevelDbm0 }: t.TypeOf<typeof options>,
  format: AudioFormat,
  offsetMs: number,
): ItemSteps => {
  const held = new HeldAudio(format)
  const detectors = Array.from({ length: format.channels }, () => new DtmfDetector(format.sampleRateHz, minLevelDbm0))
  const told = (digits: readonly DtmfDigit[], channel: number): readonly NodeItem[] =>
    digits.map((digit) => eventItem(envelopeOf(digit, channel, format.sampleRateHz, offsetMs)))
  /** Silences what is known to be tone, and lets go what is known. */
  const release = (digits: readonly (readonly DtmfDigit[])[]): readonly NodeItem[] => {
    detectors.forEach((detector, channel) => {
      const { runningTone } = detector
      for (const digit of digits[channel] ?? []) held.silence(channel, detector.spanWithEdges(digit))
      if (runningTone !== undefined) held.silence(channel, runningTone)
    })
    return held.release(Math.min(...detectors.map(({ settledSample }) => settledSample))).map(audioItem)
  }
  return {
    take: (item) => {
      if (item.type !== 'audio') return []
      const channels = channelSamples(item.bytes, format)
      const digits = detectors.map((detector, channel) => detector.take(channels[channel] ?? new Int16Array(0)))
      if (!suppress) return [audioItem(item.bytes), ...digits.flatMap(told)]
      held.add(item.bytes)
      return [...release(digits), ...digits.flatMap(told)]
    },
    end: () => {
      const digits = detectors.map((detector) => detector.end())
      return [...release(digits), ...held.releaseAll().map(audioItem), ...digits.flatMap(told)]
    },
  }
}

const envelopeOf = (
  { digit, startSample, endSample }: DtmfDigit,
  channel: number,
  sampleRateHz: number,
  offsetMs: number,
): EventEnvelope => {
  const startMs = Math.round((startSample * 1000) / sampleRateHz)
  const endMs = Math.round((endSample * 1000) / sampleRateHz)
  return {
    name: 'DTMF',
    channel,
    startMs: offsetMs + startMs,
    endMs: offsetMs + endMs,
    data: { Digit: digit, DurationMsec: endMs - startMs },
  }
}
