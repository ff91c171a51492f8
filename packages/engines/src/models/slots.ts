// Slots: the values that the tags of a grammar derive from a sentence. JSGF leaves the content of tags to the
// application; here
//   {name=value}  sets a slot to the value
//   {name}        sets a slot to the words of the part before the tag
//   {=value}      replaces the words of the part before it, in the slot around it
// Where that part has no words, a tag has no effect, unless the part is <NULL>. Any other tag has no meaning. If a
// sentence sets a slot more than once, the last one counts, as assignments do.
import type { Slots } from 'rxspeech/internal/protocol/session-event'
import { parseGrammar, rootRuleOf, type Expansion, type Grammar, type Rule } from './jsgf.js'

/** The meaning of a tag. */
export type SlotTag =
  | { readonly type: 'slot'; readonly name: string; readonly value?: string | undefined }
  | { readonly type: 'value'; readonly value: string }

/** The meaning of a tag without its braces; undefined if it has none. */
export const readSlotTag = (tag: string): SlotTag | undefined => {
  const [, name = '', value] = /^\s*([A-Za-z_][\w-]*)?\s*(?:=\s*([^\p{Cc}]*?)\s*)?$/u.exec(tag) ?? []
  if (name === '__proto__') return undefined
  if (name !== '') return { type: 'slot', name, value }
  return value === undefined ? undefined : { type: 'value', value }
}

/** Calls back with each part of an expansion, without following rules. */
export const visitExpansion = (expansion: Expansion, visit: (part: Expansion) => void): void => {
  visit(expansion)
  if (expansion.type === 'tagged' || expansion.type === 'repeated') visitExpansion(expansion.item, visit)
  else if (expansion.type === 'choice') {
    for (const { items } of expansion.alternatives) for (const item of items) visitExpansion(item, visit)
  }
}

/** Whether a tag of the grammar sets a slot. */
const hasSlots = ({ rules }: Grammar): boolean => {
  let found = false
  for (const { body } of rules) {
    visitExpansion(body, (part) => {
      found ||= part.type === 'tagged' && readSlotTag(part.tag)?.type === 'slot'
    })
  }
  return found
}

/** Returns the slots of a sentence of the grammar; undefined for any other text, and for a sentence without slots. */
export type SlotReader = (words: readonly string[]) => Slots | undefined

/**
 * The reader of the slots of a grammar; undefined if none of its tags sets one. Of several ways to read a sentence the
 * most likely one counts, of equally likely ones the first.
 */
export const createSlotReader = (jsgf: string): SlotReader | undefined => {
  const grammar = parseGrammar(jsgf)
  const root = rootRuleOf(grammar)
  if (root === undefined || !hasSlots(grammar)) return undefined
  const bodies = new Map(grammar.rules.toReversed().map(({ name, body }) => [name, body]))
  return (words) => new SentenceReader(bodies, words).read(root)
}

/** A list that shares its beginning with others. */
interface SetSlots {
  readonly before: SetSlots | undefined
  readonly name: string
  readonly value: string
}

/** One reading of a part of the sentence. */
interface Reading {
  /** The logarithm of its probability. */
  readonly weight: number
  /** The words, with the values that replace them. */
  readonly said: string
  readonly slots: SetSlots | undefined
}

/** The best reading for each position at which a part of the sentence can end. */
type Readings = ReadonlyMap<number, Reading>

const none: Readings = new Map()
const nothing: Reading = { weight: 0, said: '', slots: undefined }

/** Bounds the time for one sentence to a few milliseconds; a grammar that a person wrote takes far fewer. */
const maxSteps = 100_000

/** Parts within parts, such as rules within rules; twice as many would exhaust the stack of a main thread. */
const maxDepth = 500

class TooManySteps extends Error {}

class SentenceReader {
  readonly #bodies: ReadonlyMap<string, Expansion>
  readonly #words: readonly string[]
  readonly #known = new Map<Expansion, Map<number, Readings>>()
  /** The rules that are being read, with the position at which each began. */
  readonly #open = new Set<string>()
  #steps = 0
  #depth = 0

  constructor(bodies: ReadonlyMap<string, Expansion>, words: readonly string[]) {
    this.#bodies = bodies
    this.#words = words
  }

  read(root: Rule): Slots | undefined {
    try {
      const slots: Record<string, string> = {}
      // From the last to the first: the last one that sets a slot counts.
      for (let set = this.#readRule(root.name, 0).get(this.#words.length)?.slots; set !== undefined; set = set.before) {
        slots[set.name] ??= set.value
      }
      const inOrder = Object.entries(slots).toReversed()
      return inOrder.length === 0 ? undefined : Object.fromEntries(inOrder)
    } catch (error) {
      if (error instanceof TooManySteps) return undefined
      throw error
    }
  }

  #step(): void {
    this.#steps += 1
    if (this.#steps > maxSteps) throw new TooManySteps()
  }

  #read(expansion: Expansion, at: number): Readings {
    this.#step()
    if (expansion.type === 'word') {
      const { word } = expansion
      return this.#words[at] === word ? new Map([[at + 1, { ...nothing, said: word }]]) : none
    }
    const known = this.#known.get(expansion)?.get(at)
    if (known !== undefined) return known
    if (this.#depth === maxDepth) throw new TooManySteps()
    this.#depth += 1
    const readings = this.#readParts(expansion, at)
    this.#depth -= 1
    const byStart = this.#known.get(expansion) ?? new Map<number, Readings>()
    this.#known.set(expansion, byStart.set(at, readings))
    return readings
  }

  #readParts(expansion: Exclude<Expansion, { readonly type: 'word' }>, at: number): Readings {
    switch (expansion.type) {
      case 'rule':
        return this.#readRule(expansion.name, at)
      case 'tagged':
        return this.#readTagged(expansion, at)
      case 'repeated':
        return this.#readRepeated(expansion, at)
      case 'choice': {
        const best = new Map<number, Reading>()
        const total = expansion.alternatives.reduce((sum, { weight }) => sum + weight, 0)
        for (const { weight, items } of expansion.alternatives) {
          const start = { ...nothing, weight: Math.log(weight / total) }
          for (const [end, reading] of this.#readSequence(items, at, start)) keepBest(best, end, reading)
        }
        return best
      }
    }
  }

  #readSequence(items: readonly Expansion[], at: number, start: Reading): Readings {
    let readings: Readings = new Map([[at, start]])
    for (const item of items) {
      const next = new Map<number, Reading>()
      for (const [from, before] of readings) {
        for (const [end, reading] of this.#read(item, from)) {
          this.#step()
          keepBest(next, end, joined(before, reading))
        }
      }
      if (next.size === 0) return none
      readings = next
    }
    return readings
  }

  /** Each time costs as much as the end, as in the graph of the grammar. */
  #readRepeated({ item, isOptional }: Expansion & { readonly type: 'repeated' }, at: number): Readings {
    const cost = Math.log(1 / 2)
    const reached = new Map<number, Reading>([[at, { ...nothing, weight: isOptional ? cost : 0 }]])
    for (let from = at; from <= this.#words.length; from += 1) {
      const before = reached.get(from)
      if (before === undefined) continue
      for (const [end, reading] of this.#read(item, from)) {
        this.#step()
        if (end > from) keepBest(reached, end, joined(before, { ...reading, weight: reading.weight + cost }))
      }
    }
    const once = isOptional ? undefined : this.#read(item, at).get(at)
    if (once !== undefined) reached.set(at, once)
    else if (!isOptional) reached.delete(at)
    return reached
  }

  /** A rule that refers to itself before any word has no reading: no engine accepts it. */
  #readRule(name: string, at: number): Readings {
    if (name === 'NULL') return new Map([[at, nothing]])
    const key = `${at} ${name}`
    const body = this.#bodies.get(name)
    if (body === undefined || this.#open.has(key)) return none
    this.#open.add(key)
    const readings = this.#read(body, at)
    this.#open.delete(key)
    return readings
  }

  #readTagged({ item, tag }: Expansion & { readonly type: 'tagged' }, at: number): Readings {
    const readings = this.#read(item, at)
    const meaning = readSlotTag(tag)
    if (meaning === undefined) return readings
    return new Map(
      Array.from(readings, ([end, reading]) => {
        if (end === at && !isNull(item)) return [end, reading]
        if (meaning.type === 'value') return [end, { ...reading, said: meaning.value }]
        const { name, value = reading.said } = meaning
        return [end, { ...reading, slots: { before: reading.slots, name, value } }]
      }),
    )
  }
}

/** `<NULL> {name=value}` sets a slot without a word. */
const isNull = (item: Expansion): boolean => item.type === 'rule' && item.name === 'NULL'

const keepBest = (best: Map<number, Reading>, end: number, reading: Reading): void => {
  const known = best.get(end)
  if (known === undefined || reading.weight > known.weight) best.set(end, reading)
}

const joined = (before: Reading, after: Reading): Reading => ({
  weight: before.weight + after.weight,
  said: before.said === '' ? after.said : after.said === '' ? before.said : `${before.said} ${after.said}`,
  slots: appended(before.slots, after.slots),
})

/** Copies the shorter end: the slots of a sentence are few. */
const appended = (before: SetSlots | undefined, after: SetSlots | undefined): SetSlots | undefined =>
  after === undefined ? before : before === undefined ? after : { ...after, before: appended(before, after.before) }
