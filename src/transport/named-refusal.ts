import { parseRefusal, type SpeechError } from '../errors/speech-error.js'

/** The error that a peer's reason names as `<code>: <sentence>`; undefined when it names no code of the error table. */
export const namedRefusal = (reason: string): SpeechError | undefined => {
  const error = parseRefusal(reason)
  return error.code !== 'refused' || reason.startsWith('refused: ') ? error : undefined
}

/** `<code>: <sentence>`, cut to so many bytes of UTF-8 at the boundary of a character and well-formed. */
export const reasonText = (reason: { readonly code: string; readonly message: string }, maxBytes: number): string => {
  const bytes = new Uint8Array(maxBytes)
  const { written } = new TextEncoder().encodeInto(`${reason.code}: ${reason.message}`, bytes)
  return new TextDecoder().decode(bytes.subarray(0, written))
}
