import { either } from 'fp-ts'
import { connect, defer, filter, map, merge, tap, type Observable } from 'rxjs'
import { deinterleaveChannels } from '../../audio/channels.js'
import { decodeSamples } from '../../audio/codec.js'
import { bytesPerSample, type AudioFormat } from '../../audio/format.js'
import { SpeechError } from '../../errors/speech-error.js'
import type { EventEnvelope } from '../../protocol/event-envelope.js'
import { eventName, recognitionData, type RecognitionData } from '../../protocol/recognition-events.js'
import { recognizeLane, type LaneEvent } from '../recognition/recognize-lane.js'
import type { NodeContext, NodeItem, OpenNode } from './node.js'
import { slowestChannel } from './slowest-channel.js'
import { readTranscribeSettings } from './transcribe-settings.js'

/**
 * The node of the `transcribe` project: voice activity and recognition of each channel, told as `Speech Started`,
 * `Speech Ended`, `SR Partial`, `SR Milestone` and `SR Final` (decisions.md: event names), one final a channel.
 */
export const openTranscribe: OpenNode = async (context) => {
  const plan = readTranscribeSettings(context.settings())
  if (either.isLeft(plan)) throw plan.left
  const { model, parameters } = plan.right
  const engine = await context.engine(model)
  const format = formatOf(context)
  return (input$, { scheduler, consumed, idleMs }: NodeContext): Observable<NodeItem> =>
    defer(() => {
      const taken = slowestChannel(format.channels, consumed)
      return input$.pipe(
        filter((item) => item.type === 'audio'),
        map(({ bytes }) => channelsOf(bytes, format)),
        connect((channels$) =>
          merge(
            ...Array.from({ length: format.channels }, (_none, channel) =>
              channels$.pipe(
                map((channels) => channels[channel] ?? new Int16Array(0)),
                recognizeLane({
                  engine,
                  parameters,
                  sampleRateHz: format.sampleRateHz,
                  finalizeAfterMs: idleMs,
                  scheduler,
                }),
                tap({
                  next: (event) => {
                    if (event.type === 'progress') taken(channel, event.sampleCount)
                  },
                  // Silence may end one channel before the other, which must not wait for it then.
                  complete: () => {
                    taken(channel, Infinity)
                  },
                }),
                filter((event) => event.type !== 'progress'),
                map((event): NodeItem => ({ type: 'event', event: envelopeOf(event, channel) })),
              ),
            ),
          ),
        ),
      )
    })
}

const formatOf = ({ inputs }: NodeContext): AudioFormat => {
  const { audio } = inputs
  if (audio === undefined) throw new SpeechError('internal', 'The node has no audio port.')
  return audio
}

const channelsOf = (bytes: Uint8Array, format: AudioFormat): readonly Int16Array[] =>
  format.channels === 1
    ? [decodeSamples(bytes, format.encoding)]
    : deinterleaveChannels(bytes, bytesPerSample(format)).map((channel) => decodeSamples(channel, format.encoding))

const envelopeOf = (event: Exclude<LaneEvent, { type: 'progress' }>, channel: number): EventEnvelope => {
  switch (event.type) {
    case 'speech-started':
      return { name: eventName.speechStarted, channel, startMs: event.startMs, endMs: -1, data: { AtMsec: event.atMs } }
    case 'speech-ended':
      return { name: eventName.speechEnded, channel, startMs: event.startMs, endMs: event.endMs }
    case 'partial':
      return resultEnvelope(eventName.partial, channel, event, { text: event.text })
    case 'milestone':
      return resultEnvelope(eventName.milestone, channel, event, {
        text: event.text,
        confidence: rounded(event.confidence),
        words: event.words,
      })
    case 'final':
      return resultEnvelope(eventName.final, channel, event, {
        text: event.text,
        confidence: rounded(event.confidence ?? 0),
      })
  }
}

/** As exact as the recogniser's two decimals (service.md 4.2 rule 6), so that both interfaces tell the same. */
const rounded = (confidence: number): number => Number(confidence.toFixed(2))

const resultEnvelope = (
  name: string,
  channel: number,
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
  data: RecognitionData,
): EventEnvelope => ({ name, channel, startMs, endMs, data: recognitionData.encode(data) })
