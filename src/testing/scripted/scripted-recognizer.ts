import { either } from 'fp-ts'
import { asyncScheduler, concatMap, defer, map, mergeMap, type Observable, of, timer, type SchedulerLike } from 'rxjs'
import { checkOptions, number, optionsOf, schedulerValue } from '../../protocol/validation.js'
import { readRecognizerRequest, writeRecognizerMessage } from '../../protocol/recognizer-messages.js'
import type { SocketMessage } from '../../transport/link.js'
import type { ScriptedPeer } from '../scripted-dial.js'
import { prepareScript, type RecognitionScript } from './recognition-script.js'
import { ScriptedSession, type TimedMessage } from './scripted-session.js'

/** When scripted results are sent. */
export interface ScriptedRecognizerOptions {
  /**
   * Results come as soon as the audio before them has arrived. With a speed they also wait for the clock, which begins
   * with the first audio: 1 is real time. @default Infinity
   */
  readonly speed?: number | undefined
  /** The clock of `speed`. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** The client of a recognizer. */
export interface RecognitionPeer extends Pick<ScriptedPeer<SocketMessage, SocketMessage>, 'received$'> {
  /** Whether events report where each text begins and ends, as on the dataflow stream (PROTOCOL 3.3). @default false */
  readonly reportsSpeech?: boolean | undefined
}

const scriptedRecognizerOptions = optionsOf<ScriptedRecognizerOptions>()(
  {},
  { speed: number({ min: 0.01 }), scheduler: schedulerValue },
)

/**
 * A recognizer for tests (PROTOCOL 4) that answers with the words of a script at their times, whatever the audio
 * contains. The times are counted in audio, so a client that sends faster than real time gets the results as much
 * sooner, also in virtual time. Each session has the next script. For `scriptedDial`, or behind any other link.
 *
 * @throws SpeechError `invalid-options`, which says where the script is wrong
 * @example
 * const dial = scriptedDial(scriptedRecognizer(['seven of clubs', { error: 'internal', atMs: 3000 }]))
 * audio$.pipe(recognize({ ...options, testing: { dial } })).subscribe(console.log)
 */
export const scriptedRecognizer = (
  script: RecognitionScript,
  options: ScriptedRecognizerOptions = {},
): ((peer: RecognitionPeer) => Observable<SocketMessage>) => {
  const { speed = Infinity, scheduler = asyncScheduler } = checkOptions(scriptedRecognizerOptions, options)
  const sessions = prepareScript(script)
  let turn = 0
  return ({ received$, reportsSpeech }) =>
    defer(() => {
      const session = new ScriptedSession(sessions[turn % sessions.length] ?? [], reportsSpeech)
      turn += 1
      const messages$ = received$.pipe(
        mergeMap((message) => {
          if (typeof message !== 'string') return session.takeAudio(message)
          const read = readRecognizerRequest(message)
          if (either.isLeft(read)) throw read.left.error
          return session.takeRequest(read.right)
        }),
      )
      const sent$ = speed === Infinity ? messages$ : messages$.pipe(atSpeed(speed, scheduler))
      return sent$.pipe(map(({ message }) => writeRecognizerMessage(message)))
    })
}

/** Delays each message to its time on a clock that begins with the first one. */
const atSpeed = (speed: number, scheduler: SchedulerLike) => (messages$: Observable<TimedMessage>) =>
  defer(() => {
    const startMs = scheduler.now()
    return messages$.pipe(
      concatMap((timed) => {
        const waitMs = startMs + timed.atMs / speed - scheduler.now()
        return waitMs <= 0 ? of(timed) : timer(waitMs, scheduler).pipe(map(() => timed))
      }),
    )
  })
