// A grammar as a graph with few states. The decoder of the package soundswallower visits every state of its graph in every
// frame, and makes a state for each bracket, alternative and use of a rule: more than half of the time of a decoder went
// there for a grammar of 60 sentences.

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

type Expansion =
  | { readonly type: 'word'; readonly word: string }
  | { readonly type: 'rule'; readonly name: string }
  | { readonly type: 'repeated'; readonly item: Expansion; readonly isOptional: boolean }
  | { readonly type: 'choice'; readonly alternatives: readonly Alternative[] }

interface Alternative {
  readonly weight: number
  readonly items: readonly Expansion[]
}

interface Rule {
  readonly name: string
  readonly isPublic: boolean
  readonly body: Expansion
}

/** Thrown for what a graph does not express: imports, recursion, quoted words. The decoder reads such a grammar itself. */
class Unsupported extends Error {}

const comments = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|\{(?:\\.|[^}\\])*\}/g
const lexeme = /\/\s*([\d.eE+-]+)\s*\/|<[^<>\s]+>|[()[\]|*+=;]|[^\s<>()[\]|*+=;"/{}\\]+|\S/g

class Parser {
  readonly #lexemes: readonly string[]
  #at = 0

  constructor(jsgf: string) {
    this.#lexemes = jsgf.replaceAll(comments, ' ').match(lexeme) ?? []
  }

  rules(): readonly Rule[] {
    this.#skipHeader()
    const rules: Rule[] = []
    while (this.#peek() !== undefined) rules.push(this.#rule())
    return rules
  }

  /** `#JSGF V1.0;` and `grammar name;`. */
  #skipHeader(): void {
    if (this.#peek() === '#JSGF') this.#skipStatement()
    if (this.#peek() === 'grammar') this.#skipStatement()
  }

  #skipStatement(): void {
    while (this.#take() !== ';');
  }

  #rule(): Rule {
    const isPublic = this.#peek() === 'public'
    if (isPublic) this.#take()
    const name = this.#take()
    if (!name.startsWith('<') || this.#take() !== '=') throw new Unsupported()
    const body = this.#choice([])
    if (this.#take() !== ';') throw new Unsupported()
    return { name, isPublic, body }
  }

  #choice(first: readonly Alternative[]): Expansion {
    const alternatives = [...first, this.#alternative()]
    while (this.#peek() === '|') {
      this.#take()
      alternatives.push(this.#alternative())
    }
    return { type: 'choice', alternatives }
  }

  #alternative(): Alternative {
    const weight = /^\/\s*(.*?)\s*\/$/.exec(this.#peek() ?? '')?.[1]
    if (weight !== undefined) this.#take()
    const items: Expansion[] = []
    while (!/^[;|)\]]?$/.test(this.#peek() ?? '')) items.push(this.#item())
    if (items.length === 0 || !(Number(weight ?? 1) > 0)) throw new Unsupported()
    return { weight: Number(weight ?? 1), items }
  }

  #item(): Expansion {
    let item = this.#single()
    for (let next = this.#peek(); next === '*' || next === '+'; next = this.#peek()) {
      item = { type: 'repeated', item, isOptional: this.#take() === '*' }
    }
    return item
  }

  #single(): Expansion {
    const text = this.#take()
    if (text === '(' || text === '[') {
      // The package gives "nothing" the weight of one more alternative.
      const choice = this.#choice(text === '[' ? [{ weight: 1, items: [] }] : [])
      if (this.#take() !== (text === '(' ? ')' : ']')) throw new Unsupported()
      return choice
    }
    if (text.startsWith('<')) return { type: 'rule', name: text }
    if (/^[^"/{}\\=#]+$/.test(text)) return { type: 'word', word: text }
    throw new Unsupported()
  }

  #peek(): string | undefined {
    return this.#lexemes[this.#at]
  }

  #take(): string {
    const taken = this.#peek()
    if (taken === undefined) throw new Unsupported()
    this.#at += 1
    return taken
  }
}

/** Larger grammars are left to the decoder. */
const maxStates = 50_000

/** The graph as the rules say it, with an arc without a word where nothing is spoken. */
class Expander {
  readonly arcs: GrammarArc[] = []
  stateCount = 2
  readonly #rules: ReadonlyMap<string, Expansion>
  readonly #open = new Set<string>()

  constructor(rules: readonly Rule[]) {
    this.#rules = new Map(rules.map(({ name, body }) => [name, body]))
  }

  expand(expansion: Expansion, from: number, to: number): void {
    if (expansion.type === 'word') this.#link(from, to, 0, expansion.word)
    else if (expansion.type === 'rule') this.#expandRule(expansion.name, from, to)
    else if (expansion.type === 'repeated') this.#repeat(expansion, from, to)
    else {
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
    if (name === '<NULL>') {
      this.#link(from, to, 0)
      return
    }
    const body = this.#rules.get(name)
    if (body === undefined || this.#open.has(name)) throw new Unsupported()
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

/** Gives states with the same continuations one class. The number of classes grows in each round until they are right. */
const classify = (states: ReadonlyMap<number, State>): ReadonlyMap<number, number> => {
  let classOf = new Map([...states.keys()].map((state) => [state, 0]))
  for (let count = 0; ;) {
    const numbers = new Map<string, number>()
    const next = new Map<number, number>()
    for (const [state, content] of states) {
      const signature = signatureOf(content, classOf)
      const number = numbers.get(signature) ?? numbers.size
      numbers.set(signature, number)
      next.set(state, number)
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
 * It accepts the same sentences with the same weights as the package's own graph. Undefined for a grammar that it does not
 * express, which includes every text that is not a grammar.
 */
export const grammarGraph = (jsgf: string): GrammarGraph | undefined => {
  try {
    const rules = new Parser(jsgf).rules()
    const root = rules.find(({ isPublic }) => isPublic)
    if (root === undefined || new Set(rules.map(({ name }) => name)).size < rules.length) return undefined
    const expander = new Expander(rules)
    expander.expand({ type: 'rule', name: root.name }, 0, 1)
    return merge(withoutSilentArcs(expander.arcs, expander.stateCount, 1))
  } catch (error) {
    if (error instanceof Unsupported) return undefined
    throw error
  }
}
