import { from, tap } from 'rxjs'
import { isJsonObject } from '../protocol/json-object.js'
import { isFixedToken, type TokenSource } from '../session/ask-token.js'
import { redacted } from './cassette.js'

/** Names of fields whose text is a secret, whoever chose them: `Token`, `access_token`, `ApiKey`. */
const secretName = /(token|secret|password|authorization|api[-_ ]?key)$/i

/** Shorter ones would be found within ordinary words; they are redacted where they stand alone. */
const shortestSearched = 6

/** The fields of a JSON text that are secrets by their names, redacted; any other text as it is. */
export const withoutSecretFields = (text: string): string => {
  // Nearly no message has one, and then it need not be read.
  if (!/token|secret|password|authorization|api[-_ ]?key/i.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text, redactField))
  } catch {
    return text
  }
}

const redactField = (name: string, value: unknown): unknown =>
  typeof value === 'string' && secretName.test(name) ? redacted : value

/**
 * The secrets of one session: the tokens that it was given, and what the caller names. Whatever is written passes
 * through here, so that a token is found also where a service repeats it or where the caller's own code has put it.
 */
export class Secrets {
  readonly #known = new Set<string>()
  #pattern: RegExp | undefined

  constructor(named: readonly string[]) {
    for (const secret of named) this.learn(secret)
  }

  learn(secret: string): void {
    if (secret.length < shortestSearched || this.#known.has(secret)) return
    this.#known.add(secret)
    const forms = [...this.#known].flatMap(formsOf).sort((one, other) => other.length - one.length)
    this.#pattern = new RegExp(forms.map((form) => form.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|'), 'g')
  }

  /** A text of the client: its fields too. */
  ofClient(text: string): string {
    return this.clean(withoutSecretFields(text))
  }

  clean(text: string): string {
    return this.#pattern === undefined ? text : text.replace(this.#pattern, redacted)
  }

  /** The same source, whose tokens are known from then on. */
  watch(source: TokenSource): TokenSource {
    const learn = (token: unknown): void => {
      const text = isJsonObject(token) ? token['accessToken'] : token
      if (typeof text === 'string') this.learn(text)
    }
    if (!isFixedToken(source)) return from(source).pipe(tap((token) => learn(token)))
    learn(source)
    return source
  }
}

/** As itself, in JSON, in an address, and in the base64 of a header. */
const formsOf = (secret: string): readonly string[] => {
  const bytes = Buffer.from(secret)
  return [
    ...new Set([
      secret,
      JSON.stringify(secret).slice(1, -1),
      encodeURIComponent(secret),
      bytes.toString('base64').replace(/=+$/, ''),
      bytes.toString('base64url'),
    ]),
  ]
}
