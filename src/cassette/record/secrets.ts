import { from, tap } from 'rxjs'
import { isFixedToken, type TokenSource } from '../../client/token.js'
import { SecretMask } from '../../errors/secret-mask.js'
import { isJsonObject } from '../../protocol/json-object.js'
import { redacted } from '../format/cassette.js'

/** Fields whose text is a secret by their name: `Token`, `access_token`, `ApiKey`. */
const secretName = /(token|secret|password|authorization|api[-_ ]?key)$/i

/** Redacts the fields of a JSON text that are secrets by their names; returns any other text unchanged. */
export const redactSecretFields = (text: string): string => {
  // Most messages have no such field and need not be parsed.
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
 * The secrets of one session: its tokens and those that the caller names. Every text passes through here before it is
 * written, so a token is also found where a service repeats it or where the caller's own code put it.
 */
export class Secrets {
  readonly #mask: SecretMask

  constructor(named: readonly string[]) {
    this.#mask = new SecretMask(named)
  }

  /** Redacts a text of the client, including fields that are secrets by their names. */
  redactClientText(text: string): string {
    return this.#mask.clean(redactSecretFields(text), redacted)
  }

  maskServiceText(text: string): string {
    return this.#mask.clean(text)
  }

  /** Returns the same source; the tokens that it emits are redacted from then on. */
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
