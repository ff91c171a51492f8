/** A piece of text that is not cut: most often a word. */
export interface CaptionToken {
  readonly text: string
  /** Whether a space parts it from what stands before it. */
  readonly spaced: boolean
  readonly columns: number
}

/** Control characters, line ends, and those that turn the direction of text: none of them belongs on a line. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu

/** The scripts whose words stand without spaces between them. */
const unspaced = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
/** Those of them where a line may end behind nearly every character. */
const ideographic = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u
/** What no line begins with: closing marks, small kana, the long vowel mark (JIS X 4051, as far as speech is written). */
const notFirst = /^[\p{Pe}\p{Pf}\p{Po}\p{M}ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮー々ゝゞヽヾ〜～]/u
/** What no line ends with: opening marks. */
const notLast = /[\p{Ps}\p{Pi}]$/u

/** Unicode Standard Annex 11, as far as speech is written: scripts and signs that take two columns. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|[\u{20000}-\u{3fffd}]/u
// eslint-disable-next-line no-control-regex -- all of ASCII
const ascii = /^[\u0000-\u007f]*$/

const graphemesOf = (text: string): readonly string[] =>
  ascii.test(text)
    ? Array.from(text)
    : Array.from(new Intl.Segmenter('und', { granularity: 'grapheme' }).segment(text), ({ segment }) => segment)

const columnsOfGrapheme = (grapheme: string): number => (wide.test(grapheme) ? 2 : 1)

/** How many columns a text takes: two for wide characters, one for every other that a reader sees. */
export const columnsOf = (text: string): number =>
  ascii.test(text) ? text.length : graphemesOf(text).reduce((sum, one) => sum + columnsOfGrapheme(one), 0)

/**
 * The text in pieces that lines are made of: words between spaces; in scripts without spaces single characters (Han,
 * kana) or words of the dictionary (Thai and its neighbors), marks with what they belong to. What is wider than a line
 * is cut between characters.
 */
export const tokensOf = (text: string, maxColumns: number): readonly CaptionToken[] =>
  text
    .replace(unprintable, ' ')
    .split(/\s+/u)
    .filter((chunk) => chunk !== '')
    .flatMap((chunk) =>
      piecesOf(chunk)
        .flatMap((piece) => cut(piece, maxColumns))
        .map((piece, at) => ({ text: piece, spaced: at === 0, columns: columnsOf(piece) })),
    )

const piecesOf = (chunk: string): readonly string[] => {
  if (!unspaced.test(chunk)) return [chunk]
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
