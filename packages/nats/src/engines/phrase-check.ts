import type { PhraseFault } from 'rxspeech-engines/engine'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { EngineAnswer, ProcessAddress } from './protocol.js'

/** Ticks of 100 ms until another engine is asked. */
const answerTicks = 10
/** Maximum number of engines that are asked, one after another. */
const maxAttempts = 3

interface Attempt {
  readonly number: number
  readonly engine: ProcessAddress
  /** Whether the bus was up. */
  readonly isSent: boolean
}

/** What a check needs of its fleet. */
export interface PhraseCheckOptions {
  /** Asks an engine that was not tried. Undefined if all were. */
  readonly ask: (check: PhraseCheck, tried: ReadonlySet<string>) => Attempt | undefined
  /** The attempt is over. */
  readonly release: (attempt: number) => void
  readonly resolve: (faults: readonly PhraseFault[]) => void
  readonly reject: (error: SpeechError) => void
}

/** Phrases that an engine process of a fleet checks. Ends within 3 s, by one call of `resolve` or `reject`. */
export class PhraseCheck {
  readonly #options: PhraseCheckOptions
  readonly #tried = new Set<string>()
  #attempt: Attempt | undefined
  #ticks = 0

  constructor(options: PhraseCheckOptions) {
    this.#options = options
  }

  /** Asks the next engine. Begins the check, too. */
  tryNext(): void {
    this.#ticks = 0
    while (this.#tried.size < maxAttempts) {
      this.#release()
      const attempt = this.#options.ask(this, this.#tried)
      if (attempt === undefined) break
      this.#attempt = attempt
      this.#tried.add(attempt.engine.instance)
      if (attempt.isSent) return
    }
    this.abort()
  }

  /** An answer to its attempt; see `FleetSegment`. */
  receive(answer: EngineAnswer | 'gone' | undefined): void {
    if (typeof answer === 'object' && answer.t === 'phrases') {
      this.#release()
      this.#options.resolve(answer.faults)
    } else this.tryNext()
  }

  /** The engine is lost, or the bus is down. It is no segment that is lost with it. */
  lost(engine: ProcessAddress | undefined): false {
    if (engine === undefined || this.#attempt?.engine.instance === engine.instance) this.tryNext()
    return false
  }

  tick(): void {
    this.#ticks += 1
    if (this.#ticks >= answerTicks) this.tryNext()
  }

  abort(): void {
    this.#release()
    this.#options.reject(new SpeechError('engine-failed', 'No engine process can check the phrases now; try again.'))
  }

  #release(): void {
    if (this.#attempt !== undefined) this.#options.release(this.#attempt.number)
    this.#attempt = undefined
  }
}
