// One recording through one server at the pace of speech, and what came of it.
import { setTimeout as delay } from 'node:timers/promises'
import wordErrors from '../../packages/engines/dist/word-errors.js'
import { spelledWords } from './spelled-words.mjs'

const { alignWords, countErrors } = wordErrors
const chunkMs = 20

/**
 * The samples in messages of 20 ms at the pace of speech, or as fast as they are taken. Late timers are made up for.
 * `sent` gets the time of the clock at which the audio began, and ended.
 */
export const paced = async function* ({ samples, rateHz }, { isPaced = true, sent = {} } = {}) {
  const perChunk = (rateHz * chunkMs) / 1000
  sent.beginMs = performance.now()
  for (let at = 0; at < samples.length; at += perChunk) {
    const waitMs = sent.beginMs + ((at + perChunk) * 1000) / rateHz - performance.now()
    if (isPaced && waitMs > 1) await delay(waitMs)
    yield samples.slice(at, at + perChunk)
  }
  sent.endMs = performance.now()
}

/** How a text differs from what was said. */
export const wordsWrong = (said, text) => {
  const counts = countErrors(alignWords(spelledWords(said), spelledWords(text)))
  return { ...counts, share: (counts.substituted + counts.inserted + counts.deleted) / counts.words }
}

const commonLength = (one, other) => {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return length
}

/** The words as they are written, which belong to each other whatever follows them. */
const writtenWords = (text) =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .split(' ')
    .filter(Boolean)

/**
 * Sums up updates, each with the whole text so far, the part of it that is committed, and the time in milliseconds
 * since the audio began. Committed words are taken back if a later text does not have them; neither punctuation nor
 * words that are added count.
 */
export const summarize = (updates, { said, sent, finalMs }) => {
  let takenBack = 0
  let changed = 0
  let committed = []
  let shown = []
  for (const update of updates) {
    const words = writtenWords(update.text)
    if (commonLength(committed, words) < committed.length) {
      takenBack += committed.length - countErrors(alignWords(committed, words)).right
    }
    changed += shown.length - commonLength(shown, words)
    committed = writtenWords(update.text.slice(0, update.committedLength))
    shown = words
  }
  const text = updates.at(-1)?.text ?? ''
  return {
    text,
    wrong: said === undefined ? undefined : wordsWrong(said, text),
    firstTextMs: updates.find((update) => spelledWords(update.text).length > 0)?.atMs,
    finalAfterMs: finalMs - (sent.endMs - sent.beginMs),
    takenBack,
    changed,
    updates: updates.length,
  }
}
