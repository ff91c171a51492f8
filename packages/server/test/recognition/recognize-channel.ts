import { Observable, Subscription, type OperatorFunction } from 'rxjs'
import type { ChannelEvent } from '../../src/recognition/channel-event.js'
import { RecognitionChannel, type RecognitionChannelOptions } from '../../src/recognition/recognition-channel.js'
import type { SegmenterParameters } from '../../src/recognition/segmenter-parameters.js'
import { createSegmenter, type Segmenter, type SegmenterOptions } from '../../src/recognition/segmenter.js'

export interface RecognizeChannelOptions extends RecognitionChannelOptions {
  readonly parameters$?: Observable<SegmenterParameters> | undefined
  readonly drain$?: Observable<unknown> | undefined
}

/** A channel as an operator, for marble tests. */
export const recognizeChannel =
  (
    options: RecognizeChannelOptions,
    openSegmenter: (options: SegmenterOptions) => PromiseLike<Segmenter> = createSegmenter,
  ): OperatorFunction<Int16Array, ChannelEvent> =>
  (samples$) =>
    new Observable((subscriber) => {
      const input = new Subscription()
      const channel = new RecognitionChannel(options, {
        next: (event) => subscriber.next(event),
        inputEnded: () => input.unsubscribe(),
        error: (error) => subscriber.error(error),
        complete: () => subscriber.complete(),
      })
      subscriber.add(channel)
      channel.start(openSegmenter)
      input.add(
        samples$.subscribe({
          next: (samples) => channel.push(samples),
          error: (error: unknown) => channel.fail(error),
          complete: () => channel.complete(),
        }),
      )
      input.add(options.drain$?.subscribe(() => channel.drain()))
      input.add(options.parameters$?.subscribe((parameters) => channel.setParameters(parameters)))
    })
