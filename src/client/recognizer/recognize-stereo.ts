import {
  asyncScheduler,
  catchError,
  concat,
  connect,
  defer,
  finalize,
  map,
  merge,
  mergeMap,
  of,
  Subject,
  takeUntil,
  throwError,
  EMPTY,
  type Observable,
  type ObservableInput,
  type SchedulerLike,
} from 'rxjs'
import type { AudioFormat } from '../../audio/format.js'
import { isSpeechError, type SpeechError } from '../../errors/speech-error.js'
import { pushedAudio, sessionPullerOf } from '../audio/audio-feed.js'
import type { SessionEvent, StateEvent } from '../../protocol/session-event.js'
import { sessionStates, type AnnouncedState } from '../../protocol/states.js'
import type { RecognizeChannel } from '../session.js'
import { ChannelSplitter, splitPulled, type Pair } from './split-stereo.js'

/**
 * Runs stereo audio as one session per channel over one subscription to the source. Results have their channel. States
 * are those of the pair: a state is emitted when both sessions have reached it, a failure at once. An error of one
 * fails both.
 */
export const recognizeStereo =
  (
    format: AudioFormat,
    recognizeChannel: RecognizeChannel,
    scheduler: SchedulerLike = asyncScheduler,
  ): ((source: ObservableInput<Uint8Array>) => Observable<SessionEvent>) =>
  (source) =>
    defer(() => {
      const run = joined(recognizeChannel)
      const puller = sessionPullerOf(source, scheduler)
      if (puller !== undefined) {
        const [left, right] = splitPulled(puller, format)
        return merge(run(0, left), run(1, right)).pipe(finalize(() => puller.release()))
      }
      const bothLeft$ = new Subject<undefined>()
      let listening = 2
      const leaving = finalize<Uint8Array>(() => {
        listening -= 1
        if (listening === 0) bothLeft$.next(undefined)
      })
      // Ends before the sessions, because the microphone is not needed after finalize or stop.
      const wanted$ = pushedAudio(source, scheduler).pipe(splitPushed(format), takeUntil(bothLeft$))
      return wanted$.pipe(
        connect((pairs$) => {
          const channels = [0, 1] as const
          return merge(
            ...channels.map((channel) =>
              run(
                channel,
                pairs$.pipe(
                  map((pair) => pair[channel]),
                  leaving,
                ),
              ),
            ),
          )
        }),
      )
    })

/** A frame that is cut at the end is passed to the channels, which report it as a gap, as they do with mono. */
const splitPushed =
  (format: AudioFormat) =>
  (source$: Observable<Uint8Array>): Observable<Pair> =>
    defer(() => {
      const splitter = new ChannelSplitter(format)
      return concat(
        source$.pipe(map((chunk) => splitter.split(chunk))),
        defer(() => of(splitter.rest())),
      )
    })

/** The two sessions of a pair: a state is emitted once, and an error of one fails the other. */
const joined = (
  recognizeChannel: RecognizeChannel,
): ((channel: 0 | 1, audio: ObservableInput<Uint8Array>) => Observable<SessionEvent>) => {
  const reached: [AnnouncedState, AnnouncedState] = ['idle', 'idle']
  const isReconnecting: [boolean, boolean] = [false, false]
  const failed$ = new Subject<SpeechError>()
  let announced: AnnouncedState = 'idle'
  const services: [number | undefined, number | undefined] = [undefined, undefined]
  const announce = (channel: 0 | 1, { state, service }: StateEvent): Observable<SessionEvent> => {
    reached[channel] = state
    services[channel] = service ?? services[channel]
    const joint = combineStates(...reached)
    const isBack = isReconnecting[channel] || (service !== undefined && state === joint)
    isReconnecting[channel] = false
    const own: StateEvent = { type: 'connection', state, channel, ...(service === undefined ? {} : { service }) }
    if (joint === announced) return isBack ? of(own) : EMPTY
    announced = joint
    const [left, right] = services
    if (joint !== 'streaming' || left === undefined || right === undefined)
      return of({ type: 'connection', state: joint })
    if (left === right) return of({ type: 'connection', state: joint, service: left })
    return of<SessionEvent[]>(
      { type: 'connection', state: joint, channel: 0, service: left },
      { type: 'connection', state: joint, channel: 1, service: right },
    )
  }
  return (channel, audio) =>
    recognizeChannel(audio, channel, failed$).pipe(
      mergeMap((event) => {
        if (event.type !== 'connection') return of(ofChannel(channel, event))
        if (event.state !== 'reconnecting') return announce(channel, event)
        isReconnecting[channel] = true
        // Until it is back, the pair gets no further.
        reached[channel] = announced
        return of({ ...event, channel })
      }),
      // The other session emits its remaining events and then fails with the same error, which is emitted once.
      catchError((error: unknown) => {
        if (isSpeechError(error)) failed$.next(error)
        return throwError(() => error)
      }),
    )
}

const ofChannel = (channel: 0 | 1, event: SessionEvent): SessionEvent => {
  switch (event.type) {
    case 'partial':
    case 'milestone':
    case 'final':
    case 'ledger':
    case 'resumed':
    case 'silent':
    case 'gap':
      return { ...event, channel }
    case 'event':
      return event.channel < 0 ? event : { ...event, channel }
    default:
      return event
  }
}

/**
 * The state of a pair of sessions: failed as soon as one has failed, stopped or done when both have ended, otherwise
 * the earlier of both states.
 */
export const combineStates = (left: AnnouncedState, right: AnnouncedState): AnnouncedState => {
  if (left === 'failed' || right === 'failed') return 'failed'
  if (hasEnded(left) && hasEnded(right)) return left === right ? left : 'stopped'
  return sessionStates.indexOf(left) < sessionStates.indexOf(right) ? left : right
}

const hasEnded = (state: AnnouncedState): boolean => state === 'done' || state === 'stopped'
