import { either } from 'fp-ts'
import { distinctUntilChanged, filter, map, type Observable } from 'rxjs'
import type { SpeechError } from '../../../errors/speech-error.js'
import type { SegmenterParameters } from '../../recognition/segmenter-parameters.js'
import type { NodeContext, PortFormats } from '../core/node.js'
import { readRecognitionSettings, type RecognitionDefaults, type RecognitionPlan } from './recognition-settings.js'

type Session = Pick<NodeContext, 'settings' | 'updated$'>

/** What holds now: the options, under the session's settings where the node heeds those. */
export const planNow = (
  { settings }: Pick<Session, 'settings'>,
  defaults: RecognitionDefaults,
  fromSettings: boolean,
): either.Either<SpeechError, RecognitionPlan> => readRecognitionSettings(fromSettings ? settings() : {}, defaults)

/** The parameters after each `Update` that changed them. Settings that do not fit change nothing: they were refused. */
export const changedParameters = (
  session: Session,
  defaults: RecognitionDefaults,
  fromSettings: boolean,
): Observable<SegmenterParameters> =>
  session.updated$.pipe(
    map(() => planNow(session, defaults, fromSettings)),
    filter(either.isRight),
    map(({ right }) => right.parameters),
    distinctUntilChanged((one, other) => JSON.stringify(one) === JSON.stringify(other)),
  )

/** Throws the refusal of a session whose settings do not fit. */
export const rightOrThrow = <A>(result: either.Either<SpeechError, A>): A => {
  if (either.isLeft(result)) throw result.left
  return result.right
}

/** A channel of its own is for audio that was split off; stereo says which is which by itself. */
export const checkChannel = (
  name: string,
  { audio }: PortFormats,
  channel: number | undefined,
): either.Either<string, unknown> =>
  channel !== undefined && audio?.channels === 2
    ? either.left(`${name} with the option channel needs mono audio: the channels of a stereo stream are 0 and 1`)
    : either.right(undefined)
