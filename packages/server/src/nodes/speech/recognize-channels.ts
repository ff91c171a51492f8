import { Observable } from 'rxjs'
import type { RecognizeSettings } from 'rxspeech-engines/engine'
import { decodeChannels } from 'rxspeech/internal/audio/codec'
import type { AudioFormat } from 'rxspeech/internal/audio/format'
import { Mailbox } from 'rxspeech/internal/kernel/mailbox'
import { type EventEnvelope, recognitionData, type RecognitionData } from 'rxspeech/internal/protocol/dataflow-events'
import { eventName } from 'rxspeech/internal/protocol/event-name'
import { partialsThinned, partialsThinnedData, type ChannelEvent } from '../../recognition/channel-event.js'
import { RecognitionChannel, type RecognitionChannelOptions } from '../../recognition/recognition-channel.js'
import type { SegmenterParameters } from '../../recognition/segmenter-parameters.js'
import { eventItem } from '../core/events.js'
import type { NodeItem } from '../core/node.js'

export interface RecognizeChannelsOptions extends Omit<RecognitionChannelOptions, 'sampleRateHz'> {
  /** Changed parameters, which must be valid, and the new settings of the engine: only the language may differ. */
  readonly changed$: Observable<{ readonly parameters: SegmenterParameters; readonly settings: RecognizeSettings }>
  /** Emits when the recognition is to end in a pause of each channel. */
  readonly drain$?: Observable<unknown> | undefined
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
 * Recognizes each channel of a stream by itself and emits the results as events of that channel. Completes with the
 * last channel. A channel that ended by a silence needs no more audio and no longer delays the others.
 */
export const recognizeChannels =
  ({ format, firstChannel, offsetMs, isReported, consumed, changed$, drain$, ...options }: RecognizeChannelsOptions) =>
  (input$: Observable<NodeItem>): Observable<NodeItem> =>
    new Observable((subscriber) => {
      const processed = consumeBySlowest(format.channels, consumed)
      let running = format.channels
      const channels = Array.from({ length: format.channels }, (_none, channel) => {
        const added = new RecognitionChannel(
          { sampleRateHz: format.sampleRateHz, ...options },
          {
            next: (event) => {
              if (event.type === 'progress') processed(channel, event.sampleCount)
              else if (isReported(event)) {
                subscriber.next(eventItem(channelEnvelope(event, firstChannel + channel, offsetMs)))
              }
            },
            inputEnded: () => undefined,
            error: (error) => subscriber.error(error),
            complete: () => {
              processed(channel, Infinity)
              running -= 1
              if (running === 0) subscriber.complete()
            },
          },
        )
        subscriber.add(added)
        return added
      })
      // Audio that arrives while a channel emits an event follows when every channel has what came before it.
      const mailbox = new Mailbox<Uint8Array | 'completed'>((bytes) => {
        if (subscriber.closed) return
        try {
          if (bytes === 'completed') for (const channel of channels) channel.complete()
          else decodeChannels(bytes, format).forEach((samples, channel) => channels[channel]?.push(samples))
        } catch (error) {
          subscriber.error(error)
        }
      })
      for (const channel of channels) channel.start()
      subscriber.add(
        changed$.subscribe(({ parameters, settings }) =>
          channels.forEach((channel) => channel.setParameters(parameters, settings.language)),
        ),
      )
      subscriber.add(drain$?.subscribe(() => channels.forEach((channel) => channel.drain())))
      subscriber.add(
        input$.subscribe({
          next: (item) => {
            if (item.type === 'audio') mailbox.post(item.bytes)
          },
          error: (error: unknown) => subscriber.error(error),
          complete: () => mailbox.post('completed'),
        }),
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

/** The events of a channel without those of progress. */
type SpeechEvent = Exclude<ChannelEvent, { type: 'progress' }>

/** Shifts the times of an event, for a recognition that began in the middle of its session. */
const shift = (event: SpeechEvent, offsetMs: number): SpeechEvent => {
  if (offsetMs === 0) return event
  const startMs = event.startMs + offsetMs
  if (event.type === 'speech-started') return { ...event, startMs, atMs: event.atMs + offsetMs }
  if (event.type === 'fault' || event.type === 'partials-thinned') return { ...event, startMs }
  const endMs = event.endMs + offsetMs
  if (event.type === 'final') return { ...event, startMs, endMs, heardMs: event.heardMs + offsetMs }
  if (event.type !== 'milestone') return { ...event, startMs, endMs }
  const words = event.words.map((word) => ({
    ...word,
    startMs: word.startMs + offsetMs,
    endMs: word.endMs + offsetMs,
  }))
  return { ...event, startMs, endMs, words }
}

/** Not a result of recognition; clients emit it like any other event of a node. */
const engineFailed = 'Engine Failed'

/** An event of a channel as an event of the session (PROTOCOL 3.3). */
const channelEnvelope = (given: SpeechEvent, channel: number, offsetMs = 0): EventEnvelope => {
  const event = shift(given, offsetMs)
  const begin = { channel, startMs: event.startMs }
  switch (event.type) {
    case 'speech-started':
      return { name: eventName.speechStarted, ...begin, endMs: -1, data: { AtMsec: event.atMs } }
    case 'speech-ended':
      return { name: eventName.speechEnded, ...begin, endMs: event.endMs }
    case 'silence':
      return { name: eventName.silence, ...begin, endMs: event.endMs }
    case 'fault':
      return { name: engineFailed, ...begin, endMs: -1, data: { Code: event.error.code, Retried: event.retried } }
    case 'partials-thinned':
      return { name: partialsThinned, ...begin, endMs: -1, data: partialsThinnedData(event) }
    case 'no-match':
      return { name: eventName.noMatch, ...begin, endMs: event.endMs }
    case 'partial':
    case 'milestone':
    case 'final': {
      const { endMs } = event
      return { name: eventName[event.type], ...begin, endMs, data: recognitionData.encode(resultData(event)) }
    }
  }
}

/** The codec takes what belongs to the data. */
const resultData = (
  event: Extract<SpeechEvent, { readonly type: 'partial' | 'milestone' | 'final' }>,
): RecognitionData => {
  if (event.type === 'partial') return event
  const { confidence = event.type === 'final' ? 0 : undefined } = event
  return { ...event, ...(confidence !== undefined && { confidence: rounded(confidence) }) }
}

/** Two decimals, as in the recognizer's results (PROTOCOL 4.2), so that both interfaces give the same value. */
const rounded = (confidence: number): number => Number(confidence.toFixed(2))
