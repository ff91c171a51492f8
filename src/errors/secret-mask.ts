import { codeOf, SpeechError } from './speech-error.js'

/** Replaces a secret that a peer repeated. */
export const masked = '***'

/** Shorter secrets occur within ordinary words. */
export const minMaskedLength = 6

/** How many characters of a secret are searched for; a peer may have cut off the rest. */
const headLength = 16
/** How many characters are searched for in every message, so that few messages are read twice. */
const probeLength = 8
/** A session that lasts for days replaces its token; the oldest tokens are forgotten. */
const maxSecrets = 8

/** The first characters of encoded characters. */
const encoded = /[\\%&]/

/**
 * Finds and masks secrets in texts of a peer: plain, percent-encoded, with the escapes of JSON or HTML, any of these
 * for some characters only, and within base64, as in HTTP Basic. It alone keeps tokens and client secrets out of
 * errors, events and cassettes.
 */
export class SecretMask {
  #hidden: readonly HiddenSecret[] = []

  constructor(secrets: Iterable<string> = []) {
    for (const secret of secrets) this.learn(secret)
  }

  learn(secret: string): void {
    if (secret.length < minMaskedLength || this.#hidden.some((hidden) => hidden.secret === secret)) return
    this.#hidden = [new HiddenSecret(secret), ...this.#hidden].slice(0, maxSecrets)
  }

  /** The text with `***`, or another mark, for every secret in it. */
  clean(text: string, mark: string = masked): string {
    return this.#hidden.reduce((result, hidden) => cleaned(result, hidden, mark), text)
  }

  /** Whether a message contains a secret. Cheap if it does not, because every message is tested. */
  isIn(text: string): boolean {
    if (this.#hidden.length === 0) return false
    return (encoded.test(text) || this.#hidden.some((hidden) => hidden.mayBeIn(text))) && this.clean(text) !== text
  }

  /** A JSON value with `***` for every secret in its texts and names. */
  cleanAll<Value>(value: Value): Value {
    return this.#all(value) as Value
  }

  /** The error itself, or a masked copy if its message or one of its causes contains a secret. */
  cleanError(error: SpeechError): SpeechError {
    if (!this.#holdsSecret(error)) return error
    const { code, message, retryable, retryAfterMs, cause } = error
    return new SpeechError(code, this.clean(message), {
      retryable,
      retryAfterMs,
      cause: this.#cause(cause),
    })
  }

  #all(value: unknown): unknown {
    if (typeof value === 'string') return this.clean(value)
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
    if (value instanceof SpeechError) return this.cleanError(value)
    if (Array.isArray(value)) return value.map((item) => this.#all(item))
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [this.clean(name), this.#all(field)]))
  }

  #holdsSecret(error: unknown, depth = 0): boolean {
    if (typeof error === 'string') return this.clean(error) !== error
    if (!(error instanceof Error) || depth > maxCauses) return false
    return (
      this.#holdsSecret(error.message) ||
      this.#holdsSecret(error.stack ?? '') ||
      this.#holdsSecret(error.cause, depth + 1)
    )
  }

  /** A copy with name, message, stack and code only, because other fields may contain text of the peer. */
  #cause(cause: unknown, depth = 0): unknown {
    if (typeof cause === 'string') return this.clean(cause)
    if (!(cause instanceof Error) || depth > maxCauses) return undefined
    const copy = new Error(this.clean(cause.message), { cause: this.#cause(cause.cause, depth + 1) })
    const code = codeOf(cause)
    return Object.assign(
      copy,
      { name: cause.name, stack: this.clean(cause.stack ?? '') },
      code === undefined ? {} : { code },
    )
  }
}

const maxCauses = 8

const cleaned = (original: string, hidden: HiddenSecret, mark: string): string => {
  const { head, base64 } = hidden
  const text = base64 === undefined ? original : original.replace(base64, mark)
  let result = ''
  let doneTo = 0
  head.lastIndex = 0
  for (let found = head.exec(text); found !== null; found = head.exec(text)) {
    const { end, missing } = endOf(text, found.index, head.lastIndex, hidden)
    head.lastIndex = end
    // Tokens of one issuer begin alike: less than half of the secret followed by other characters of a token is another
    // token. A part that nothing follows was cut off.
    if (missing > hidden.tail.length / 2 && couldContinue(text, end)) continue
    result += text.slice(doneTo, found.index) + mark
    doneTo = end
  }
  return result + text.slice(doneTo)
}

/** Whether a token could continue here. */
const couldContinue = (text: string, index: number): boolean =>
  /^(?:\.?[\w~+/=-]|[%\\])/.test(text.slice(index, index + 2))

/** The end of a secret that begins at `from`, as far as the text contains it, and the number of missing characters. */
const endOf = (text: string, from: number, headEnd: number, { whole, tail }: HiddenSecret): Found => {
  whole.lastIndex = from
  if (whole.test(text)) return { end: whole.lastIndex, missing: 0 }
  let end = headEnd
  for (const [index, pattern] of tail.entries()) {
    pattern.lastIndex = end
    if (!pattern.test(text)) return { end, missing: tail.length - index }
    end = pattern.lastIndex
  }
  return { end, missing: 0 }
}

interface Found {
  readonly end: number
  readonly missing: number
}

/**
 * A secret and the forms it may have. The patterns of a token of 700 characters take 8 ms and 230 kB, so they are
 * compiled only when a text may contain the secret, which never happens in most sessions.
 */
class HiddenSecret {
  readonly secret: string
  /** A text without any of these, and without an encoded character, does not contain the secret. */
  readonly #probes: readonly string[]
  #head: RegExp | undefined
  #whole: RegExp | undefined
  #tail: readonly RegExp[] | undefined
  #base64: RegExp | 'none' | undefined

  constructor(secret: string) {
    const cores = base64CoresOf(secret).map((core) => core.slice(0, probeLength))
    this.secret = secret
    this.#probes = [secret.slice(0, probeLength), ...new Set(cores.flatMap(inBothAlphabets))]
  }

  /** Whether a text without encoded characters contains the beginning of the secret. */
  mayBeIn(text: string): boolean {
    return this.#probes.some((probe) => text.includes(probe))
  }

  /** The beginning of the secret, in any encoding. */
  get head(): RegExp {
    return (this.#head ??= new RegExp(this.#spellings().slice(0, headLength).join(''), 'g'))
  }

  get whole(): RegExp {
    return (this.#whole ??= new RegExp(this.#spellings().join(''), 'y'))
  }

  /** The characters that follow the beginning. */
  get tail(): readonly RegExp[] {
    return (this.#tail ??= this.#spellings()
      .slice(headLength)
      .map((source) => new RegExp(source, 'y')))
  }

  get base64(): RegExp | undefined {
    this.#base64 ??= base64Pattern(this.secret) ?? 'none'
    return this.#base64 === 'none' ? undefined : this.#base64
  }

  /** The patterns of its characters. */
  #spellings(): readonly string[] {
    const [first = '', ...others] = Array.from(this.secret)
    // Characters before a secret are not part of it, except a JSON escape, without which the rest would be invalid
    // JSON.
    const escaped = /["\\/]/.test(first) ? '\\\\?' : ''
    return [spellingsOf(first, escaped), ...others.map((character) => spellingsOf(character, escapes))]
  }
}

const base64Pattern = (secret: string): RegExp | undefined => {
  const cores = base64CoresOf(secret)
  if (cores.length === 0) return undefined
  return new RegExp(`(?:${cores.map(eitherAlphabet).join('|')})[\\w+/-]*={0,2}`, 'g')
}

/** Optional backslashes before a character, and those of JSON within JSON. A bound keeps the search linear. */
const escapes = '\\\\{0,4}'

/** A character encoded once or twice, or plain after an optional escape. */
const spellingsOf = (character: string, escaped: string): string => {
  const bytes = [...new TextEncoder().encode(character)].map((byte) => byte.toString(16).padStart(2, '0'))
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
  const point = character.codePointAt(0) ?? 0
  const named = htmlNames[character]
  // The plain character last: otherwise it would match a character of an encoding, such as a percent sign.
  return `(?:${[
    bytes.map((hex) => `%(?:25){0,2}${anyCase(hex)}`).join(''),
    units.map((unit) => `\\\\{1,4}u${anyCase(unit.toString(16).padStart(4, '0'))}`).join(''),
    `&#(?:0{0,6}${point}|[xX]0{0,6}${anyCase(point.toString(16))});`,
    ...(named === undefined ? [] : [`&${named};`]),
    ...(character === ' ' ? ['\\+'] : []),
    escaped + literal(character),
  ].join('|')})`
}

const htmlNames: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
const anyCase = (hex: string): string => hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)

/**
 * The base64 form of a secret anywhere in a text: the characters that encode only the secret, for each of the three
 * offsets at which it can begin, as many as are needed to identify it.
 */
const base64CoresOf = (secret: string): readonly string[] => {
  const bytes = new TextEncoder().encode(secret)
  return [0, 1, 2].flatMap((offset) => {
    const text = btoa('\0'.repeat(offset) + String.fromCharCode(...bytes.slice(0, headLength)))
    const end = Math.floor((8 * (offset + Math.min(bytes.length, headLength))) / 6)
    const core = text.slice(Math.ceil((8 * offset) / 6), end).slice(0, headLength)
    return core.length < minMaskedLength ? [] : [core]
  })
}

/** With the standard alphabet, and with that of URLs (RFC 4648 section 5). */
const inBothAlphabets = (core: string): readonly string[] => [core, core.replace(/\+/g, '-').replace(/\//g, '_')]

const eitherAlphabet = (core: string): string => core.replace(/\+/g, '[+-]').replace(/\//g, '[/_]')
