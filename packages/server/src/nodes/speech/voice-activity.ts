import { either } from 'fp-ts'
import { concat, connect, defer, filter, map, merge, mergeMap, of, takeWhile, type Observable } from 'rxjs'
import type { Engine, Hypothesis, SegmentPart } from 'rxspeech-engines/engine'
import { serialize } from '../core/use-resource.js'
import { createSegmenter } from '../../recognition/segmenter.js'
import { portFormat } from '../core/node-steps.js'
import { recognizeChannels } from './recognize-channels.js'
import { defineNode } from '../core/define-node.js'
import type { NodeItem } from '../core/node.js'
import { nodeOptions } from '../core/node-options.js'
import {
  changedPlan,
  checkChannel,
  checkRecognitionUpdate,
  currentPlan,
  segmenterOptions,
  voiceOptions,
} from './recognition-settings.js'

const detectorRatesHz = [8000, 16_000, 32_000, 48_000]

/** The rate of the detector: that of the stream if it supports it, and the next lower one if not. */
const detectorRateHz = (sampleRateHz: number): number =>
  detectorRatesHz.findLast((rateHz) => rateHz <= sampleRateHz) ?? 8000

const hypothesesOf = (part: SegmentPart): readonly Hypothesis[] => {
  switch (part.type) {
    case 'open':
      return []
    case 'audio':
      return [{ type: 'progress', sampleCount: part.samples.length }]
    case 'check':
      return [{ type: 'checked', isComplete: false }]
    case 'close':
      return [{ type: 'segment', startMs: part.endMs, endMs: part.endMs, text: '', words: [] }]
  }
}

/** An engine that decides every segment at once, without text. */
const nullEngine = (sampleRateHz: number): Engine => ({
  capabilities: {
    sampleRateHz,
    partials: false,
    words: false,
    kind: 'grammar',
    segmentsAtOnce: Number.MAX_SAFE_INTEGER,
  },
  recognize: () => (part$) => part$.pipe(mergeMap(hypothesesOf)),
  ready: () => Promise.resolve(),
  close: () => Promise.resolve(),
})

const done = Symbol('done')

/** Passes the audio and adds the events; completes when the events do, as after a long silence. */
const withEvents =
  (events: (input$: Observable<NodeItem>) => Observable<NodeItem>) =>
  (input$: Observable<NodeItem>): Observable<NodeItem> =>
    input$.pipe(
      filter((item) => item.type === 'audio'),
      serialize(),
      connect((audio$) =>
        merge(audio$.pipe(map(({ bytes }): NodeItem => ({ type: 'audio', bytes }))), concat(events(audio$), of(done))),
      ),
      takeWhile((item) => item !== done),
    )

/** Emits `Speech Started` and `Speech Ended` of each channel, without an engine. The audio passes unchanged. */
export const voiceActivity = defineNode({
  name: 'voice-activity',
  summary: 'Reports when speech begins and ends on each channel.',
  inputs: { audio: 'audio' },
  outputs: { audio: 'audio', events: 'event' },
  options: nodeOptions({}, voiceOptions),
  formats: (inputs, { channel }) => {
    const { audio } = inputs
    if (audio === undefined) return either.left('voice-activity needs audio')
    return either.map(() => ({ audio }))(checkChannel('voice-activity', inputs, channel))
  },
  manualAck: true,
  checkSettings: (next, _now, { fromSettings = true, ...given }) => {
    const defaults = { model: {}, parameters: segmenterOptions(given) }
    return fromSettings ? checkRecognitionUpdate(next, next, defaults) : undefined
  },
  open: async (given, context) => {
    const { fromSettings = true, channel = 0, closeAfterSilentWallMs = 1000 } = given
    const defaults = { parameters: segmenterOptions(given) }
    const format = portFormat(context.inputs)
    const engine = nullEngine(detectorRateHz(format.sampleRateHz))
    const { parameters } = currentPlan(context, defaults, fromSettings)
    const rates = { inputRateHz: format.sampleRateHz, engineRateHz: engine.capabilities.sampleRateHz }
    // Loads the detector, or refuses the session before it starts.
    const probe = await createSegmenter({ parameters, ...rates })
    probe.free()
    return (input$, session) =>
      defer(() =>
        input$.pipe(
          withEvents(
            recognizeChannels({
              engine,
              format,
              firstChannel: channel,
              offsetMs: session.offsetMs ?? 0,
              parameters: currentPlan(session, defaults, fromSettings).parameters,
              changed$: changedPlan(session, defaults, fromSettings),
              graceful: 'off',
              closeAfterSilentWallMs,
              finalizeAfterMs: session.idleMs,
              isReported: ({ type }) => type === 'speech-started' || type === 'speech-ended',
              consumed: session.ack,
              isPaused: session.isPaused,
              isAnswering: session.isAnswering,
              scheduler: session.scheduler,
            }),
          ),
        ),
      )
  },
})
