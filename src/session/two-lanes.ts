import { connect, defer, filter, from, map, merge, type Observable, type ObservableInput } from 'rxjs'
import type { AudioFormat } from '../audio/format.js'
import { deinterleave } from '../operators/deinterleave.js'
import type { ConnectionEvent, SessionEvent } from '../protocol/session-event.js'
import { sessionStates, type SessionState } from '../protocol/states.js'
import { pullerOf } from './puller.js'
import { splitPulled } from './split-pulled.js'

type Lane = (source: ObservableInput<Uint8Array>) => Observable<SessionEvent>

/**
 * Runs stereo audio as one session a channel over one subscription of the source. Results carry their channel; the
 * two are announced as one: a state when both have reached it, a failure at once. An error of either aborts both.
 */
export const inTwoLanes =
  (format: AudioFormat, lane: Lane): Lane =>
  (source) =>
    defer(() => {
      const asOne = new JointState()
      const run = (channel: 0 | 1, audio: ObservableInput<Uint8Array>): Observable<SessionEvent> =>
        lane(audio).pipe(
          filter((event) => event.type !== 'connection' || event.state === 'gap' || asOne.isNews(channel, event.state)),
          map((event) => ofChannel(channel, event)),
        )
      const open = pullerOf(source)
      if (open !== undefined) {
        const [left, right] = splitPulled(open(), format)
        return merge(run(0, left), run(1, right))
      }
      return from(source).pipe(
        deinterleave({ format }),
        connect((pairs$) =>
          merge(run(0, pairs$.pipe(map(([left]) => left))), run(1, pairs$.pipe(map(([, right]) => right)))),
        ),
      )
    })

const ofChannel = (channel: 0 | 1, event: SessionEvent): SessionEvent => {
  switch (event.type) {
    case 'partial':
    case 'milestone':
    case 'final':
      return { ...event, channel }
    case 'connection':
      return event.state === 'gap' ? { ...event, channel } : event
    default:
      return event
  }
}

/** Turns the states of two sessions into those of one, each told once. */
class JointState {
  readonly #reached: [SessionState, SessionState] = ['idle', 'idle']
  #told: SessionState = 'idle'

  isNews(channel: 0 | 1, state: Exclude<ConnectionEvent['state'], 'gap'>): boolean {
    this.#reached[channel] = state
    const joint = state === 'failed' ? state : this.#laggard()
    if (joint === this.#told || joint !== state) return false
    this.#told = joint
    return true
  }

  #laggard(): SessionState {
    const [left, right] = this.#reached
    return sessionStates.indexOf(left) < sessionStates.indexOf(right) ? left : right
  }
}
