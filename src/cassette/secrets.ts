import { from, tap } from 'rxjs'
import { SecretMask } from '../errors/secret-mask.js'
import { isJsonObject } from '../protocol/json-object.js'
import { isFixedToken, type TokenSource } from '../client/ask-token.js'
import { redacted } from './cassette.js'

/** Names of fields whose text is a secret, whoever chose them: `Token`, `access_token`, `ApiKey`. */
const secretName = /(token|secret|password|authorization|api[-_ ]?key)$/i

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
  readonly #mask: SecretMask

  constructor(named: readonly string[]) {
    this.#mask = new SecretMask(named)
  }

  /** A text of the client: its fields too. */
  ofClient(text: string): string {
    return this.#mask.clean(withoutSecretFields(text), redacted)
  }

  /** A text of the service. */
  clean(text: string): string {
    return this.#mask.clean(text)
  }

  /** The same source, whose tokens are known from then on. */
  watch(source: TokenSource): TokenSource {
    const learn = (token: unknown): void => {
      const text = isJsonObject(token) ? token['accessToken'] : token
      if (typeof text === 'string') this.#mask.learn(text)
    }
    if (!isFixedToken(source)) return from(source).pipe(tap((token) => learn(token)))
    learn(source)
    return source
  }
}
