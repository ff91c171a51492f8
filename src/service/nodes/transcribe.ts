import { recognizer } from './recognizer.js'
import { rightOrThrow } from './voice-plan.js'
import type { OpenNode } from './node.js'
import { either } from 'fp-ts'
import { SpeechError } from '../../errors/speech-error.js'

/** The one node of the `transcribe` project: a recogniser that the session's settings tell what to do. */
export const openTranscribe: OpenNode = (context) => {
  const configured = either.mapLeft(() => new SpeechError('internal', 'The recognizer takes no options.'))(
    recognizer.configure({}),
  )
  return rightOrThrow(configured).open(context)
}
