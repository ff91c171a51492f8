import { either } from 'fp-ts'
import { defer } from 'rxjs'
import { portFormat } from '../core/audio-stage.js'
import { recognizeChannels } from './recognize-channels.js'
import { defineNode } from '../core/define-node.js'
import type { NodeContext } from '../core/node.js'
import { finalsOnFailure } from './finals-on-failure.js'
import { flag, nodeOptions, text, wholeNumberFrom } from '../core/node-options.js'
import { checkRecognitionUpdate, type RecognitionDefaults } from './recognition-settings.js'
import { segmenterOptions, voiceOptions } from './voice-options.js'
import { changedParameters, checkChannel, planNow, rightOrThrow } from './voice-plan.js'

const options = nodeOptions(
  {},
  { model: text, ...voiceOptions, gracefulSilenceMs: wholeNumberFrom(0, 86_400_000), partials: flag },
)

type RecognizerOptions = typeof options._A

/** The model that the project names, and the parameters of the node. */
const defaultsOf = (given: RecognizerOptions, { resource }: Pick<NodeContext, 'resource'>): RecognitionDefaults => {
  const named = given.model === undefined ? undefined : resource(given.model)
  return {
    ...(named?.kind === 'model' ? { model: named.model } : {}),
    parameters: segmenterOptions(given),
  }
}

/**
 * Voice activity and recognition of each channel, told as `Speech Started`, `Speech Ended`, `SR Partial`, `SR Milestone`
 * and `SR Final` (decisions.md: event names), one final a channel. A fault of the engine is told as `Engine Failed`; one
 * that could not be mended, and any other end before the session's time, ends every channel with a final that says so. An `Update` of a voice setting holds from when nobody
 * speaks on the channel; one that does not fit, or names another model, is refused.
 */
export const recognizer = defineNode({
  name: 'recognizer',
  summary: 'Recognizes the speech of each channel.',
  inputs: { audio: 'audio' },
  outputs: { events: 'event' },
  options,
  formats: (inputs, { channel }) => either.map(() => ({}))(checkChannel('recognizer', inputs, channel)),
  uses: ({ model }) => (model === undefined ? [] : [{ option: 'model', resource: model, kind: 'model' }]),
  manualAck: true,
  handlesDrain: true,
  checkSettings: (next, now, { fromSettings = true, ...given }) =>
    fromSettings ? checkRecognitionUpdate(next, now, { parameters: segmenterOptions(given) }) : undefined,
  open: async (given, context) => {
    const { fromSettings = true, partials = true, channel = 0, closeAfterSilentWallMs = 1000 } = given
    const defaults = defaultsOf(given, context)
    const { model } = rightOrThrow(planNow(context, defaults, fromSettings))
    const engine = await context.engine(model)
    const format = portFormat(context.inputs, 'audio')
    return (input$, session) =>
      defer(() =>
        input$.pipe(
          recognizeChannels({
            engine,
            format,
            firstChannel: channel,
            offsetMs: session.offsetMs ?? 0,
            parameters: rightOrThrow(planNow(session, defaults, fromSettings)).parameters,
            parameters$: changedParameters(session, defaults, fromSettings),
            closeAfterSilentWallMs,
            finalizeAfterMs: session.idleMs,
            tells: ({ type }) => partials || type !== 'partial',
            consumed: session.ack,
            ...(session.drain$ === undefined ? {} : { drain$: session.drain$ }),
            ...(session.isPaused === undefined ? {} : { isPaused: session.isPaused }),
            scheduler: session.scheduler,
          }),
          finalsOnFailure(format.channels, channel, session.aborted$),
        ),
      )
  },
})
