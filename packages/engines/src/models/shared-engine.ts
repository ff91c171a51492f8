import { asyncScheduler, Observable, type SchedulerLike, type Unsubscribable } from 'rxjs'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { withRecognize, type Engine } from '../engine.js'

/** A session gets an engine before its channels use it: up to 30 s, while other nodes of its project open. */
const graceMs = 40_000

/** The engine of one model, with its channels counted. One that was replaced closes after its last channel. */
export class SharedEngine {
  /** The same engine, with its channels counted. */
  readonly engine: Promise<Engine>
  readonly #opening: Promise<Engine>
  readonly #scheduler: SchedulerLike
  #channels = 0
  #onClosed: (() => void) | undefined
  #closing: Unsubscribable | undefined

  constructor(opening: Promise<Engine>, scheduler: SchedulerLike = asyncScheduler) {
    this.#opening = opening
    this.#scheduler = scheduler
    this.engine = opening.then((engine) => this.#counted(engine))
  }

  /** No further session gets it. `onClosed` is called when it has closed by itself. */
  retire(onClosed: () => void): void {
    this.#onClosed = onClosed
    this.#closeSoon()
  }

  /** Closes it at once, or when it has loaded. Resolves also if it could not be loaded. */
  async close(): Promise<void> {
    this.#closing?.unsubscribe()
    const engine = await this.#opening.catch(() => undefined)
    await engine?.close()
  }

  #counted(engine: Engine): Engine {
    return withRecognize(
      engine,
      (settings) => (part$) =>
        new Observable((subscriber) => {
          this.#channels += 1
          this.#closing?.unsubscribe()
          subscriber.add(() => {
            this.#channels -= 1
            this.#closeSoon()
          })
          // The subscriber itself, so that results take no detour.
          subscriber.add(part$.pipe(engine.recognize(settings)).subscribe(subscriber))
        }),
    )
  }

  #closeSoon(): void {
    const onClosed = this.#onClosed
    if (onClosed === undefined || this.#channels > 0) return
    this.#closing?.unsubscribe()
    this.#closing = schedule(this.#scheduler, graceMs, () => {
      this.close()
        .catch(() => undefined)
        .finally(onClosed)
    })
  }
}
