import { connect, defer, filter, map, merge, tap, type Observable } from 'rxjs'
import { decodeChannels } from '../../../audio/codec.js'
import type { AudioFormat } from '../../../audio/format.js'
import { serialize } from '../../../kernel/use-resource.js'
import { recognizeChannel, type RecognizeChannelOptions } from '../../recognition/recognize-channel.js'
import { eventItem } from '../core/events.js'
import type { NodeItem } from '../core/node.js'
import { channelEnvelope, type SpeechEvent } from './channel-envelope.js'

export interface RecognizeChannelsOptions extends Omit<RecognizeChannelOptions, 'sampleRateHz'> {
  readonly format: AudioFormat
  /** The number of the first channel in events. */
  readonly firstChannel: number
  /** The session time at which the stream begins; it is added to all times. */
  readonly offsetMs: number
  readonly isReported: (event: SpeechEvent) => boolean
  /** Called with the number of frames that are processed. */
  readonly consumed: (frameCount: number) => void
}

/**
 * Recognizes each channel of a stream by itself and emits the results as events of that channel. Completes with the last
 * channel. A channel that ended by a silence needs no more audio and no longer delays the others.
 */
export const recognizeChannels =
  ({ format, firstChannel, offsetMs, isReported, consumed, ...options }: RecognizeChannelsOptions) =>
  (input$: Observable<NodeItem>): Observable<NodeItem> =>
    defer(() => {
      const processed = consumeBySlowest(format.channels, consumed)
      const eventsOf = (channels$: Observable<readonly Int16Array[]>, channel: number): Observable<NodeItem> =>
        channels$.pipe(
          map((channels) => channels[channel] ?? new Int16Array(0)),
          recognizeChannel({ ...options, sampleRateHz: format.sampleRateHz }),
          tap({
            next: (event) => {
              if (event.type === 'progress') processed(channel, event.sampleCount)
            },
            complete: () => processed(channel, Infinity),
          }),
          filter((event): event is SpeechEvent => event.type !== 'progress' && isReported(event)),
          map((event) => eventItem(channelEnvelope(event, firstChannel + channel, offsetMs))),
        )
      return input$.pipe(
        filter((item) => item.type === 'audio'),
        serialize(),
        map(({ bytes }) => decodeChannels(bytes, format)),
        connect((channels$) =>
          merge(...Array.from({ length: format.channels }, (_none, channel) => eventsOf(channels$, channel))),
        ),
      )
    })

/**
 * Joins the progress of the channels of one stream: a frame is consumed when every channel that still needs audio has
 * processed its sample. Calls `consumed` with each difference.
 */
const consumeBySlowest = (
  channels: number,
  consumed: (frameCount: number) => void,
): ((channel: number, sampleCount: number) => void) => {
  const processed = new Array<number>(channels).fill(0)
  let reported = 0
  return (channel, sampleCount) => {
    processed[channel] = (processed[channel] ?? 0) + sampleCount
    const slowest = Math.min(...processed)
    if (slowest <= reported) return
    const added = slowest - reported
    reported = slowest
    consumed(added)
  }
}
