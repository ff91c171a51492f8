import { Subscription, type Observable } from 'rxjs'
import { SpeechError, toSpeechError } from '../errors/speech-error.js'
import { type UpdateRequest, mergeUpdates, settings } from '../protocol/dataflow-messages.js'
import { isJsonObject } from '../protocol/json-object.js'

/** What the user changes while one session streams: asked at once, and in the start of every further connection. */
export class Updates {
  readonly #update$: Observable<UpdateRequest>
  #asked: UpdateRequest | undefined
  readonly #open = new Subscription()
  #listens = false

  constructor(update$: Observable<UpdateRequest>) {
    this.#update$ = update$
  }

  /** All that was asked so far, as one change. */
  get asked(): UpdateRequest | undefined {
    return this.#asked
  }

  /** Asks first for what does not stand in the start of a connection, `started`; and listens from the first one on. */
  listen(
    started: UpdateRequest | undefined,
    ask: (update: UpdateRequest) => void,
    fail: (error: SpeechError) => void,
  ): void {
    if (this.#asked !== undefined && this.#asked !== started) ask(this.#asked)
    if (this.#listens) return
    this.#listens = true
    // Added, for it may have to end while it begins.
    this.#open.add(
      this.#update$.subscribe({
        next: (update) => {
          if (!isUpdate(update)) return fail(noUpdate())
          this.#asked = mergeUpdates(this.#asked, update)
          ask(update)
        },
        error: (error: unknown) =>
          fail(toSpeechError(error, 'source-failed', 'The source of further requests failed; see the cause.')),
      }),
    )
  }

  end(): void {
    this.#open.unsubscribe()
  }
}

/** JavaScript may send anything, and what cannot be written would end the process. */
const isUpdate = (update: unknown): update is UpdateRequest =>
  isJsonObject(update) &&
  [update['settings'], update['callProperties']].every((value) => value === undefined || settings.is(value))

const noUpdate = (): SpeechError =>
  new SpeechError('invalid-options', `update$ must emit settings or callProperties, each ${settings.name}.`)
