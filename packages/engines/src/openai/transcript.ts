import { isJsonObject, type JsonObject } from 'rxspeech/internal/protocol/json-object'
import { ownValue } from 'rxspeech/internal/protocol/parse-json'
import { unspacedScript } from 'rxspeech/internal/protocol/unspaced-script'
import { clamp } from '../decoded-words.js'
import type { Reading, ReadWord } from '../offline/reader.js'

/** A word of an answer, or a part of one: servers with whisper.cpp list its tokens as words. */
interface Piece {
  readonly text: string
  readonly startMs: number
  readonly endMs: number
  readonly probability: number | undefined
}

const objectsOf = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : [])

const textIn = (object: JsonObject, name: string): string => {
  const value = ownValue(object, name)
  return typeof value === 'string' ? value : ''
}

/** A number, which some servers write as text. */
const numberIn = (object: JsonObject, name: string): number | undefined => {
  const value = ownValue(object, name)
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

const isProbability = (value: number | undefined): value is number => value !== undefined && value >= 0 && value <= 1

/** On one line, with single spaces. */
const oneLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ')

const pieceOf = (word: JsonObject, audioMs: number): readonly Piece[] => {
  const text = (textIn(word, 'word') || textIn(word, 'text')).trim()
  const [startS, endS] = [numberIn(word, 'start'), numberIn(word, 'end')]
  if (text === '' || startS === undefined || endS === undefined) return []
  const startMs = clamp(Math.round(startS * 1000), 0, audioMs)
  const probability = numberIn(word, 'probability')
  return [
    {
      text,
      startMs,
      endMs: clamp(Math.round(endS * 1000), startMs, audioMs),
      probability: isProbability(probability) ? probability : undefined,
    },
  ]
}

/**
 * Letters and digits, which all servers write alike in words and in the text; punctuation may be in one of them only.
 */
const lettersOf = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{M}\p{N}]/gu, '')

const meanOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** The mean of probabilities on the scale of logarithms, as of the tokens of a word. */
const jointConfidence = (pieces: readonly Piece[]): number | undefined => {
  const probabilities = pieces.flatMap(({ probability }) => probability ?? [])
  return probabilities.length < pieces.length || pieces.length === 0
    ? undefined
    : Math.exp(meanOf(probabilities.map((probability) => Math.log(Math.max(probability, 1e-6)))))
}

const wordOf = (text: string, pieces: readonly Piece[]): readonly ReadWord[] => {
  const [first, last] = [pieces[0], pieces.at(-1)]
  if (first === undefined || last === undefined) return []
  return [
    { text, startMs: first.startMs, endMs: Math.max(last.endMs, first.startMs), confidence: jointConfidence(pieces) },
  ]
}

/**
 * The words of the text with the times of the pieces: each takes the pieces of which it consists. Undefined if the two
 * do not fit together. A script without spaces has words of its pieces.
 */
const layWords = (text: string, pieces: readonly Piece[]): readonly ReadWord[] | undefined => {
  const spoken = pieces.filter((piece) => lettersOf(piece.text) !== '')
  const words: ReadWord[] = []
  let at = 0
  for (const token of text.split(' ')) {
    const letters = lettersOf(token)
    const own: Piece[] = []
    let length = 0
    for (let piece = spoken[at]; piece !== undefined && length < letters.length; piece = spoken[at]) {
      if (!letters.startsWith(lettersOf(piece.text), length)) return undefined
      length += lettersOf(piece.text).length
      own.push(piece)
      at += 1
    }
    if (length < letters.length) return undefined
    words.push(
      ...(unspacedScript.test(token) ? own.flatMap((piece) => wordOf(piece.text, [piece])) : wordOf(token, own)),
    )
  }
  return at === spoken.length && words.length > 0 ? words : undefined
}

/** The mean probability of the tokens of a segment; undefined for the numbers that servers write for none: -1, 0. */
const confidenceOf = (segment: JsonObject): number | undefined => {
  const logProbability = numberIn(segment, 'avg_logprob')
  return logProbability === undefined || logProbability >= 0 || logProbability === -1
    ? undefined
    : Math.exp(logProbability)
}

/**
 * Reads the answer of a server to a request for JSON, verbose or not; undefined if it has no text. Servers differ in
 * where words are, in their names and spaces, and in the segments' statistics, which are used only where they are more
 * than fillers.
 */
export const readTranscript = (answer: JsonObject, audioMs: number): Reading | undefined => {
  const segments = objectsOf(ownValue(answer, 'segments'))
  const given = ownValue(answer, 'text')
  if (typeof given !== 'string' && segments.length === 0) return undefined
  const text = oneLine(typeof given === 'string' ? given : segments.map((segment) => textIn(segment, 'text')).join(' '))
  if (text === '') return { text }
  const top = objectsOf(ownValue(answer, 'words'))
  const listed = top.length > 0 ? top : segments.flatMap((segment) => objectsOf(ownValue(segment, 'words')))
  const words = layWords(
    text,
    listed.flatMap((word) => pieceOf(word, audioMs)),
  )
  const rated = segments.flatMap((segment) => {
    const confidence = confidenceOf(segment)
    const noSpeech = numberIn(segment, 'no_speech_prob')
    const weight = Math.max(textIn(segment, 'text').length, 1)
    return confidence === undefined
      ? []
      : [{ confidence, weight, noSpeech: isProbability(noSpeech) ? noSpeech : undefined }]
  })
  const weights = rated.reduce((sum, { weight }) => sum + weight, 0)
  const isRated = rated.length > 0 && rated.length === segments.length
  const noSpeech = rated.flatMap((one) => one.noSpeech ?? [])
  return {
    text,
    ...(words !== undefined && { words }),
    ...(isRated && {
      confidence: rated.reduce((sum, { confidence, weight }) => sum + confidence * weight, 0) / weights,
    }),
    // Speech in any part of it is speech.
    ...(isRated && noSpeech.length === rated.length && { noSpeechProbability: Math.min(...noSpeech) }),
  }
}

/** The message in the body of an error, in its four common forms; never the input that some servers repeat. */
export const errorTextOf = (body: string, parsed: unknown): string => {
  if (!isJsonObject(parsed)) return parsed === undefined ? body : ''
  const found = ownValue(parsed, 'error') ?? ownValue(parsed, 'detail') ?? parsed
  const first: unknown = Array.isArray(found) ? found[0] : found
  if (typeof first === 'string') return first
  if (!isJsonObject(first)) return ''
  const inner = ownValue(first, 'error')
  const holder = isJsonObject(inner) ? inner : first
  return textIn(holder, 'message') || textIn(holder, 'msg')
}
