import { isSpeechError, type SpeechError } from 'rxspeech/internal/errors/speech-error'

/** Sessions are refused from now on, for this cause, or no more. */
export type Refusing<Cause = { readonly reason: string }> =
  ({ readonly phase: 'begun' } & Cause) | { readonly phase: 'ended'; readonly refused: number }

/** Refusing has ended when no session was refused for this long, in milliseconds. */
const quietMs = 5_000

/** Reports when the refusing of sessions begins, with its first refusal, and when it ends. */
export class Refusals<Cause extends object = { readonly reason: string }> {
  readonly #now: () => number
  readonly #onRefusing: (refusing: Refusing<Cause>) => void
  #refused = 0
  #lastMs = 0

  /** @param now the clock, in milliseconds */
  constructor(now: () => number, onRefusing: (refusing: Refusing<Cause>) => void) {
    this.#now = now
    this.#onRefusing = onRefusing
  }

  /** A session was refused. */
  refused(cause: Cause): void {
    this.#refused += 1
    this.#lastMs = this.#now()
    if (this.#refused === 1) this.#onRefusing({ phase: 'begun', ...cause })
  }

  /** Call it at least once a second. */
  tick(): void {
    if (this.#refused === 0 || this.#now() - this.#lastMs < quietMs) return
    const refused = this.#refused
    this.#refused = 0
    this.#onRefusing({ phase: 'ended', refused })
  }
}

const counts = new WeakMap<SpeechError, () => void>()

/** The refusal of one version of a model, which counts only if the session gets no other version. */
export const refusalOf = (error: SpeechError, count: () => void): SpeechError => {
  counts.set(error, count)
  return error
}

/** The session is refused, with an error for each version that it could have had. */
export const countRefusals = (errors: readonly unknown[]): void => {
  for (const error of errors) if (isSpeechError(error)) counts.get(error)?.()
}
