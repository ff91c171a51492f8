import { findProgram } from 'rxspeech/internal/microphone/find-program'
import { foldCase } from 'rxspeech/internal/protocol/fold-words'
import { unspacedScript } from 'rxspeech/internal/protocol/unspaced-script'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { quoted } from '../parsing/values.js'
import { splitArguments } from './argument-list.js'

type Values = Readonly<Record<string, string | undefined>>

/** What is definitive: its text, and the slots that a grammar makes of it. */
export interface SpokenSentence {
  readonly text: string
  readonly slots?: Values | undefined
}

/** A program with its arguments, and why it does not run, if so. */
export interface ProgramCall {
  readonly program: string
  readonly args: readonly string[]
  readonly refusal?: string
  /** A slot of the arguments that has no value. */
  readonly missing?: string
}

/** A sentence, and the program that runs when it is said. */
export interface SpokenCommand {
  /** The call for what was said; undefined if it is not the sentence. */
  readonly callFor: (spoken: SpokenSentence) => ProgramCall | undefined
}

const slotName = /[A-Za-z_][\w-]*/.source
/** `{name}`, or `{name=value}`, as in a grammar. */
const slot = new RegExp(`\\{(${slotName})(?:=([^{}]*))?\\}`)

type PatternPart = { readonly word: string } | { readonly slot: string }

interface Pattern {
  readonly parts: readonly PatternPart[]
  /** The slots that must have a value. */
  readonly conditions: Values
}

/**
 * Reads `--on SENTENCE PROGRAM`. In the sentence `{name}` stands for one or more words within a sentence of what is said,
 * and `{name=value}` for no word, but for a slot of the grammar that has this value; if nothing else is there, any text
 * matches. Words match without letter case and punctuation. The program is split into arguments here, once, so that what was said is always a part
 * of one argument; `{name}` in an argument is the slot of the grammar, or the words of the sentence. Throws
 * `invalid-options`.
 */
const spokenCommand = (sentence: string, line: string, { env }: Pick<Host, 'env'>): SpokenCommand => {
  const pattern = readPattern(sentence)
  const [name = '', ...template] = splitArguments(line, '--on')
  if (slot.test(name)) throw usageError(`--on: the program ${quoted(name)} must not be what is said; name a program.`)
  const program = findProgram(name, env)
  if (program === undefined)
    throw usageError(`--on: there is no program ${quoted(name)}; install it, or correct its name.`)
  const needed = template.flatMap(slotsIn)
  return {
    callFor: ({ text, slots = {} }) => {
      const { parts, conditions } = pattern
      if (Object.entries(conditions).some(([key, value]) => slots[key] !== value)) return undefined
      const words = parts.length === 0 ? {} : matchOfAny(parts, text)
      if (words === undefined) return undefined
      const values = { ...words, ...slots }
      const missing = needed.find((key) => values[key] === undefined)
      if (missing !== undefined) return { program, args: [], missing, refusal: `{${missing}} has no value` }
      return fill(program, template, values)
    },
  }
}

/** Pairs of a sentence and a program. */
export const spokenCommands = (typed: readonly string[], host: Pick<Host, 'env'>): readonly SpokenCommand[] => {
  if (typed.length % 2 === 1) {
    throw usageError("--on takes a sentence and a program, such as --on 'lights {state}' 'lamp {state}'; quote both.")
  }
  return typed.flatMap((sentence, at) => (at % 2 === 1 ? [] : [spokenCommand(sentence, typed[at + 1] ?? '', host)]))
}

/**
 * The calls for a milestone: of the first command whose sentence is the whole text, or of the first for each sentence
 * in it. A command whose arguments lack a slot gives way to the next one that matches.
 */
export const callsFor = (commands: readonly SpokenCommand[], spoken: SpokenSentence): readonly ProgramCall[] => {
  const firstCall = (one: SpokenSentence): readonly ProgramCall[] => {
    const calls = commands.flatMap(({ callFor }) => callFor(one) ?? [])
    const call = calls.find(({ missing }) => missing === undefined) ?? calls[0]
    return call === undefined ? [] : [call]
  }
  const whole = firstCall(spoken)
  if (whole.length > 0) return whole
  const sentences = sentencesIn(spoken.text)
  return sentences.length < 2 ? [] : sentences.flatMap((text) => firstCall({ text }))
}

const readPattern = (sentence: string): Pattern => {
  const parts: PatternPart[] = []
  const conditions: Record<string, string> = {}
  for (const piece of sentence.split(/(\{[^{}]*\})/)) {
    const [, name, value] = piece.startsWith('{') ? (new RegExp(`^${slot.source}$`).exec(piece) ?? []) : []
    if (name === undefined) {
      if (/[{}]/.test(piece)) throw usageError(`--on: ${quoted(piece)} is no slot; write {name} or {name=value}.`)
      parts.push(...wordsOf(piece).map(({ folded }) => ({ word: folded })))
    } else if (value === undefined) {
      if (parts.some((part) => 'slot' in part && part.slot === name)) {
        throw usageError(`--on: {${name}} is twice in ${quoted(sentence)}; give each slot a name of its own.`)
      }
      parts.push({ slot: name })
    } else conditions[name] = value
  }
  if (parts.length === 0 && Object.keys(conditions).length === 0) throw usageError('--on: the sentence has no word.')
  return { parts, conditions }
}

interface SpokenWord {
  readonly folded: string
  /** Its place in the text, without punctuation around it. */
  readonly from: number
  readonly to: number
  /** Whether it is the last one of a sentence, by the punctuation behind it. */
  readonly isLast: boolean
}

const unspaced = unspacedScript.source.slice(1, -1)
/** A letter of a script without spaces; or what stands between spaces. */
const token = new RegExp(`[${unspaced}]\\p{M}*|(?:(?![${unspaced}])\\S)+`, 'gu')
const core = /[\p{L}\p{N}\p{S}](?:.*[\p{L}\p{M}\p{N}\p{S}%°])?/su

/** The words of a text; a hyphen joins the parts of one. */
const wordsOf = (text: string): readonly SpokenWord[] =>
  [...text.matchAll(token)].flatMap((match) => {
    const found = core.exec(match[0])
    if (found === null) return []
    const from = match.index + found.index
    const folded = foldCase(found[0]).replaceAll(/[^\p{L}\p{M}\p{N}\p{S}%°]/gu, '')
    const to = from + found[0].length
    const isLast = sentenceEnd.test(text.slice(to)) && !abbreviation.test(text.slice(from, to + 1))
    return [{ folded, from, to, isLast }]
  })

const sentenceEnd = /^[^\s\p{L}\p{N}]*[.!?…。！？]/u
/** A title before a name, or an initial, but not the word I. */
const abbreviation = /^(?:[Mm]rs?|[Mm]s|[Dd]r|[Pp]rof|[Ss]t|[Ss]ra?|(?!I)\p{Lu})\.$/u

const sentencesIn = (text: string): readonly string[] => {
  let from = 0
  return wordsOf(text).flatMap(({ to, isLast }, at, words) => {
    if (!isLast && at < words.length - 1) return []
    const sentence = text.slice(from, to)
    from = to
    return [sentence]
  })
}

/** The longest text that is compared; a milestone is shorter. */
const maxWords = 500

/** The words of each slot, as few as possible from left to right; undefined if the text does not match. */
const matchOfAny = (parts: readonly PatternPart[], text: string): Values | undefined => {
  const words = wordsOf(text)
  if (words.length > maxWords) return undefined
  // Pairs of positions that do not lead to the end, so that no pair is tried twice.
  const failed = new Set<number>()
  const match = (part: number, word: number): Values | undefined => {
    const expected = parts[part]
    if (expected === undefined) return word === words.length ? {} : undefined
    const key = part * (maxWords + 1) + word
    if (failed.has(key)) return undefined
    const found = 'word' in expected ? matchWord(expected.word, part, word) : matchSlot(expected.slot, part, word)
    if (found === undefined) failed.add(key)
    return found
  }
  const matchWord = (expected: string, part: number, word: number): Values | undefined =>
    words[word]?.folded === expected ? match(part + 1, word + 1) : undefined
  const matchSlot = (name: string, part: number, first: number): Values | undefined => {
    for (let last = first; last < words.length; last++) {
      const rest = match(part + 1, last + 1)
      if (rest !== undefined) return { ...rest, [name]: text.slice(words[first]?.from, words[last]?.to) }
      if (words[last]?.isLast === true) return undefined
    }
    return undefined
  }
  return match(0, 0)
}

const slotsIn = (argument: string): readonly string[] =>
  [...argument.matchAll(new RegExp(`\\{(${slotName})\\}`, 'g'))].flatMap(([, name]) => name ?? [])

/**
 * The arguments with what was said. An argument that begins with it must not become an option, unless `--` is before
 * it.
 */
const fill = (program: string, template: readonly string[], values: Values): ProgramCall => {
  const args = template.map((argument) =>
    argument.replaceAll(new RegExp(`\\{(${slotName})\\}`, 'g'), (_all, name: string) => values[name] ?? ''),
  )
  const optionsEnd = template.indexOf('--')
  const option = args.find(
    (argument, at) =>
      argument.startsWith('-') && template[at]?.startsWith('{') === true && (optionsEnd === -1 || at < optionsEnd),
  )
  return option === undefined
    ? { program, args }
    : { program, args, refusal: `the argument ${quoted(option)} would be an option; write -- before it` }
}
