// The TypeScript type of the slots of a grammar: which sentences set which slots, and to which values.
import { rootRuleOf, type Expansion, type Grammar } from './jsgf.js'
import { readSlotTag } from './slots.js'

/** The texts that a slot can have; undefined for any text. */
type Values = ReadonlySet<string> | undefined

interface Slot {
  readonly values: Values
  /** Whether some of the sentences do not set it. */
  readonly isOptional: boolean
}

/** The slots of sentences that set the same ones. */
type Shape = ReadonlyMap<string, Slot>

/** What can be spoken in a part of a grammar. */
interface Possible {
  readonly said: Values
  readonly shapes: readonly Shape[]
  /** Whether it can be empty; tags have no effect then. */
  readonly isEmptyPossible: boolean
}

/** More values are `string`. */
const maxValues = 64
/** More shapes become one with optional slots. */
const maxShapes = 24

/** Rules within rules; deeper ones are treated as those that refer to themselves. */
const maxOpenRules = 500

const noSlots: Shape = new Map()
const nothing: Possible = { said: new Set(['']), shapes: [noSlots], isEmptyPossible: true }

const unionOf = (a: Values, b: Values): Values => {
  if (a === undefined || b === undefined) return undefined
  const union = new Set([...a, ...b])
  return union.size > maxValues ? undefined : union
}

const joinedValues = (a: Values, b: Values): Values => {
  if (a === undefined || b === undefined || a.size * b.size > maxValues) return undefined
  return new Set([...a].flatMap((first) => [...b].map((second) => `${first} ${second}`.trim())))
}

const valuesKey = (values: Values): string => (values === undefined ? '*' : JSON.stringify([...values].toSorted()))
const slotKey = ({ values, isOptional }: Slot): string => `${isOptional ? '?' : ''}${valuesKey(values)}`
const namesKey = (shape: Shape): string => JSON.stringify([...shape.keys()].toSorted())

const mergedSlot = (a: Slot | undefined, b: Slot | undefined): Slot => ({
  values: a && b ? unionOf(a.values, b.values) : (a ?? b)?.values,
  isOptional: a === undefined || b === undefined || a.isOptional || b.isOptional,
})

const mergedShape = (a: Shape, b: Shape): Shape =>
  new Map([...new Set([...a.keys(), ...b.keys()])].map((name) => [name, mergedSlot(a.get(name), b.get(name))]))

/** The shape of both, if it allows exactly what both allow; undefined if it would allow more. */
const joinedShape = (a: Shape, b: Shape): Shape | undefined => {
  if (namesKey(a) !== namesKey(b)) return undefined
  const differing = [...a].filter(([name, slot]) => slotKey(slot) !== slotKey(b.get(name) ?? slot))
  return differing.length > 1 ? undefined : mergedShape(a, b)
}

const mergeBy = (shapes: readonly Shape[], keyOf: (shape: Shape) => string): readonly Shape[] => {
  const merged = new Map<string, Shape>()
  for (const shape of shapes) {
    const known = merged.get(keyOf(shape))
    merged.set(keyOf(shape), known === undefined ? shape : mergedShape(known, shape))
  }
  return [...merged.values()]
}

/** As few shapes as possible without loss; with loss only if there are too many. */
const simplified = (given: readonly Shape[]): readonly Shape[] => {
  const shapes: Shape[] = []
  for (const shape of given.length > 8 * maxShapes ? mergeBy(given, namesKey) : given) {
    let added = shape
    for (let at = 0; at < shapes.length; at += 1) {
      const joined = joinedShape(shapes[at] ?? noSlots, added)
      if (joined === undefined) continue
      added = joined
      shapes.splice(at, 1)
      at = -1
    }
    shapes.push(added)
  }
  if (shapes.length <= maxShapes) return shapes
  const byNames = mergeBy(shapes, namesKey)
  return byNames.length <= maxShapes ? byNames : mergeBy(byNames, () => '')
}

/** The slots of one part and then those of the next; the last value of a name counts. */
const followedBy = (before: Shape, after: Shape): Shape => {
  const both = new Map(before)
  for (const [name, slot] of after) {
    const earlier = before.get(name)
    const values = slot.isOptional && earlier ? unionOf(earlier.values, slot.values) : slot.values
    both.set(name, { values, isOptional: slot.isOptional && (earlier?.isOptional ?? true) })
  }
  return both
}

const sequenceOf = (a: Possible, b: Possible): Possible => ({
  said: joinedValues(a.said, b.said),
  shapes: simplified(a.shapes.flatMap((before) => b.shapes.map((after) => followedBy(before, after)))),
  isEmptyPossible: a.isEmptyPossible && b.isEmptyPossible,
})

const choiceOf = (a: Possible, b: Possible): Possible => ({
  said: unionOf(a.said, b.said),
  shapes: simplified([...a.shapes, ...b.shapes]),
  isEmptyPossible: a.isEmptyPossible || b.isEmptyPossible,
})

class Inference {
  readonly #bodies: ReadonlyMap<string, Expansion>
  readonly #known = new Map<string, Possible>()
  readonly #open = new Set<string>()
  isRecursive = false

  constructor({ rules }: Grammar) {
    this.#bodies = new Map(rules.toReversed().map(({ name, body }) => [name, body]))
  }

  ofRule(name: string): Possible {
    const known = this.#known.get(name)
    if (known !== undefined) return known
    const body = this.#bodies.get(name)
    if (body === undefined) return nothing
    if (this.#open.has(name) || this.#open.size === maxOpenRules) {
      this.isRecursive = true
      return { ...nothing, said: undefined }
    }
    this.#open.add(name)
    const possible = this.#of(body)
    this.#open.delete(name)
    this.#known.set(name, possible)
    return possible
  }

  #of(expansion: Expansion): Possible {
    switch (expansion.type) {
      case 'word':
        return { said: new Set([expansion.word]), shapes: [noSlots], isEmptyPossible: false }
      case 'rule':
        return this.ofRule(expansion.name)
      case 'tagged':
        return this.#ofTagged(expansion)
      case 'repeated':
        return this.#ofRepeated(this.#of(expansion.item), expansion.isOptional)
      case 'choice':
        return expansion.alternatives
          .map(({ items }) => items.reduce<Possible>((before, item) => sequenceOf(before, this.#of(item)), nothing))
          .reduce(choiceOf)
    }
  }

  #ofTagged({ item, tag }: Expansion & { readonly type: 'tagged' }): Possible {
    const possible = this.#of(item)
    const meaning = readSlotTag(tag)
    if (meaning === undefined) return possible
    // Where nothing is spoken, the tag has no effect.
    const isAlways = !possible.isEmptyPossible || (item.type === 'rule' && item.name === 'NULL')
    if (meaning.type === 'value') {
      const said = new Set([meaning.value])
      return { ...possible, said: isAlways ? said : unionOf(said, new Set([''])) }
    }
    const values = meaning.value === undefined ? withoutEmpty(possible.said, isAlways) : new Set([meaning.value])
    const set: Shape = new Map([[meaning.name, { values, isOptional: false }]])
    const tagged = possible.shapes.map((shape) => followedBy(shape, set))
    return { ...possible, shapes: simplified(isAlways ? tagged : [...possible.shapes, ...tagged]) }
  }

  /** Shapes are added by further repetitions until there are no new ones. */
  #ofRepeated(item: Possible, isOptional: boolean): Possible {
    const isEmptyPossible = isOptional || item.isEmptyPossible
    let shapes = item.shapes
    for (let before = ''; before !== shapesKey(shapes);) {
      before = shapesKey(shapes)
      shapes = simplified([...shapes, ...shapes.flatMap((one) => item.shapes.map((more) => followedBy(one, more)))])
    }
    return { said: undefined, shapes: isOptional ? simplified([noSlots, ...shapes]) : shapes, isEmptyPossible }
  }
}

const withoutEmpty = (said: Values, isAlways: boolean): Values =>
  said === undefined || isAlways ? said : new Set([...said].filter((text) => text !== ''))

const shapesKey = (shapes: readonly Shape[]): string =>
  JSON.stringify(shapes.map((shape) => [...shape].map(([name, slot]) => [name, slotKey(slot)]).toSorted()).toSorted())

/** The shapes of the sentences that set a slot. */
const shapesOf = (grammar: Grammar): readonly Shape[] => {
  const root = rootRuleOf(grammar)
  if (root === undefined) return []
  const inference = new Inference(grammar)
  const shapes = inference.ofRule(root.name).shapes.filter((shape) => shape.size > 0)
  if (!inference.isRecursive || shapes.length === 0) return shapes
  // Repetitions of a rule that refers to itself are not followed.
  const any = shapes.reduce(mergedShape)
  return [new Map(Array.from(any.keys(), (name) => [name, { values: undefined, isOptional: true }]))]
}

const quoted = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'").replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`

const valuesText = (values: Values): string =>
  values === undefined ? 'string' : Array.from([...values].toSorted(), quoted).join(' | ')

const propertyName = (name: string): string => (name.includes('-') ? quoted(name) : name)

/** A word for each part of a name: `take-order.v2` is `TakeOrderV2`. */
const typeName = (name: string): string => {
  const words = name.match(/[A-Za-z0-9]+/g) ?? []
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return `${/^[A-Z]/.test(joined) ? '' : 'Model'}${joined}Slots`
}

/**
 * A TypeScript module with the type of the slots of a model: one object type for each set of slots that a sentence can
 * set, of which a slot with different values identifies it. The slots of the others are `undefined`.
 *
 * @param model the name of the model, of which the name of the type is made
 * @param label how the comment names the model
 */
export const slotTypes = (grammar: Grammar, model: string, label: string): string => {
  const shapes = shapesOf(grammar)
  const names = [...new Set(shapes.flatMap((shape) => [...shape.keys()]))]
  const objects = shapes.map((shape) => {
    const lines = names.map((name) => {
      const { values, isOptional } = shape.get(name) ?? { values: new Set<string>(), isOptional: true }
      const type = values?.size === 0 ? 'undefined' : valuesText(values)
      return `      readonly ${propertyName(name)}${isOptional ? '?' : ''}: ${type}`
    })
    return `  | {\n${lines.join('\n')}\n    }`
  })
  const type = objects.length === 0 ? ' Readonly<Record<string, never>>' : `\n${objects.join('\n')}`
  const comment = label.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')
  return [
    `// Made by: rxspeech models types ${comment}`,
    `// The slots of its milestones, for recognize<${typeName(model)}>(…) and dataflow<${typeName(model)}>(…).`,
    `export type ${typeName(model)} =${type}\n`,
  ].join('\n')
}
