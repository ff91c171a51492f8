import { isSpeechError } from '../../errors/speech-error.js'
import { refusalError } from '../../errors/refusal.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { RunFailure } from '../process/failure.js'

/** What a command has to know of the session it ran, once that has ended. */
export class SessionLife {
  #startedMs: number | undefined
  #isConnected = false
  #refusal: string | undefined

  heard(event: SessionEvent): void {
    if (event.type === 'connection') {
      if (event.state === 'starting') this.#isConnected = true
      if (event.state === 'streaming') this.#startedMs = performance.now()
    }
    if (event.type === 'final' && event.error !== undefined) this.#refusal ??= event.error
  }

  /** Milliseconds since the service was ready for audio. */
  elapsedMs(): number {
    return this.#startedMs === undefined ? 0 : performance.now() - this.#startedMs
  }

  /** On a stream, a recognition can end with an error while the session ends well. */
  throwRefusal(): void {
    if (this.#refusal !== undefined) throw new RunFailure(refusalError(this.#refusal).message)
  }

  /**
   * The session's error as the command ends with it. Once the service was there, the error is its own or the network's,
   * whatever code it names; what could not be sent is told by the input itself.
   */
  failureOf(error: unknown): Error {
    if (!isSpeechError(error)) return error instanceof Error ? error : new Error(String(error))
    if (!this.#isConnected || error.code === 'missing-dependency') return error
    const remedy = error.code === 'too-fast' ? ' Give --speed 1.' : ''
    return new RunFailure(error.message + remedy)
  }
}
