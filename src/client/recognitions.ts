import type { SchedulerLike } from 'rxjs'
import type { SessionEvent, FinalEvent, UnknownEvent } from '../protocol/session-event.js'
import type { ReplayBuffer } from './audio/replay-buffer.js'
import type { ControlSignal } from './protocol.js'
import type { ResultTimeline } from './results/timeline.js'
import type { Standing } from './session-states.js'

/** A recognition has brought the session forward that lasted so long, or made so much audio definitive. */
const progressAfterMs = 10_000
const progressOfMs = 200

/** The recognitions of a session: the finals that end them, and how far each has come when the service ends it. */
export class Recognitions {
  readonly #tape: ReplayBuffer
  readonly #clock: Pick<SchedulerLike, 'now'>
  #results: ResultTimeline | undefined
  #failed: readonly FinalEvent[] = []
  #followsAnother = false
  #beganMs = Infinity

  constructor(tape: ReplayBuffer, clock: Pick<SchedulerLike, 'now'>) {
    this.#tape = tape
    this.#clock = clock
  }

  /** A recognition begins, on this connection or another; returns what is told of it. */
  begin(results: ResultTimeline): { readonly isNextRecognition?: true } {
    const isNext = this.#followsAnother
    this.#results = results
    this.#followsAnother = false
    this.#beganMs = this.#clock.now()
    return isNext ? { isNextRecognition: true } : {}
  }

  /** The service has ended one; the next follows, unless the connection is `lost`. */
  end(how: 'rests' | 'lost'): void {
    this.#followsAnother = how === 'rests'
  }

  /**
   * What becomes of a final: it may only repeat the one before it. With an error, how the connection ends tells whether
   * another one mends it, where there may be one.
   */
  judge(final: FinalEvent, mayBeMended: boolean): 'told' | 'held' | 'repeated' {
    if (this.#results?.isRepeated(final) === true) return 'repeated'
    if (final.error === undefined || !mayBeMended) return 'told'
    this.#failed = [...this.#failed, final]
    this.#results?.hold(final)
    return 'held'
  }

  /** Whether a start is answered that is not the session's first: the user was told of that one. */
  isStartedAgain(meaning: ControlSignal | undefined): boolean {
    return this.#results !== undefined && meaning?.type === 'start-answer' && meaning.error === undefined
  }

  get hasFailed(): boolean {
    return this.#failed.length > 0
  }

  /** Those that were held. */
  takeFailed(): readonly FinalEvent[] {
    const failed = this.#failed
    this.#failed = []
    return failed
  }

  /** Found out when it is looked at, which must be before a step has its effects. */
  get standing(): Standing {
    const tape = this.#tape
    const results = this.#results
    const lastedMs = this.#clock.now() - this.#beganMs
    return {
      isWhole: results?.isWhole ?? true,
      isAnswered: results?.isAnswered ?? false,
      hasProgress: lastedMs >= progressAfterMs || (results?.progressMs ?? 0) >= progressOfMs,
      get isUnread() {
        return results?.isUnread ?? false
      },
      get hasSound() {
        return tape.hasSound
      },
    }
  }
}

/** What is told of a final that only repeats the one before it. */
export const repeatedFinal = (event: SessionEvent): UnknownEvent => ({
  type: 'unknown',
  reason: 'A second final of a recognition.',
  raw: 'text' in event ? event.text : '',
})
