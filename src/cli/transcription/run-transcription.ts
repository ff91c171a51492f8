import { connect, filter, map, merge, zip, type Observable } from 'rxjs'
import { accumulateMilestones, type Transcript } from '../../operators/results/accumulate-milestones.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { RunFailure } from '../process/failure.js'
import { delivered, type Pace, type SendableAudio } from '../input/sendable-audio.js'
import { SessionLife } from './session-life.js'
import type { Work } from '../view/summary.js'
import { clockText } from '../view/transcript-line.js'
import { isResult } from '../view/transcript-reader.js'
import type { View } from '../view/view.js'

export interface Transcription {
  readonly audio: SendableAudio
  readonly session: (audio: AsyncIterable<Uint8Array>) => Observable<SessionEvent>
  readonly view: View
  readonly pace: Pace
  /** Resolves when there is room for more output; undefined when there is room now. */
  readonly room: () => Promise<void> | undefined
  readonly interruption: AbortSignal
  /** Whether the audio was ended on purpose, before its source did. */
  readonly endedEarly: () => boolean
}

/**
 * Runs one session to its end and shows it. Rejects with what ended it: the session's error, the interruption's reason,
 * or a `RunFailure` when the service ended it before the audio did.
 */
export const runTranscription = async (transcription: Transcription): Promise<Work> => {
  const { audio, session, view, pace, room, interruption, endedEarly } = transcription
  interruption.throwIfAborted()
  let audioMs = 0
  let isSpent = false
  const sent = (ms: number): void => {
    audioMs = ms
    view.sent(ms)
  }
  async function* source(): AsyncGenerator<Uint8Array, undefined> {
    yield* delivered(audio, { pace, room, sent })
    isSpent = true
    return undefined
  }
  const life = new SessionLife()
  await new Promise<void>((resolve, reject) => {
    const subscription = withTranscript(session(source())).subscribe({
      next: ([event, transcript]) => {
        life.heard(event)
        view.event(event, transcript)
      },
      error: (error: unknown) => reject(life.failureOf(error)),
      complete: resolve,
    })
    const abort = (): void => {
      subscription.unsubscribe()
      reject(interruption.reason as Error)
    }
    interruption.addEventListener('abort', abort)
    subscription.add(() => interruption.removeEventListener('abort', abort))
  })
  life.throwRefusal()
  if (!isSpent && !endedEarly()) throw endedBefore(audioMs)
  return { audioMs, elapsedMs: life.elapsedMs() }
}

const endedBefore = (audioMs: number): RunFailure =>
  new RunFailure(
    `The service ended the session after ${clockText(audioMs)} of audio, before the recording did; send the rest in another session.`,
  )

/** Each event, and with a result the transcript that stands after it. */
const withTranscript = (
  events$: Observable<SessionEvent>,
): Observable<readonly [SessionEvent, (Transcript | undefined)?]> =>
  events$.pipe(
    connect((shared$) =>
      merge(
        shared$.pipe(
          filter((event) => !isResult(event)),
          map((event) => [event] as const),
        ),
        zip(shared$.pipe(filter(isResult)), shared$.pipe(accumulateMilestones())),
      ),
    ),
  )
