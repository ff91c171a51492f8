import { filter, map, type Observable, type OperatorFunction } from 'rxjs'
import { TestScheduler } from 'rxjs/testing'
import { expect } from 'vitest'
import type { ChannelEvent } from '../../src/recognition/channel-event.js'
import { recognizeChannel, type RecognizeChannelOptions } from './recognize-channel.js'
import { defaultSegmenterParameters } from '../../src/recognition/segmenter-parameters.js'
import { brief, join, channelRateHz, scriptedFront, silence, speech } from './scripted-channel.js'

export const virtual = (
  test: (helpers: Parameters<Parameters<TestScheduler['run']>[0]>[0], scheduler: TestScheduler) => void,
) => {
  const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected))
  scheduler.run((helpers) => test(helpers, scheduler))
}

export function channel(
  options: Partial<RecognizeChannelOptions> & Pick<RecognizeChannelOptions, 'engine'>,
  front = scriptedFront(),
): OperatorFunction<Int16Array, ChannelEvent> {
  const parameters = { ...defaultSegmenterParameters, gracefulSilenceThresholdMs: 0 }
  return recognizeChannel({ parameters, sampleRateHz: channelRateHz, ...options }, front.open)
}

export function results(event$: Observable<ChannelEvent>): Observable<string> {
  return event$.pipe(
    filter(({ type }) => type !== 'progress'),
    map(brief),
  )
}

/** 500 ms of speech and the silence that closes it. */
export const utterance = join(speech(500), silence(400))

export const texts = {
  s: 'started 0 @60',
  e: 'ended 0-900',
  m: 'milestone 0-900 "one"',
  f: 'final 0-900 "one" finalized',
  S: 'started 900 @960',
  E: 'ended 900-1800',
  M: 'milestone 900-1800 " two"',
  F: 'final 0-1800 "one two" finalized',
  i: 'final 0-900 "one" idle',
  n: 'final 0-0 "" finalized',
  x: 'final 0-0 "" idle',
}
