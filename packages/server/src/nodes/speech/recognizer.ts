import { either } from 'fp-ts'
import type { Engine } from 'rxspeech-engines/engine'
import { languageRefusal } from 'rxspeech-engines/session-language'
import { phrasesOption, requirePhrases } from 'rxspeech-engines/session-phrases'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { Settings } from 'rxspeech/internal/protocol/dataflow-messages'
import { languageTag } from 'rxspeech/internal/protocol/language'
import { codecsOf, engineParameters, pickParameters } from 'rxspeech/internal/protocol/recognition-parameters'
import { defer } from 'rxjs'
import { portFormat } from '../core/node-steps.js'
import { recognizeChannels } from './recognize-channels.js'
import { defineNode } from '../core/define-node.js'
import type { Node, NodeContext } from '../core/node.js'
import { finalsOnFailure } from './finals-on-failure.js'
import { flag, nodeOptions, nonEmptyText } from '../core/node-options.js'
import {
  changedPlan,
  checkChannel,
  checkRecognitionUpdate,
  currentPlan,
  gracefulOption,
  languageSetting,
  phrasesSetting,
  readRecognitionSettings,
  segmenterOptions,
  voiceOptions,
  type RecognitionDefaults,
} from './recognition-settings.js'

const options = nodeOptions(
  {},
  {
    model: nonEmptyText,
    ...codecsOf(engineParameters),
    phrases: phrasesOption,
    ...voiceOptions,
    ...gracefulOption,
    partials: flag,
  },
)

type RecognizerOptions = typeof options._A

/** What the node gives for absent settings; the model of the project is known only to a session. */
const defaultsOf = (
  { model, ...given }: RecognizerOptions,
  context?: Pick<NodeContext, 'resource'>,
): RecognitionDefaults => {
  const named = model === undefined ? undefined : context?.resource(model)
  return {
    model: named?.kind === 'model' ? named.model : undefined,
    ...pickParameters(engineParameters, given),
    parameters: segmenterOptions(given),
  }
}

/** `Language` of the Start is for the whole project: it counts for a model of which the languages are known. */
const languageOfStart = ({ language }: NodeContext, { capabilities }: Engine): string | undefined =>
  capabilities.languages !== undefined && languageTag.is(language) ? language : undefined

/**
 * Detects speech and recognizes it on each channel: `Speech Started`, `Speech Ended`, `SR Partial`, `SR Milestone` and
 * `SR Final` (PROTOCOL 3.3), one final per channel. `Engine Failed` reports a fault of the engine. A permanent fault,
 * and any other early end of the session, ends every channel with a final that contains the error. An `Update` of a
 * voice setting applies from the next silence of the channel on, and one of the language from the next segment on; one
 * that is invalid or names another model is refused.
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
    const fixed = defaultsOf(given, context)
    const engine = await context.engine(currentPlan(context, fixed, fromSettings).model)
    const ofStart = fromSettings ? languageOfStart(context, engine) : undefined
    const defaults = { ...fixed, language: ofStart ?? fixed.language }
    const checkSettings = (next: Settings): SpeechError | undefined => {
      const plan = readRecognitionSettings(fromSettings ? next : {}, defaults)
      return either.isLeft(plan) ? plan.left : languageRefusal(engine, plan.right.settings.language, languageSetting)
    }
    const refusal = checkSettings(context.settings())
    if (refusal !== undefined) throw refusal
    await requirePhrases(engine, currentPlan(context, defaults, fromSettings).settings.phrases, phrasesSetting)
    const format = portFormat(context.inputs)
    const node: Node = (input$, session) =>
      defer(() =>
        input$.pipe(
          recognizeChannels({
            engine,
            ...currentPlan(session, defaults, fromSettings),
            format,
            firstChannel: channel,
            offsetMs: session.offsetMs ?? 0,
            changed$: changedPlan(session, defaults, fromSettings),
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
    return Object.assign(node, { checkSettings })
  },
})
