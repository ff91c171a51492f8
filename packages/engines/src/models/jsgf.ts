// The one reader of grammars in the JSpeech Grammar Format (JSGF 1.0, https://www.w3.org/TR/jsgf). It reads any text,
// and reports everything that is no JSGF with its place.

/** A part of a text, by its offsets. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** What is wrong with a file of a model. A model with warnings still works. */
export interface ModelFault {
  readonly severity: 'error' | 'warning'
  /** A sentence. */
  readonly message: string
  readonly span: Span
}

/** What a rule, or a part of one, allows. */
export type Expansion = { readonly span: Span } & (
  | { readonly type: 'word'; readonly word: string; readonly isQuoted: boolean }
  /** The name is that between the angle brackets. */
  | { readonly type: 'rule'; readonly name: string }
  | { readonly type: 'repeated'; readonly item: Expansion; readonly isOptional: boolean }
  /** What `[…]` contains is a choice whose first alternative has no items. */
  | { readonly type: 'choice'; readonly alternatives: readonly Alternative[] }
  /** The tag without its braces, and without the backslashes that escape characters. */
  | { readonly type: 'tagged'; readonly item: Expansion; readonly tag: string; readonly tagSpan: Span }
)

export interface Alternative {
  /** 1 if it has none. */
  readonly weight: number
  readonly items: readonly Expansion[]
}

export interface Rule {
  readonly name: string
  readonly isPublic: boolean
  readonly body: Expansion
  /** Of the name where the rule is defined. */
  readonly span: Span
}

export interface Grammar {
  /** In the order of the text; a name that is defined twice occurs twice. */
  readonly rules: readonly Rule[]
  /** `import <…>`, which no engine here follows. */
  readonly imports: readonly Span[]
  readonly faults: readonly ModelFault[]
}

/** Rules that every grammar has: the empty sentence, and what cannot be spoken. */
export const builtInRules: readonly string[] = ['NULL', 'VOID']

interface Token {
  readonly type: 'tag' | 'weight' | 'rule' | 'quoted' | 'sign' | 'word' | 'other' | 'end'
  readonly text: string
  readonly span: Span
}

const pattern =
  /\/\*[\s\S]*?\*\/|\/\/[^\n]*|(?<tag>\{(?:\\.|[^}\\])*\})|(?<weight>\/\s*[\d.eE+-]+\s*\/)|(?<rule><[^<>\s]+>)|(?<quoted>"(?:\\.|[^"\\\n])*")|(?<sign>[()[\]|*+=;])|(?<word>[^\s<>()[\]|*+=;"/{}\\]+)|(?<other>\S)/gu

const kinds = ['word', 'sign', 'rule', 'tag', 'weight', 'quoted', 'other'] as const

const tokensOf = (jsgf: string): readonly Token[] => {
  const tokens: Token[] = []
  for (const { 0: text, index: from, groups } of jsgf.matchAll(pattern)) {
    const type = kinds.find((kind) => groups?.[kind] !== undefined)
    // A comment has no kind.
    if (type !== undefined) tokens.push({ type, text, span: { from, to: from + text.length } })
  }
  return tokens
}

/** Ends a statement, which is read on behind its semicolon. */
class SyntaxFault extends Error {}

/** Brackets within brackets; what is deeper was written by no person, and would exhaust the stack. */
const maxDepth = 100
/** Faults after these are of no use to anyone. */
const maxFaults = 200

class Parser {
  readonly rules: Rule[] = []
  readonly imports: Span[] = []
  readonly faults: ModelFault[] = []
  readonly #tokens: readonly Token[]
  readonly #end: Token
  #at = 0
  #depth = 0

  constructor(jsgf: string) {
    this.#tokens = tokensOf(jsgf)
    this.#end = { type: 'end', text: '', span: { from: jsgf.length, to: jsgf.length } }
  }

  grammar(): Grammar {
    this.#header()
    while (this.#peek().type !== 'end' && this.faults.length < maxFaults) this.#statement(() => this.#definition())
    const { rules, imports, faults } = this
    return { rules, imports, faults }
  }

  #header(): void {
    const first = this.#peek()
    if (first.text === '#JSGF') this.#statement(() => this.#skipStatement())
    else if (first.type !== 'end') {
      this.#report('warning', first.span, 'A grammar begins with the line #JSGF V1.0;')
    }
    if (this.#peek().text === 'grammar') this.#statement(() => this.#skipStatement())
  }

  /** After a fault it continues behind the next semicolon. */
  #statement(read: () => void): void {
    try {
      read()
    } catch (error) {
      if (!(error instanceof SyntaxFault)) throw error
      this.#depth = 0
      while (this.#peek().type !== 'end' && this.#take().text !== ';');
    }
  }

  #skipStatement(): void {
    for (let token = this.#take(); token.text !== ';' || token.type !== 'sign'; token = this.#take()) {
      if (token.type === 'end') throw this.#fault(token, 'The header does not end; write ";" at its end.')
    }
  }

  #definition(): void {
    const first = this.#peek()
    if (first.text === 'import') {
      this.#take()
      this.imports.push(this.#take().span)
      this.#take(';')
      return
    }
    const isPublic = first.text === 'public'
    if (isPublic) this.#take()
    const name = this.#take()
    if (name.type !== 'rule')
      throw this.#fault(name, 'A rule is expected here, such as: public <order> = tea | coffee;')
    this.#take('=')
    const body = this.#choice([], name.span.from)
    this.#take(';')
    this.rules.push({ name: nameOf(name), isPublic, body, span: name.span })
  }

  #choice(first: readonly Alternative[], from: number): Expansion {
    const alternatives = [...first, this.#alternative()]
    while (this.#isSign('|')) {
      this.#take()
      alternatives.push(this.#alternative())
    }
    return { type: 'choice', alternatives, span: { from, to: this.#lastTo() } }
  }

  #alternative(): Alternative {
    const next = this.#peek()
    const weight = next.type === 'weight' ? Number(next.text.slice(1, -1)) : 1
    if (next.type === 'weight') this.#take()
    if (!Number.isFinite(weight) || weight < 0) throw this.#fault(next, 'A weight must be a number, such as /0.5/.')
    const items: Expansion[] = []
    while (this.#peek().type !== 'end' && !this.#isSign(';', '|', ')', ']')) items.push(this.#item())
    if (items.length === 0)
      throw this.#fault(this.#peek(), 'A word or a rule is missing here; write <NULL> for nothing.')
    return { weight, items }
  }

  #item(): Expansion {
    let item = this.#single()
    for (let count = 0; ; count += 1) {
      const next = this.#peek()
      if (count > maxDepth) throw this.#fault(next, `More than ${maxDepth} signs and tags follow one another.`)
      const span = { from: item.span.from, to: next.span.to }
      if (next.type === 'tag') {
        item = { type: 'tagged', item, tag: tagOf(next), tagSpan: next.span, span }
      } else if (this.#isSign('*', '+')) {
        item = { type: 'repeated', item, isOptional: next.text === '*', span }
      } else return item
      this.#take()
    }
  }

  #single(): Expansion {
    const token = this.#take()
    const { type, text, span } = token
    if (type === 'rule') return { type: 'rule', name: nameOf(token), span }
    if (type === 'word' && !text.includes('#')) return { type: 'word', word: text, isQuoted: false, span }
    if (type === 'quoted') return { type: 'word', word: text.slice(1, -1), isQuoted: true, span }
    if (type === 'sign' && (text === '(' || text === '[')) return this.#bracketed(token)
    const hint = type === 'sign' && text === '=' ? '; is the ";" of the rule before it missing?' : '.'
    throw this.#fault(token, `${shown(token)} cannot be here${hint}`)
  }

  #bracketed(open: Token): Expansion {
    this.#depth += 1
    if (this.#depth > maxDepth) throw this.#fault(open, `Brackets are nested more than ${maxDepth} deep.`)
    // The decoders give "nothing" the weight of one more alternative.
    const choice = this.#choice(open.text === '[' ? [{ weight: 1, items: [] }] : [], open.span.from)
    this.#depth -= 1
    const close = this.#peek()
    if (!this.#isSign(open.text === '[' ? ']' : ')')) {
      throw this.#fault(
        close.type === 'end' || this.#isSign(';') ? open : close,
        `The bracket ${open.text} is not closed.`,
      )
    }
    this.#take()
    return { ...choice, span: { from: open.span.from, to: close.span.to } }
  }

  #isSign(...signs: readonly string[]): boolean {
    const { type, text } = this.#peek()
    return type === 'sign' && signs.includes(text)
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? this.#end
  }

  #lastTo(): number {
    return this.#tokens[this.#at - 1]?.span.to ?? 0
  }

  #take(sign?: string): Token {
    const token = this.#peek()
    if (sign !== undefined && !this.#isSign(sign)) {
      const before = this.#tokens[this.#at - 1] ?? token
      // Where it is missing, not at the statement that follows.
      throw this.#fault(token.type === 'end' ? before : token, `${shown(token)} cannot be here; "${sign}" is expected.`)
    }
    this.#at += 1
    return token
  }

  #fault(token: Token, message: string): SyntaxFault {
    this.#report('error', token.span, message)
    return new SyntaxFault()
  }

  #report(severity: ModelFault['severity'], span: Span, message: string): void {
    this.faults.push({ severity, span, message })
  }
}

const nameOf = ({ text }: Token): string => text.slice(1, -1)

const tagOf = ({ text }: Token): string => text.slice(1, -1).replaceAll(/\\(.)/gsu, '$1')

const shown = ({ type, text }: Token): string =>
  type === 'end' ? 'The end of the file' : JSON.stringify(text.slice(0, 20))

/** Reads a grammar. Never throws; a text that is no grammar has no rules. */
export const parseGrammar = (jsgf: string): Grammar => new Parser(jsgf).grammar()

/** The rule whose sentences a model recognizes. */
export const rootRuleOf = ({ rules }: Pick<Grammar, 'rules'>): Rule | undefined =>
  rules.find(({ isPublic }) => isPublic)
