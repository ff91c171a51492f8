import { unspacedScript } from './unspaced-script.js'

/** The members of the character class. In these scripts each letter counts as a word. */
const unspaced = unspacedScript.source.slice(1, -1)

/** A letter of such a script with its marks; or letters and digits, with apostrophes between them. */
const word = new RegExp(
  `[${unspaced}]\\p{M}*|(?:(?![${unspaced}])[\\p{L}\\p{N}]\\p{M}*)+(?:['’](?:(?![${unspaced}])[\\p{L}\\p{N}]\\p{M}*)+)*`,
  'gu',
)

/**
 * Text without letter case: compatibility forms are one (Unicode NFKC), "ß" is "ss", and a final sigma equals a medial
 * one. It maps to upper case first, as case folding does (Unicode 15, section 5.18). The four letters i of Turkish are
 * one.
 */
export const foldCase = (text: string): string =>
  text.normalize('NFKC').toUpperCase().toLowerCase().replaceAll('i\u0307', 'i').replaceAll('ς', 'σ').normalize('NFC')

/**
 * The words of a text without letter case and punctuation: "Don't – STOP!" gives `dont`, `stop`. A hyphen separates
 * words, an apostrophe within a word is removed, and letters of scripts without spaces are words. Linear in the text.
 */
export const foldWords = (text: string): readonly string[] =>
  (foldCase(text).match(word) ?? []).map((match) => match.replace(/['’]/gu, ''))
