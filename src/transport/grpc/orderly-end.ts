import { Metadata } from '@grpc/grpc-js'
import type { SpeechError } from '../../errors/speech-error.js'
import { namedRefusal, reasonText } from '../named-refusal.js'
import type { CloseReason } from '../link.js'

/** A trailer beside the status OK: why the service has ended a stream in good order that nobody asked it to end. */
export const endTrailer = 'rxspeech-end'

const maxTrailerBytes = 512

export const orderlyEnd = (reason: CloseReason): Metadata => {
  const trailers = new Metadata()
  trailers.set(endTrailer, reasonText(reason, maxTrailerBytes))
  return trailers
}

/** What the trailers of a status say of the end; undefined where they say nothing. */
export const orderlyEndOf = (trailers: Metadata): SpeechError | undefined => {
  const [said] = trailers.get(endTrailer)
  return typeof said === 'string' ? namedRefusal(said) : undefined
}
