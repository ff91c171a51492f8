import { errorTable, isErrorCode } from './error-table.js'
import { isSpeechError, SpeechError } from './speech-error.js'

// A refusal on the wire reads `<code>: <sentence>`, in an operation-result, a close reason, a status or an HTTP body
// (PROTOCOL 9).

/** The text of a refusal. An unknown error becomes `internal`, so that no internal information is sent. */
export const refusalText = (error: unknown): string =>
  isSpeechError(error) ? `${error.code}: ${error.message}` : `internal: ${errorTable.internal.help}`

/** The text of a refusal, cut to a number of bytes of UTF-8 at the boundary of a character, and well-formed. */
export const reasonText = (reason: { readonly code: string; readonly message: string }, maxBytes: number): string => {
  const bytes = new Uint8Array(maxBytes)
  const { written } = new TextEncoder().encodeInto(`${reason.code}: ${reason.message}`, bytes)
  return new TextDecoder().decode(bytes.subarray(0, written))
}

/** Reads a refusal: its code if the table has it, otherwise `refused` with the peer's text. */
export const refusalError = (text: string): SpeechError => {
  const line = sanitizePeerText(text)
  const [, code = '', sentence = ''] = /^([a-z][a-z-]*):(.*)$/.exec(line) ?? []
  return isErrorCode(code)
    ? new SpeechError(code, sentence.trim() || 'The service refused and sent no reason.')
    : new SpeechError('refused', `The service refused: ${line || 'it sent no reason'}`)
}

/** As `refusalError`, but undefined if the text has no code of the table, because it may not be a refusal. */
export const parseRefusal = (text: string): SpeechError | undefined => {
  const error = refusalError(text)
  return error.code !== 'refused' || text.startsWith('refused: ') ? error : undefined
}

/** How many characters of a peer's own text an error message repeats. */
const maxPeerTextLength = 300

/** A peer's own text as an error message can hold it: one line of bounded length. */
export const sanitizePeerText = (text: string): string =>
  text
    .slice(0, maxPeerTextLength)
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
