import { either } from 'fp-ts'
import { defer } from 'rxjs'
import { rejectLevel } from '../../engines/engine.js'
import { phrasesOption, requirePhrases } from '../../engines/session-phrases.js'
import { portFormat } from '../core/node-steps.js'
import { recognizeChannels } from './recognize-channels.js'
import { defineNode } from '../core/define-node.js'
import type { NodeContext } from '../core/node.js'
import { finalsOnFailure } from './finals-on-failure.js'
import { flag, nodeOptions, nonEmptyText, wholeNumberFrom } from '../core/node-options.js'
import {
  changedParameters,
  checkChannel,
  checkRecognitionUpdate,
  currentPlan,
  phrasesSetting,
  segmenterOptions,
  voiceOptions,
  type RecognitionDefaults,
} from './recognition-settings.js'

const options = nodeOptions(
  {},
  {
    model: nonEmptyText,
    reject: rejectLevel,
    phrases: phrasesOption,
    ...voiceOptions,
    gracefulSilenceMs: wholeNumberFrom(0, 86_400_000),
    partials: flag,
  },
)

type RecognizerOptions = typeof options._A

/** What the node gives for absent settings; the model of the project is known only to a session. */
const defaultsOf = (
  { model, reject, phrases, ...given }: RecognizerOptions,
  context?: Pick<NodeContext, 'resource'>,
): RecognitionDefaults => {
  const named = model === undefined ? undefined : context?.resource(model)
  return {
    model: named?.kind === 'model' ? named.model : undefined,
    reject,
    phrases,
    parameters: segmenterOptions(given),
  }
}

/**
 * Detects speech and recognizes it on each channel: `Speech Started`, `Speech Ended`, `SR Partial`, `SR Milestone` and
 * `SR Final` (PROTOCOL 3.3), one final per channel. `Engine Failed` reports a fault of the engine. A permanent fault,
 * and any other early end of the session, ends every channel with a final that contains the error. An `Update` of a
 * voice setting applies from the next silence of the channel on; one that is invalid or names another model is refused.
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
    fromSettings ? checkRecognitionUpdate(next, now, defaultsOf(given)) : undefined,
  open: async (given, context) => {
    const { fromSettings = true, partials = true, channel = 0, closeAfterSilentWallMs = 1000 } = given
    const defaults = defaultsOf(given, context)
    const { model, settings } = currentPlan(context, defaults, fromSettings)
    const engine = await context.engine(model)
    await requirePhrases(engine, settings.phrases, phrasesSetting)
    const format = portFormat(context.inputs)
    return (input$, session) =>
      defer(() =>
        input$.pipe(
          recognizeChannels({
            engine,
            settings,
            format,
            firstChannel: channel,
            offsetMs: session.offsetMs ?? 0,
            parameters: currentPlan(session, defaults, fromSettings).parameters,
            parameters$: changedParameters(session, defaults, fromSettings),
            closeAfterSilentWallMs,
            finalizeAfterMs: session.idleMs,
            isReported: ({ type }) => partials || type !== 'partial',
            consumed: session.ack,
            drain$: session.drain$,
            isPaused: session.isPaused,
            isAnswering: session.isAnswering,
            // The channels of a stream decide at different times.
            incoming: format.channels === 1 ? session.incoming : undefined,
            partialIntervalMs: session.partialIntervalMs,
            scheduler: session.scheduler,
          }),
          finalsOnFailure(format.channels, channel, session.aborted$),
        ),
      )
  },
})
