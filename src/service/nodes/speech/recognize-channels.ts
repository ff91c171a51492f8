import { connect, defer, filter, map, merge, tap, type Observable } from 'rxjs'
import { deinterleaveChannels } from '../../../audio/channels.js'
import { decodeSamples } from '../../../audio/codec.js'
import { bytesPerSample, type AudioFormat } from '../../../audio/format.js'
import { inTurn } from '../../recognition/in-turn.js'
import { recognizeChannel, type RecognizeChannelOptions } from '../../recognition/recognize-channel.js'
import { channelEnvelope, type SpeechEvent } from './channel-envelope.js'
import type { NodeItem } from '../core/node.js'
import { slowestChannel } from './slowest-channel.js'

export interface RecognizeChannelsOptions extends Omit<RecognizeChannelOptions, 'sampleRateHz'> {
  readonly format: AudioFormat
  /** What the first channel is called in events. */
  readonly firstChannel: number
  /** Where in the session the stream begins; added to all times. */
  readonly offsetMs: number
  readonly tells: (event: SpeechEvent) => boolean
  /** So many frames are dealt with. */
  readonly consumed: (frameCount: number) => void
}

/**
 * Recognizes each channel of a stream in a lane of its own, and tells what they say as events with their channel. Ends
 * when the last lane did; a lane that silence ended wants no more audio and holds the others up no longer.
 */
export const recognizeChannels =
  ({ format, firstChannel, offsetMs, tells, consumed, ...lane }: RecognizeChannelsOptions) =>
  (input$: Observable<NodeItem>): Observable<NodeItem> =>
    defer(() => {
      const taken = slowestChannel(format.channels, consumed)
      const laneOf = (channels$: Observable<readonly Int16Array[]>, channel: number): Observable<NodeItem> =>
        channels$.pipe(
          map((channels) => channels[channel] ?? new Int16Array(0)),
          recognizeChannel({ ...lane, sampleRateHz: format.sampleRateHz }),
          tap({
            next: (event) => {
              if (event.type === 'progress') taken(channel, event.sampleCount)
            },
            complete: () => {
              taken(channel, Infinity)
            },
          }),
          filter((event): event is SpeechEvent => event.type !== 'progress' && tells(event)),
          map((event): NodeItem => ({
            type: 'event',
            event: channelEnvelope(event, firstChannel + channel, offsetMs),
          })),
        )
      return input$.pipe(
        filter((item) => item.type === 'audio'),
        inTurn(),
        map(({ bytes }) => channelsOf(bytes, format)),
        connect((channels$) =>
          merge(...Array.from({ length: format.channels }, (_none, channel) => laneOf(channels$, channel))),
        ),
      )
    })

const channelsOf = (bytes: Uint8Array, format: AudioFormat): readonly Int16Array[] =>
  format.channels === 1
    ? [decodeSamples(bytes, format.encoding)]
    : deinterleaveChannels(bytes, bytesPerSample(format)).map((channel) => decodeSamples(channel, format.encoding))
