// What is wrong with a grammar apart from its words: rules that are missing, unused, endless or empty.
import { tooLargeGrammar } from '../models/grammar-size.js'
import { nearestName } from 'rxspeech/internal/protocol/nearest-name'
import {
  builtInRules,
  parseGrammar,
  rootRuleOf,
  type Expansion,
  type Grammar,
  type ModelFault,
  type Rule,
  type Span,
} from '../models/jsgf.js'
import { readSlotTag, visitExpansion } from '../models/slots.js'

interface Reference {
  readonly name: string
  readonly span: Span
  /** Whether nothing of its rule can follow it. */
  readonly isLast: boolean
  /** Whether it can be reached in its rule without a word. */
  readonly isFirst: boolean
}

/** Grows a set of rules until a test finds no more. */
const fixpoint = (
  rules: readonly Rule[],
  test: (body: Expansion, known: ReadonlySet<string>) => boolean,
): Set<string> => {
  const known = new Set<string>()
  for (let size = -1; size !== known.size;) {
    size = known.size
    for (const { name, body } of rules) if (!known.has(name) && test(body, known)) known.add(name)
  }
  return known
}

/** Whether a part can be empty. */
const isEmptyPossible = (part: Expansion, known: ReadonlySet<string>): boolean => {
  switch (part.type) {
    case 'word':
      return false
    case 'rule':
      return part.name === 'NULL' || known.has(part.name)
    case 'tagged':
      return isEmptyPossible(part.item, known)
    case 'repeated':
      return part.isOptional || isEmptyPossible(part.item, known)
    case 'choice':
      return part.alternatives.some(({ items }) => items.every((item) => isEmptyPossible(item, known)))
  }
}

/** Whether a part can be spoken to its end. A rule that is not defined counts: it is a fault of its own. */
const canEnd = (part: Expansion, known: ReadonlySet<string>, defined: ReadonlySet<string>): boolean => {
  switch (part.type) {
    case 'word':
      return true
    case 'rule':
      return known.has(part.name) || (part.name !== 'VOID' && !defined.has(part.name))
    case 'tagged':
      return canEnd(part.item, known, defined)
    case 'repeated':
      return part.isOptional || canEnd(part.item, known, defined)
    case 'choice':
      return part.alternatives.some(({ items }) => items.every((item) => canEnd(item, known, defined)))
  }
}

const referencesOf = (body: Expansion, emptyRules: ReadonlySet<string>): readonly Reference[] => {
  const references: Reference[] = []
  const visit = (part: Expansion, isFirst: boolean, isLast: boolean): void => {
    if (part.type === 'rule') references.push({ name: part.name, span: part.span, isFirst, isLast })
    else if (part.type === 'tagged') visit(part.item, isFirst, isLast)
    else if (part.type === 'repeated') visit(part.item, isFirst, false)
    else if (part.type === 'choice') {
      for (const { items } of part.alternatives) {
        let isBeginning = isFirst
        items.forEach((item, at) => {
          visit(item, isBeginning, isLast && at === items.length - 1)
          isBeginning &&= isEmptyPossible(item, emptyRules)
        })
      }
    }
  }
  visit(body, true, true)
  return references
}

/** The names that can be reached from a name, without itself unless a way leads back. */
const reachedFrom = (name: string, next: (name: string) => readonly string[]): ReadonlySet<string> => {
  const reached = new Set<string>()
  const waiting = [...next(name)]
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    if (reached.has(one)) continue
    reached.add(one)
    for (const following of next(one)) waiting.push(following)
  }
  return reached
}

/** Of more rules, loops and ends are not looked for: each rule costs a walk over all rules. */
const maxRulesForLoops = 2_000

class GrammarLint {
  readonly faults: ModelFault[]
  readonly #grammar: Grammar
  readonly #root: Rule | undefined
  readonly #defined: ReadonlyMap<string, Rule>
  readonly #emptyRules: ReadonlySet<string>
  readonly #references: ReadonlyMap<string, readonly Reference[]>

  constructor(grammar: Grammar) {
    const { rules } = grammar
    this.faults = [...grammar.faults]
    this.#grammar = grammar
    this.#root = rootRuleOf(grammar)
    this.#defined = new Map(rules.toReversed().map((rule) => [rule.name, rule]))
    this.#emptyRules = rules.length > maxRulesForLoops ? new Set() : fixpoint(rules, isEmptyPossible)
    this.#references = new Map(rules.toReversed().map(({ name, body }) => [name, referencesOf(body, this.#emptyRules)]))
  }

  check(): void {
    this.#checkDefinitions()
    this.#checkReferences()
    this.#checkUse()
    if (this.#defined.size <= maxRulesForLoops) {
      this.#checkEnds()
      this.#checkLoops()
    } else {
      const span = this.#root?.span ?? { from: 0, to: 0 }
      this.#warn(span, `There are more than ${maxRulesForLoops} rules, so loops are not looked for.`)
    }
    for (const { body } of this.#grammar.rules) visitExpansion(body, (part) => this.#checkPart(part))
  }

  #checkDefinitions(): void {
    const { rules, imports, faults } = this.#grammar
    const excess = tooLargeGrammar(this.#grammar)
    if (excess !== undefined) this.#error(this.#root?.span ?? { from: 0, to: 0 }, `The grammar ${excess}`)
    for (const span of imports) this.#error(span, 'Engines follow no import; copy the rules into this grammar.')
    if (this.#root === undefined && !faults.some(({ severity }) => severity === 'error')) {
      const span = rules[0]?.span ?? { from: 0, to: 0 }
      this.#error(span, 'No rule is public, so nothing can be said; write: public <rule> = words;')
    }
    for (const rule of rules) {
      if (this.#defined.get(rule.name) !== rule) this.#error(rule.span, `The rule <${rule.name}> is defined twice.`)
      if (builtInRules.includes(rule.name)) this.#error(rule.span, `<${rule.name}> is a rule of every grammar.`)
    }
  }

  #checkReferences(): void {
    const reported = new Set<string>()
    for (const { name, span } of [...this.#references.values()].flat()) {
      if (this.#defined.has(name) || builtInRules.includes(name) || reported.has(name)) continue
      reported.add(name)
      const near = nearestName(name, [...this.#defined.keys()])
      this.#error(span, `The rule <${name}> is not defined${near === undefined ? '.' : `; is it <${near}>?`}`)
    }
  }

  /** Rules that never end, and a grammar that accepts silence. */
  #checkEnds(): void {
    const defined = new Set(this.#defined.keys())
    const ending = fixpoint([...this.#defined.values()], (body, known) => canEnd(body, known, defined))
    for (const { name, span } of this.#defined.values()) {
      if (!ending.has(name)) this.#error(span, `The rule <${name}> has no sentence that ends.`)
    }
    if (this.#root !== undefined && this.#emptyRules.has(this.#root.name)) {
      this.#warn(this.#root.span, `<${this.#root.name}> can be said without a word, so silence is a sentence.`)
    }
  }

  #checkUse(): void {
    const root = this.#root
    if (root === undefined) return
    const used = reachedFrom(root.name, (name) => this.#referredBy(name))
    for (const { name, isPublic, span } of this.#defined.values()) {
      if (name === root.name || used.has(name)) continue
      const reason = isPublic ? `; of several public rules only the first counts` : ''
      this.#warn(span, `The rule <${name}> cannot be reached from <${root.name}>${reason}.`)
    }
  }

  #checkLoops(): void {
    const reached = new Map(
      Array.from(this.#references.keys(), (name) => [name, reachedFrom(name, (one) => this.#referredBy(one))]),
    )
    for (const [name, references] of this.#references) {
      for (const { name: next, span, isFirst, isLast } of references) {
        const isLoop = next === name || reached.get(next)?.has(name) === true
        if (!isLoop || !this.#defined.has(next)) continue
        const what = next === name ? `<${name}> refers to itself` : `<${name}> refers to itself by <${next}>`
        if (isFirst) this.#error(span, `${what} before a word, an endless loop.`)
        else if (!isLast) this.#error(span, `${what} before its end; engines accept that at the end only.`)
        else
          this.#warn(span, `${what}: its sentences have any length, and noise can add words; a fixed shape is safer.`)
      }
    }
  }

  #checkPart(part: Expansion): void {
    if (part.type === 'word' && part.isQuoted) {
      this.#error(part.span, 'Engines accept no words in quotes; remove the quotes.')
    } else if (part.type === 'repeated' && isEmptyPossible(part.item, this.#emptyRules)) {
      this.#warn(part.span, 'What is repeated here can be empty, an empty cycle; make one of both optional, not both.')
    } else if (part.type === 'tagged' && readSlotTag(part.tag) === undefined) {
      this.#warn(part.tagSpan, 'This tag sets no slot; write {name}, {name=value} or {=value}.')
    }
  }

  #referredBy(name: string): readonly string[] {
    return (this.#references.get(name) ?? []).map((reference) => reference.name)
  }

  #error(span: Span, message: string): void {
    this.faults.push({ severity: 'error', span, message })
  }

  #warn(span: Span, message: string): void {
    this.faults.push({ severity: 'warning', span, message })
  }
}

/** Reads a grammar and reports everything that is wrong with its rules. Never throws. */
export const lintGrammar = (jsgf: string): { readonly grammar: Grammar; readonly faults: readonly ModelFault[] } => {
  const grammar = parseGrammar(jsgf)
  const lint = new GrammarLint(grammar)
  lint.check()
  return { grammar, faults: lint.faults }
}
