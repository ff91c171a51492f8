import { NEVER, type SchedulerLike } from 'rxjs'
import { createModelRegistry, type ModelRegistry } from 'rxspeech-engines/models/model-registry'
import type { Recognizer, RecognitionServer } from 'rxspeech-server/listen/recognition-server'
import { SessionSet } from 'rxspeech-server/listen/serve-link'
import { serveRecognizer } from 'rxspeech-server/recognizer/session'
import { sharedTenant } from 'rxspeech-server/sessions/rights'
import { defaultSessionLimits } from 'rxspeech-server/sessions/session-context'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { RecognitionScript } from 'rxspeech/internal/testing/scripted/recognition-script'
import { scriptedRecognizer } from 'rxspeech/internal/testing/scripted/scripted-recognizer'
import { builtInEngines } from '../../start/built-ins.js'

export interface StandInRecognitionOptions {
  readonly script: RecognitionScript
  readonly modelFolders: readonly string[] | undefined
  readonly key: string | undefined
  readonly speed: number | undefined
  readonly scheduler: SchedulerLike
}

export interface StandInRecognition extends Pick<RecognitionServer, 'context' | 'sessions'> {
  readonly recognizer: Recognizer
  /** The name of the model that every name of a client means. */
  readonly model: string
  readonly close: () => Promise<void>
}

/** Sessions with the words of a script, or with models; without tenants, and for anyone with the key. */
export const openRecognition = (options: StandInRecognitionOptions): StandInRecognition => {
  const { script, modelFolders, key, speed, scheduler } = options
  const scripted = scriptedRecognizer(script, { speed, scheduler })
  const models =
    modelFolders === undefined
      ? scriptedModels
      : createModelRegistry({ folders: modelFolders, kinds: builtInEngines(process.env) })
  const recognizer: Recognizer = (received$, _link, { reportsSpeech }) => scripted({ received$, reportsSpeech })
  const sessions = new SessionSet()
  return {
    model: models.list()[0]?.name ?? scriptedModel.name,
    recognizer: modelFolders === undefined ? recognizer : serveRecognizer,
    sessions,
    context: {
      admit: (token) =>
        key === undefined || token === key
          ? Promise.resolve({ rights: everyRight, ended$: NEVER, release: () => undefined })
          : Promise.reject(new SpeechError('unauthenticated', 'The key is not that of this stand-in.')),
      models,
      // A test may send a file as fast as it is read.
      limits: { ...defaultSessionLimits, maxPacePercent: 0 },
      drain$: NEVER,
      scheduler,
    },
    close: async () => {
      sessions.endAll()
      await models.close()
    },
  }
}

const everyRight = { tenants: ['*'], projects: ['*'], models: ['*'] }

const scriptedModel = {
  tenant: sharedTenant,
  name: 'stand-in',
  version: '1',
  folder: '',
  options: { engine: 'scripted' },
}

/** What `GET /v1/models` lists; no session opens it. */
const scriptedModels: ModelRegistry = {
  find: () => scriptedModel,
  list: () => [scriptedModel],
  problems: () => [],
  engine: () => Promise.reject(new SpeechError('invalid-model', 'A script has no engine.')),
  close: () => Promise.resolve(),
}
