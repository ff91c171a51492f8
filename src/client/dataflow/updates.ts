import { catchError, map, of, type Observable } from 'rxjs'
import { SpeechError, toSpeechError } from '../../errors/speech-error.js'
import { settings, type UpdateRequest } from '../../protocol/dataflow-messages.js'
import { isJsonObject } from '../../protocol/json-object.js'
import type { ClientInput } from '../states.js'

/** What the user changes while a session streams. JavaScript may emit anything, and what cannot be written fails the session. */
export const updateInputs = (update$: Observable<UpdateRequest>): Observable<ClientInput> =>
  update$.pipe(
    map((update): ClientInput =>
      isUpdate(update) ? { type: 'update', update } : { type: 'failed', error: noUpdate() },
    ),
    catchError((cause: unknown) => {
      const error = toSpeechError(cause, 'source-failed', 'The source of further requests failed; see the cause.')
      return of<ClientInput>({ type: 'failed', error })
    }),
  )

const isUpdate = (update: unknown): update is UpdateRequest =>
  isJsonObject(update) &&
  [update['settings'], update['callProperties']].every((value) => value === undefined || settings.is(value))

const noUpdate = (): SpeechError =>
  new SpeechError('invalid-options', `update$ must emit settings or callProperties, each ${settings.name}.`)
