import type { PartialEvent } from './session-event.js'
import { unspacedScript } from './unspaced-script.js'

/**
 * The field of a partial with this text (PROTOCOL 4.2). A length that the text cannot have counts as absent, like every
 * field of a result that cannot be read.
 */
export const stablePart = (text: string, stableLength = 0): Pick<PartialEvent, 'stableLength'> =>
  stableLength > 0 && stableLength <= text.length ? { stableLength } : {}

/** Whether a text has a letter or a digit. */
const isLetter = (text: string): boolean => /[\p{L}\p{M}\p{N}]/u.test(text)

/** Behind which position of a text the same words end, written in whatever way; undefined if it has others. */
const endOfWords = (words: string, text: string): number | undefined => {
  let at = 0
  for (const letter of words) {
    if (!isLetter(letter)) continue
    while (at < text.length && !isLetter(characterAt(text, at))) at += 1
    const found = characterAt(text, at)
    if (found.toLowerCase() !== letter.toLowerCase()) return undefined
    at += found.length
  }
  if (isWithinWord(text, at)) return undefined
  const [marks = ''] = /^[^\s\p{L}\p{M}\p{N}]*(?=\s|$)/u.exec(text.slice(at)) ?? []
  return at + marks.length
}

/** Whether a word goes on at this position, which ends one in a script with spaces. */
const isWithinWord = (text: string, at: number): boolean => {
  const next = characterAt(text, at)
  return isLetter(next) && !unspacedScript.test(next)
}

const characterAt = (text: string, at: number): string => String.fromCodePoint(text.codePointAt(at) ?? 32)

/**
 * A partial that another reading of its segment made, with what was stable before as it was written then; undefined if
 * the reading has other words, so that it would take back stable ones.
 */
export const keepStable = <Shown extends { readonly text: string; readonly stableLength?: number | undefined }>(
  stable: string,
  partial: Shown,
): Shown | undefined => {
  // An empty one says that the segment came to nothing.
  if (partial.text === '' || !isLetter(stable)) return partial
  if (partial.text.startsWith(stable) && !isWithinWord(partial.text, stable.length)) {
    return { ...partial, stableLength: Math.max(partial.stableLength ?? 0, stable.length) }
  }
  const end = endOfWords(stable, partial.text)
  if (end === undefined) return undefined
  const stableLength = stable.length + Math.max((partial.stableLength ?? 0) - end, 0)
  return { ...partial, text: stable + partial.text.slice(end), stableLength }
}
