// A grammar as a graph with few states. The decoder of the package soundswallower visits every state of its graph in
// every frame, and makes a state for each bracket, alternative and use of a rule: more than half of the time of a
// decoder went there for a grammar of 60 sentences.
import { parseGrammar, rootRuleOf, type Expansion, type Grammar } from './jsgf.js'

/** A word, or none, from one state to another. */
export interface GrammarArc {
  readonly from: number
  readonly to: number
  readonly word: string | undefined
  /** The logarithm of its probability. */
  readonly weight: number
}

/** State 0 is the start. */
export interface GrammarGraph {
  readonly stateCount: number
  readonly final: number
  readonly arcs: readonly GrammarArc[]
}

/**
 * Thrown for what a graph does not express: imports, recursion, quoted words. The decoder reads such a grammar itself.
 */
class Unsupported extends Error {}

/** Larger grammars are left to the decoder. */
const maxStates = 50_000
/** Rules within rules; more would exhaust the stack. */
const maxOpenRules = 500

/** The graph of the rules, with an arc without a word where nothing is spoken. */
class Expander {
  readonly arcs: GrammarArc[] = []
  stateCount = 2
  readonly #rules: ReadonlyMap<string, Expansion>
  readonly #open = new Set<string>()

  constructor({ rules }: Grammar) {
    this.#rules = new Map(rules.map(({ name, body }) => [name, body]))
  }

  expand(expansion: Expansion, from: number, to: number): void {
    if (expansion.type === 'word') {
      if (expansion.isQuoted) throw new Unsupported()
      this.#link(from, to, 0, expansion.word)
    } else if (expansion.type === 'tagged') this.expand(expansion.item, from, to)
    else if (expansion.type === 'rule') this.#expandRule(expansion.name, from, to)
    else if (expansion.type === 'repeated') this.#repeat(expansion, from, to)
    else {
      if (expansion.alternatives.some(({ weight }) => weight === 0)) throw new Unsupported()
      const total = expansion.alternatives.reduce((sum, { weight }) => sum + weight, 0)
      for (const { weight, items } of expansion.alternatives) {
        this.#sequence(items, this.#after(from, Math.log(weight / total)), to)
      }
    }
  }

  #sequence(items: readonly Expansion[], from: number, to: number): void {
    let at = from
    for (const item of items) {
      const next = this.#newState()
      this.expand(item, at, next)
      at = next
    }
    this.#link(at, to, 0)
  }

  /** As the package does: once, or once and again, and nothing if that is allowed, all equally likely. */
  #repeat({ item, isOptional }: Expansion & { readonly type: 'repeated' }, from: number, to: number): void {
    const again = this.#after(from, 0)
    const body = this.#after(again, Math.log(1 / 2))
    const end = this.#newState()
    this.expand(item, body, end)
    this.#link(end, again, 0)
    if (isOptional) this.#link(again, to, Math.log(1 / 2))
    else {
      const last = this.#after(again, Math.log(1 / 2))
      this.expand(item, last, to)
    }
  }

  #expandRule(name: string, from: number, to: number): void {
    if (name === 'NULL') {
      this.#link(from, to, 0)
      return
    }
    const body = this.#rules.get(name)
    if (body === undefined || this.#open.has(name) || this.#open.size === maxOpenRules) throw new Unsupported()
    this.#open.add(name)
    this.expand(body, from, to)
    this.#open.delete(name)
  }

  #after(from: number, weight: number): number {
    const state = this.#newState()
    this.#link(from, state, weight)
    return state
  }

  #link(from: number, to: number, weight: number, word?: string): void {
    this.arcs.push({ from, to, word, weight })
  }

  #newState(): number {
    if (this.stateCount === maxStates) throw new Unsupported()
    this.stateCount += 1
    return this.stateCount - 1
  }
}

/** The states that are reached without a word, each with the weight of the best way. */
const closureOf = (start: number, silent: readonly (readonly GrammarArc[])[]): ReadonlyMap<number, number> => {
  const best = new Map([[start, 0]])
  const waiting = [start]
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    for (const { to, weight } of silent[state] ?? []) {
      const total = (best.get(state) ?? 0) + weight
      if (total <= (best.get(to) ?? -Infinity)) continue
      best.set(to, total)
      waiting.push(to)
    }
  }
  return best
}

interface State {
  /** The weight of ending here; -Infinity if that is not allowed. */
  readonly ending: number
  readonly arcs: readonly { readonly word: string; readonly to: number; readonly weight: number }[]
}

const groupByStart = (arcs: readonly GrammarArc[], stateCount: number): readonly (readonly GrammarArc[])[] => {
  const groups = Array.from({ length: stateCount }, (): GrammarArc[] => [])
  for (const arc of arcs) groups[arc.from]?.push(arc)
  return groups
}

/** The states after a word and the start, with the words that can follow. */
const withoutSilentArcs = (arcs: readonly GrammarArc[], stateCount: number, final: number): Map<number, State> => {
  const silent = groupByStart(
    arcs.filter(({ word }) => word === undefined),
    stateCount,
  )
  const spoken = groupByStart(
    arcs.filter(({ word }) => word !== undefined),
    stateCount,
  )
  const states = new Map<number, State>()
  const waiting = [0]
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    if (states.has(state)) continue
    const closure = closureOf(state, silent)
    const following = [...closure].flatMap(([via, before]) =>
      (spoken[via] ?? []).map(({ word = '', to, weight }) => ({ word, to, weight: before + weight })),
    )
    states.set(state, { ending: closure.get(final) ?? -Infinity, arcs: following })
    waiting.push(...following.map(({ to }) => to))
  }
  return states
}

/** The arcs of a state as text; equal for states of one class with the same continuations. */
const signatureOf = ({ ending, arcs }: State, classOf: ReadonlyMap<number, number>): string => {
  const parts = arcs.map(({ word, to, weight }) => `${word} ${classOf.get(to)} ${weight.toFixed(9)}`)
  return [ending.toFixed(9), ...new Set(parts.toSorted())].join('\n')
}

/** Gives states with the same continuations one class; the first class is that of the first state. */
const classify = (states: ReadonlyMap<number, State>): ReadonlyMap<number, number> => {
  const finite = classifyFinite(states)
  const cyclic = new Map([...states].filter(([state]) => !finite.has(state)))
  const classOf = cyclic.size === 0 ? finite : classifyCyclic(cyclic, finite)
  const numbers = new Map<number | undefined, number>()
  for (const state of states.keys()) {
    const found = classOf.get(state)
    if (!numbers.has(found)) numbers.set(found, numbers.size)
  }
  return new Map([...states.keys()].map((state) => [state, numbers.get(classOf.get(state)) ?? 0]))
}

/** Of states that lead to no cycle, each is classified after those that follow it. */
const classifyFinite = (states: ReadonlyMap<number, State>): Map<number, number> => {
  const before = new Map<number, number[]>()
  const open = new Map<number, number>()
  for (const [state, { arcs }] of states) {
    open.set(state, arcs.length)
    for (const { to } of arcs) {
      const known = before.get(to)
      if (known === undefined) before.set(to, [state])
      else known.push(state)
    }
  }
  const numbers = new Map<string, number>()
  const classOf = new Map<number, number>()
  const ready = [...states.keys()].filter((state) => open.get(state) === 0)
  for (let state = ready.pop(); state !== undefined; state = ready.pop()) {
    const content = states.get(state)
    if (content === undefined) continue
    const signature = signatureOf(content, classOf)
    const number = numbers.get(signature) ?? numbers.size
    numbers.set(signature, number)
    classOf.set(state, number)
    for (const earlier of before.get(state) ?? []) {
      const left = (open.get(earlier) ?? 0) - 1
      open.set(earlier, left)
      if (left === 0) ready.push(earlier)
    }
  }
  return classOf
}

/** Arcs that are compared at most; a long way to a cycle needs a round for each of its states. */
const maxComparedArcs = 500_000

/**
 * States that lead to a cycle begin in one class; the number of classes grows in each round until they are right. A
 * graph that would need too many rounds keeps its states, which is right, too.
 */
const classifyCyclic = (
  states: ReadonlyMap<number, State>,
  finite: ReadonlyMap<number, number>,
): ReadonlyMap<number, number> => {
  const first = new Set(finite.values()).size
  const arcCount = [...states.values()].reduce((sum, { arcs }) => sum + arcs.length, 0)
  let classOf = new Map([...finite, ...[...states.keys()].map((state) => [state, first] as const)])
  let compared = 0
  for (let count = 0; ;) {
    compared += arcCount
    if (compared > maxComparedArcs) {
      return new Map([...finite, ...[...states.keys()].map((state, at) => [state, first + at] as const)])
    }
    const numbers = new Map<string, number>()
    const next = new Map(finite)
    for (const [state, content] of states) {
      const signature = signatureOf(content, classOf)
      const number = numbers.get(signature) ?? numbers.size
      numbers.set(signature, number)
      next.set(state, first + number)
    }
    classOf = next
    if (numbers.size === count) return classOf
    count = numbers.size
  }
}

const merge = (states: ReadonlyMap<number, State>): GrammarGraph => {
  const classOf = classify(states)
  const final = new Set(classOf.values()).size
  const arcs = new Map<string, GrammarArc>()
  for (const [state, { ending, arcs: following }] of states) {
    const from = classOf.get(state) ?? 0
    const add = (to: number, weight: number, word?: string): void => {
      const key = `${from} ${to} ${word ?? ''}`
      if (weight > (arcs.get(key)?.weight ?? -Infinity)) arcs.set(key, { from, to, word, weight })
    }
    for (const { word, to, weight } of following) add(classOf.get(to) ?? 0, weight, word)
    add(final, ending)
  }
  return { stateCount: final + 1, final, arcs: [...arcs.values()] }
}

/**
 * The graph of a grammar: no two states have the same continuations, and a word without an arc occurs only at the end.
 * It accepts the same sentences with the same weights as the package's own graph. Undefined for a grammar that it does
 * not express, which includes every text that is not a grammar.
 */
export const grammarGraph = (jsgf: string): GrammarGraph | undefined => {
  const grammar = parseGrammar(jsgf)
  const { rules, imports, faults } = grammar
  const root = rootRuleOf(grammar)
  const isBroken = imports.length > 0 || faults.some(({ severity }) => severity === 'error')
  if (root === undefined || isBroken || new Set(rules.map(({ name }) => name)).size < rules.length) return undefined
  try {
    const expander = new Expander(grammar)
    expander.expand({ type: 'rule', name: root.name, span: root.span }, 0, 1)
    return merge(withoutSilentArcs(expander.arcs, expander.stateCount, 1))
  } catch (error) {
    if (error instanceof Unsupported) return undefined
    throw error
  }
}
