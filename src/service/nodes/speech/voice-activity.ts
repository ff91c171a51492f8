import { either } from 'fp-ts'
import { concat, connect, defer, filter, map, merge, mergeMap, of, takeWhile, type Observable } from 'rxjs'
import type { Engine, Hypothesis, SegmentPart } from '../../engine/engine.js'
import { inTurn } from '../../recognition/in-turn.js'
import { createResamplingSegmenter } from '../../recognition/resampling-segmenter.js'
import { portFormat } from '../core/audio-stage.js'
import { recognizeChannels } from './recognize-channels.js'
import { defineNode } from '../core/define-node.js'
import type { NodeItem } from '../core/node.js'
import { nodeOptions } from '../core/node-options.js'
import { checkRecognitionUpdate } from './recognition-settings.js'
import { segmenterOptions, voiceOptions } from './voice-options.js'
import { changedParameters, checkChannel, planNow, rightOrThrow } from './voice-plan.js'

const detectorRatesHz = [8000, 16_000, 32_000, 48_000]

/** The rate at which voice is looked for: the stream's own where the detector knows it, else the next below. */
const detectorRateHz = (sampleRateHz: number): number =>
  detectorRatesHz.findLast((rateHz) => rateHz <= sampleRateHz) ?? 8000

const heard = (part: SegmentPart): readonly Hypothesis[] => {
  switch (part.type) {
    case 'open':
      return []
    case 'audio':
      return [{ type: 'progress', sampleCount: part.samples.length }]
    case 'close':
      return [{ type: 'segment', startMs: part.endMs, endMs: part.endMs, text: '', words: [] }]
  }
}

/** Stands where a lane wants an engine: takes every segment and understands nothing. */
const understandsNothing = (sampleRateHz: number): Engine => ({
  capabilities: {
    sampleRateHz,
    partials: false,
    words: false,
    kind: 'grammar',
    segmentsAtOnce: Number.MAX_SAFE_INTEGER,
  },
  recognize: () => (part$) => part$.pipe(mergeMap(heard)),
  ready: () => Promise.resolve(),
  close: () => Promise.resolve(),
})

const done = Symbol('done')

/** Passes the audio on and adds the events; once there are no more of them, as after a long silence, all ends. */
const beside =
  (events: (input$: Observable<NodeItem>) => Observable<NodeItem>) =>
  (input$: Observable<NodeItem>): Observable<NodeItem> =>
    input$.pipe(
      filter((item) => item.type === 'audio'),
      inTurn(),
      connect((audio$) =>
        merge(audio$.pipe(map(({ bytes }): NodeItem => ({ type: 'audio', bytes }))), concat(events(audio$), of(done))),
      ),
      takeWhile((item) => item !== done),
    )

/** Who speaks when: `Speech Started` and `Speech Ended` of each channel, without an engine; the audio passes as it is. */
export const voiceActivity = defineNode({
  name: 'voice-activity',
  summary: 'Tells when someone begins and ends to speak, on each channel.',
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
    const format = portFormat(context.inputs, 'audio')
    const engine = understandsNothing(detectorRateHz(format.sampleRateHz))
    const { parameters } = rightOrThrow(planNow(context, defaults, fromSettings))
    const rates = { inputRateHz: format.sampleRateHz, engineRateHz: engine.capabilities.sampleRateHz }
    // Loads the detector, or refuses the session before it is started.
    const probe = await createResamplingSegmenter({ parameters, ...rates })
    probe.free()
    return (input$, session) =>
      defer(() =>
        input$.pipe(
          beside(
            recognizeChannels({
              engine,
              format,
              firstChannel: channel,
              offsetMs: session.offsetMs ?? 0,
              parameters: rightOrThrow(planNow(session, defaults, fromSettings)).parameters,
              parameters$: changedParameters(session, defaults, fromSettings),
              graceful: 'off',
              closeAfterSilentWallMs,
              finalizeAfterMs: session.idleMs,
              tells: ({ type }) => type === 'speech-started' || type === 'speech-ended',
              consumed: session.ack,
              scheduler: session.scheduler,
            }),
          ),
        ),
      )
  },
})
