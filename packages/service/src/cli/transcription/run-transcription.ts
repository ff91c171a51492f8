import { defer, map, tap, type Observable } from 'rxjs'
import { type AudioFormat, msForBytes } from 'rxspeech/internal/audio/format'
import { refusalError } from 'rxspeech/internal/errors/refusal'
import { isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { accumulate, type Accumulated, emptyTranscript } from 'rxspeech/internal/operators/results/transcript'
import type { SessionEvent } from 'rxspeech/internal/protocol/session-event'
import { CommandError } from '../process/failure.js'
import { delivered, type Pace, type SendableAudio } from '../input/sendable-audio.js'
import { clockText } from '../view/transcript-line.js'
import type { RunSummary } from '../view/transcript-reader.js'
import type { View } from '../view/view.js'

/** A session, and what shows it. */
interface ShownSession<Audio> {
  readonly session: (audio: Audio) => Observable<SessionEvent>
  readonly view: View
  readonly interruption: AbortSignal
  /** Called when the service has accepted the connection. */
  readonly connected: () => void
  /** Whether a signal has ended the audio before its source did. */
  readonly isEndedEarly: () => boolean
}

export interface Transcription extends ShownSession<AsyncIterable<Uint8Array>> {
  readonly audio: SendableAudio
  readonly pace: Pace
  /** Resolves when the output can take more; undefined when it can now. */
  readonly whenWritable: () => Promise<void> | undefined
}

/**
 * Runs one session to its end and shows it. Rejects with the cause of its end: the session's error, the interruption's
 * reason, or a `CommandError` when the service ended it before the audio did.
 */
export const runTranscription = ({ audio, pace, whenWritable, ...shown }: Transcription): Promise<RunSummary> =>
  runSession(shown, async function* (sent, ended) {
    yield* delivered(audio, { pace, whenWritable, sent })
    ended()
    return undefined
  })

export interface LiveTranscription extends ShownSession<Observable<Uint8Array>> {
  /** Audio in real time, which the session buffers. */
  readonly audio$: Observable<Uint8Array>
  readonly format: AudioFormat
}

/** The same for audio that comes by itself, such as that of a microphone. */
export const runLiveTranscription = ({ audio$, format, ...shown }: LiveTranscription): Promise<RunSummary> =>
  runSession(shown, (sent, ended) => {
    let bytes = 0
    return audio$.pipe(
      tap({
        next: (chunk) => {
          bytes += chunk.length
          sent(msForBytes(format, bytes))
        },
        complete: ended,
      }),
    )
  })

/** @param sourceOf makes the audio; it reports how much was sent, and its end */
const runSession = async <Audio>(
  { session, view, interruption, connected, isEndedEarly }: ShownSession<Audio>,
  sourceOf: (sent: (audioMs: number) => void, ended: () => void) => Audio,
): Promise<RunSummary> => {
  interruption.throwIfAborted()
  let audioMs = 0
  let isAllSent = false
  const source = sourceOf(
    (ms) => {
      audioMs = ms
      view.sent(ms)
    },
    () => {
      isAllSent = true
    },
  )
  const outcome = new SessionOutcome()
  await new Promise<void>((resolve, reject) => {
    const subscription = withTranscript(session(source)).subscribe({
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
