import { Observable, type SchedulerLike, type Subscription, timer } from 'rxjs'

/**
 * A terminal reports no release of a key, but repeats a key that is held: after half a second or less, then at least
 * ten times a second.
 */
const repeatMs = 150
/** How long after the last repetition a key counts as released. */
const releaseMs = 300

/** `undecided`: pressed again, which is the end, or the first repetition of a key that is held. */
type ButtonState = 'off' | 'on' | 'undecided' | 'held'

const waits: Readonly<Record<ButtonState, number | undefined>> = {
  off: undefined,
  on: undefined,
  undecided: repeatMs,
  held: releaseMs,
}

const pressed: Readonly<Record<ButtonState, ButtonState>> = {
  off: 'on',
  on: 'undecided',
  undecided: 'held',
  held: 'held',
}

/**
 * Whether a button for talking is on, from presses of a key: one press begins and another one ends, and a key that is
 * held ends when it is released. The second press of a key that is not held counts 150 ms later.
 */
export const talkButton = (press$: Observable<unknown>, scheduler: SchedulerLike): Observable<boolean> =>
  new Observable((subscriber) => {
    let state: ButtonState = 'off'
    let waiting: Subscription | undefined
    const become = (next: ButtonState): void => {
      waiting?.unsubscribe()
      const wasOn = state !== 'off'
      state = next
      const waitMs = waits[next]
      waiting = waitMs === undefined ? undefined : timer(waitMs, scheduler).subscribe(() => become('off'))
      if (wasOn !== (next !== 'off')) subscriber.next(next !== 'off')
    }
    subscriber.next(false)
    subscriber.add(() => waiting?.unsubscribe())
    subscriber.add(
      press$.subscribe({
        next: () => become(pressed[state]),
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      }),
    )
  })
