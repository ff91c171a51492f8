// Phrases that a decoder easily confuses, found by their phones.
import type { Expansion, Grammar, ModelFault, Span } from '../models/jsgf.js'
import type { Pronunciations } from './pronunciations.js'

/** A phrase that can stand at the same place as others. */
interface Phrase {
  readonly words: readonly string[]
  readonly span: Span
  /** Phrases of the same alternative are variants of one, and are not compared. */
  readonly alternative: number
}

/**
 * Phones that differ only by voice, or by a little of the tongue, in the phone sets of the English and the French
 * model. On a telephone line these are the first to be confused.
 */
const likePhones = [
  ...[
    'P B',
    'T D',
    'K G',
    'F V',
    'S Z',
    'TH DH',
    'CH JH',
    'SH ZH',
    'M N NG',
    'IH IY',
    'EH AE',
    'AA AO',
    'UH UW',
    'AH AX',
  ],
  ...['pp bb', 'tt dd', 'kk gg', 'ff vv', 'ss zz', 'ch jj', 'mm nn', 'ai ei', 'au oo', 'an on'],
]
const classOf = new Map(likePhones.flatMap((group) => group.split(' ').map((phone) => [phone, group.split(' ')[0]])))

/** Maximum pronunciations of a phrase that are compared. */
const maxWays = 8
/** Phrases of an alternative, and of a choice; of more, only those with the same or like phones are found. */
const maxPhrasesOfAlternative = 64
const maxPhrasesOfChoice = 20_000
const maxWords = 24
const maxOpenRules = 100
/** Phones of the longer phrase from which one more phone is hard to hear. */
const minPhonesForOneMore = 5

const phonesOf = (words: readonly string[], known: Pronunciations): readonly (readonly string[])[] =>
  words.reduce<readonly (readonly string[])[]>(
    (ways, word) =>
      ways.flatMap((way) => (known.get(word) ?? []).map((phones) => [...way, ...phones])).slice(0, maxWays),
    [[]],
  )

const likenessOf = (phones: readonly string[]): readonly string[] => phones.map((phone) => classOf.get(phone) ?? phone)

const textOf = ({ words }: Phrase): string => words.join(' ')

type Likeness = 'twice' | 'same' | 'nearly'

const sentences: Readonly<Record<Likeness, (text: string, other: string) => string>> = {
  twice: (text) => `"${text}" is here twice.`,
  same: (text, other) => `"${text}" sounds the same as "${other}"; nothing but its place can tell them apart.`,
  nearly: (text, other) => `"${text}" sounds nearly like "${other}"; another word is safer.`,
}

/** Pairs of a grammar that are reported. */
const maxPairs = 40

export class SoundAlikes {
  readonly faults: ModelFault[] = []
  readonly #known: Pronunciations
  readonly #reported = new Set<string>()

  constructor(known: Pronunciations) {
    this.#known = known
  }

  /** Compares phrases that can stand at the same place, in time that grows with their number alone. */
  compare(phrases: readonly Phrase[]): void {
    const byText = new Map<string, Phrase[]>()
    const bySound = new Map<string, Phrase[]>()
    const byLikeness = new Map<string, Phrase[]>()
    const sounds: { readonly phrase: Phrase; readonly phones: readonly string[] }[] = []
    for (const phrase of phrases) {
      this.#add(byText, textOf(phrase), phrase, 'twice')
      for (const phones of phonesOf(phrase.words, this.#known)) {
        this.#add(bySound, phones.join(' '), phrase, 'same')
        this.#add(byLikeness, likenessOf(phones).join(' '), phrase, 'nearly')
        sounds.push({ phrase, phones })
      }
    }
    if (sounds.length > maxPhrasesOfChoice) return
    for (const { phrase, phones } of sounds) {
      if (phones.length < minPhonesForOneMore || this.faults.length >= maxPairs) continue
      const likeness = likenessOf(phones)
      phones.forEach((_phone, at) => {
        const shorter = byLikeness.get(likeness.toSpliced(at, 1).join(' '))
        if (shorter !== undefined) this.#report(phrase, shorter, 'nearly')
      })
    }
  }

  #add(map: Map<string, Phrase[]>, key: string, phrase: Phrase, likeness: Likeness): void {
    const others = map.get(key)
    if (others === undefined) {
      map.set(key, [phrase])
      return
    }
    this.#report(phrase, others, likeness)
    // A few are enough to find every later one.
    if (others.length < 3) others.push(phrase)
  }

  #report(phrase: Phrase, others: readonly Phrase[], likeness: Likeness): void {
    const other = others.find(
      (one) => one.alternative !== phrase.alternative && (likeness === 'twice') === (textOf(one) === textOf(phrase)),
    )
    if (other === undefined || this.faults.length >= maxPairs) return
    const pair = [textOf(phrase), textOf(other)].toSorted().join('\n')
    if (this.#reported.has(pair)) return
    this.#reported.add(pair)
    const [first, second] = phrase.span.from < other.span.from ? [other, phrase] : [phrase, other]
    const message = sentences[likeness](textOf(first), textOf(second))
    this.faults.push({ severity: 'warning', span: first.span, message })
  }
}

/** The phrases that a part allows, up to a limit; undefined above it, and for what has no limit. */
class Phrases {
  readonly #bodies: ReadonlyMap<string, Expansion>
  readonly #open = new Set<string>()
  /** Parts that were expanded; bounds the work for grammars of deeply nested rules. */
  #steps = 0

  constructor({ rules }: Grammar) {
    this.#bodies = new Map(rules.toReversed().map(({ name, body }) => [name, body]))
  }

  of(items: readonly Expansion[]): readonly (readonly string[])[] | undefined {
    let phrases: readonly (readonly string[])[] = [[]]
    for (const item of items) {
      const next = this.#ofPart(item)
      if (next === undefined || phrases.length * next.length > maxPhrasesOfAlternative) return undefined
      phrases = phrases.flatMap((before) => next.map((after) => [...before, ...after]))
    }
    return phrases.every((words) => words.length <= maxWords) ? phrases : undefined
  }

  #ofPart(part: Expansion): readonly (readonly string[])[] | undefined {
    this.#steps += 1
    if (this.#steps > 200_000) return undefined
    switch (part.type) {
      case 'word':
        return [[part.word]]
      case 'repeated':
        return undefined
      case 'tagged':
        return this.#ofPart(part.item)
      case 'rule': {
        const body = this.#bodies.get(part.name)
        if (part.name === 'NULL') return [[]]
        if (body === undefined || this.#open.has(part.name) || this.#open.size === maxOpenRules) return undefined
        this.#open.add(part.name)
        const phrases = this.#ofPart(body)
        this.#open.delete(part.name)
        return phrases
      }
      case 'choice': {
        const all: (readonly string[])[] = []
        for (const { items } of part.alternatives) {
          const phrases = this.of(items)
          if (phrases === undefined || all.length + phrases.length > maxPhrasesOfAlternative) return undefined
          all.push(...phrases)
        }
        return all
      }
    }
  }
}

/** The phrases of each choice of a grammar, to be compared with one another. */
export function* choicesOf(grammar: Grammar): Generator<readonly Phrase[]> {
  const phrases = new Phrases(grammar)
  function* visit(part: Expansion): Generator<readonly Phrase[]> {
    if (part.type === 'tagged' || part.type === 'repeated') yield* visit(part.item)
    if (part.type !== 'choice') return
    for (const { items } of part.alternatives) for (const item of items) yield* visit(item)
    if (part.alternatives.length < 2) return
    const all: Phrase[] = []
    for (const [alternative, { items }] of part.alternatives.entries()) {
      const span = { from: items[0]?.span.from ?? part.span.from, to: items.at(-1)?.span.to ?? part.span.to }
      for (const words of phrases.of(items) ?? []) {
        if (words.length > 0 && all.length < maxPhrasesOfChoice) all.push({ words, span, alternative })
      }
    }
    yield all
  }
  for (const { body } of grammar.rules) yield* visit(body)
}
