import { unspacedScript } from '../../protocol/unspaced-script.js'

/** A piece of text without a line break, usually a word. */
export interface CaptionToken {
  readonly text: string
  /** Whether a space separates it from the text before it. */
  readonly spaced: boolean
  readonly columns: number
}

/** White space at which a line can break: not at no-break spaces (Unicode Standard Annex 14, classes GL and WJ). */
const breakingSpace = /[^\S\u00a0\u2007\u202f\ufeff]+/u

/** Control characters, line breaks and direction overrides, which must not appear in a line. */
export const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu

/** Scripts in which a line can end after nearly every character. */
const ideographic = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u
/** Characters that must not start a line: closing marks, small kana, the long vowel mark (JIS X 4051). */
const notFirst =
  /^[\u00a0\u2007\u202f\u2060\ufeff\p{Pe}\p{Pf}\p{Po}\p{M}ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮー々ゝゞヽヾ〜～]/u
/** Characters that must not end a line: opening marks. */
const notLast = /[\p{Ps}\p{Pi}\u00a0\u2007\u202f\u2060\ufeff]$/u

/** Characters of two columns (Unicode Standard Annex 11). */
export const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u
// eslint-disable-next-line no-control-regex -- all of ASCII
const ascii = /^[\u0000-\u007f]*$/

const graphemesOf = (text: string): readonly string[] =>
  ascii.test(text)
    ? Array.from(text)
    : Array.from(new Intl.Segmenter('und', { granularity: 'grapheme' }).segment(text), ({ segment }) => segment)

const columnsOfGrapheme = (grapheme: string): number => (wide.test(grapheme) ? 2 : 1)

/** The number of columns of a text: two for a wide character, one for any other grapheme. */
export const columnsOf = (text: string): number =>
  ascii.test(text) ? text.length : graphemesOf(text).reduce((sum, grapheme) => sum + columnsOfGrapheme(grapheme), 0)

/**
 * Splits a text into the pieces that lines are made of: words between spaces; in scripts without spaces single
 * characters (Han, kana) or dictionary words (Thai and related scripts), with their punctuation. A piece that is wider
 * than a line is cut between graphemes.
 */
export const tokensOf = (text: string, maxColumns: number): readonly CaptionToken[] =>
  text
    .replace(unprintable, ' ')
    .split(breakingSpace)
    .filter((chunk) => chunk !== '')
    .flatMap((chunk) =>
      piecesOf(chunk)
        .flatMap((piece) => cut(piece, maxColumns))
        .map((piece, at) => ({ text: piece, spaced: at === 0, columns: columnsOf(piece) })),
    )

const piecesOf = (chunk: string): readonly string[] => {
  if (!unspacedScript.test(chunk)) return [chunk]
  const words = Array.from(new Intl.Segmenter('und', { granularity: 'word' }).segment(chunk), ({ segment }) => segment)
  const pieces: string[] = []
  for (const piece of words.flatMap((word) => (ideographic.test(word) ? graphemesOf(word) : [word]))) {
    const last = pieces.at(-1)
    if (last !== undefined && (notFirst.test(piece) || notLast.test(last))) pieces[pieces.length - 1] = last + piece
    else pieces.push(piece)
  }
  return pieces
}

const cut = (piece: string, maxColumns: number): readonly string[] => {
  if (columnsOf(piece) <= maxColumns) return [piece]
  const parts: string[] = []
  let columns = maxColumns
  for (const grapheme of graphemesOf(piece)) {
    const more = columnsOfGrapheme(grapheme)
    if (columns + more > maxColumns) {
      parts.push(grapheme)
      columns = more
    } else {
      parts[parts.length - 1] = (parts.at(-1) ?? '') + grapheme
      columns += more
    }
  }
  return parts
}
