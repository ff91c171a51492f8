import { defer, map, type Observable } from 'rxjs'
import { refusalError } from 'rxspeech/internal/errors/refusal'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { accumulate, type Accumulated, emptyTranscript } from 'rxspeech/internal/operators/results/transcript'
import type { SessionEvent } from 'rxspeech/internal/protocol/session-event'
import { CommandError } from '../process/failure.js'
import { delivered, type Pace, type SendableAudio } from '../input/sendable-audio.js'
import { clockText } from '../view/transcript-line.js'
import type { RunSummary } from '../view/transcript-reader.js'
import type { View } from '../view/view.js'

export interface Transcription {
  readonly audio: SendableAudio
  readonly session: (audio: AsyncIterable<Uint8Array>) => Observable<SessionEvent>
  readonly view: View
  readonly pace: Pace
  /** Resolves when the output can take more; undefined when it can now. */
  readonly whenWritable: () => Promise<void> | undefined
  readonly interruption: AbortSignal
  /** Called when the service has accepted the connection. */
  readonly connected: () => void
  /** Whether a signal has ended the audio before its source did. */
  readonly isEndedEarly: () => boolean
}

/**
 * Runs one session to its end and shows it. Rejects with the cause of its end: the session's error, the interruption's
 * reason, or a `CommandError` when the service ended it before the audio did.
 */
export const runTranscription = async (transcription: Transcription): Promise<RunSummary> => {
  const { audio, session, view, pace, whenWritable, interruption, connected, isEndedEarly } = transcription
  interruption.throwIfAborted()
  let audioMs = 0
  let isAllSent = false
  const sent = (ms: number): void => {
    audioMs = ms
    view.sent(ms)
  }
  async function* source(): AsyncGenerator<Uint8Array, undefined> {
    yield* delivered(audio, { pace, whenWritable, sent })
    isAllSent = true
    return undefined
  }
  const outcome = new SessionOutcome()
  await new Promise<void>((resolve, reject) => {
    const subscription = withTranscript(session(source())).subscribe({
      next: ([event, transcript]) => {
        outcome.take(event)
        if (event.type === 'connection' && event.state === 'starting') connected()
        view.event(event, transcript)
      },
      error: (error: unknown) => reject(outcome.failureOf(error)),
      complete: resolve,
    })
    const abort = (): void => {
      subscription.unsubscribe()
      reject(interruption.reason as Error)
    }
    interruption.addEventListener('abort', abort)
    subscription.add(() => interruption.removeEventListener('abort', abort))
  })
  outcome.throwRefusal()
  if (!isAllSent && !isEndedEarly()) throw endedBefore(audioMs)
  return { audioMs, elapsedMs: outcome.elapsedMs() }
}

const endedBefore = (audioMs: number): CommandError =>
  new CommandError(
    `The service ended the session after ${clockText(audioMs)} of audio, before the recording ended; send the rest in another session.`,
  )

/** Each event, and the transcript after it. */
const withTranscript = (events$: Observable<SessionEvent>): Observable<readonly [SessionEvent, Accumulated]> =>
  defer(() => {
    let transcript = emptyTranscript
    return events$.pipe(map((event) => [event, (transcript = accumulate(transcript, event))] as const))
  })

/** The facts that decide how the command ends, collected from the events of its session. */
class SessionOutcome {
  #startedMs: number | undefined
  #isConnected = false
  #refusal: string | undefined

  take(event: SessionEvent): void {
    if (event.type === 'connection') {
      if (event.state === 'starting') this.#isConnected = true
      if (event.state === 'streaming') this.#startedMs ??= performance.now()
    }
    if (event.type === 'final' && event.error !== undefined) this.#refusal ??= event.error
  }

  /** Milliseconds since the service was ready for audio. */
  elapsedMs(): number {
    return this.#startedMs === undefined ? 0 : performance.now() - this.#startedMs
  }

  /** On a stream, a recognition can end with an error while the session ends normally (PROTOCOL 3.3). */
  throwRefusal(): void {
    if (this.#refusal !== undefined) throw new CommandError(refusalError(this.#refusal).message)
  }

  /**
   * The error that the command ends with. Once the connection was open, any error comes from the service or the
   * network; faults of the input are reported by the input itself.
   */
  failureOf(error: unknown): Error {
    if (!isSpeechError(error)) return error instanceof Error ? error : new Error(String(error))
    if (!this.#isConnected || error.code === 'missing-dependency') return error
    const remedy = error.code === 'too-fast' ? ' Set --speed 1.' : ''
    return new CommandError(error.message + remedy, { cause: error })
  }
}
