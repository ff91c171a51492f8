import {
  from,
  Observable,
  Subscriber,
  type ObservableInput,
  type Observer,
  type SchedulerLike,
  type Unsubscribable,
} from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { schedule } from '../../kernel/timers.js'
import { isObservableInput, isPromiseLike, pullerOf, type Puller } from '../../operators/interop/pull.js'

/** Receives the audio of a feed. `wanted` is called before each pull, and never for a pushed source. */
export interface AudioSink extends Observer<Uint8Array> {
  wanted(): boolean
}

export interface AudioFeed {
  /** Starts, or continues after `wanted` was false. For a pushed source only the first call has an effect. */
  resume(): void
  /**
   * Releases the source: unsubscribes, returns the iterator or cancels the stream; a pulled source of which nothing was
   * read only after `unreadSourceMs`. The sink is not called after this.
   */
  close(): void
}

/**
 * Reads any source of audio: an Observable or a promise pushes; an iterable, an async iterable (a Node stream is one)
 * or a Web stream is pulled, one chunk at a time, while the sink wants more.
 */
export const feedAudio = (
  source: ObservableInput<Uint8Array>,
  sink: AudioSink,
  scheduler: SchedulerLike,
): AudioFeed => {
  const puller = sessionPullerOf(source, scheduler)
  const checked = new ConsumedCheck(source, sink, scheduler)
  const feed = puller === undefined ? new PushedFeed(from(source), checked) : new PulledFeed(puller, checked)
  return {
    resume: () => feed.resume(),
    close: () => {
      checked.unsubscribe()
      feed.close()
    },
  }
}

/** The audio of a source that pushes, with the same check, for a session of two channels, which share it. */
export const pushedAudio = (source: ObservableInput<Uint8Array>, scheduler: SchedulerLike): Observable<Uint8Array> =>
  new Observable((subscriber) => {
    const sink: AudioSink = {
      wanted: () => true,
      next: (chunk) => subscriber.next(chunk),
      error: (error) => subscriber.error(error),
      complete: () => subscriber.complete(),
    }
    const check = new ConsumedCheck(source, sink, scheduler)
    const checked = new Subscriber<Uint8Array>(check)
    subscriber.add(check)
    subscriber.add(checked)
    from(source).subscribe(checked)
  })

/** Sources that gave audio to a session. */
const usedSources = new WeakSet<object>()

/** A source that is over completes before this time; an empty recording later, such as a key pressed and released. */
const atOnceMs = 10

/**
 * Fails with `already-started` where a source that gave audio to an earlier session completes at once without any: it
 * holds an iterator or a stream that can be read once, which an Observable or an iterable around it hides.
 */
class ConsumedCheck implements AudioSink, Unsubscribable {
  readonly #source: ObservableInput<Uint8Array>
  readonly #sink: AudioSink
  readonly #scheduler: SchedulerLike
  readonly #wasUsed: boolean
  #hasAudio = false
  /** Runs from the request for audio on. A timer and not the clock: a busy process is late with the end, too. */
  #atOnce: Unsubscribable | undefined

  constructor(source: ObservableInput<Uint8Array>, sink: AudioSink, scheduler: SchedulerLike) {
    this.#source = source
    this.#sink = sink
    this.#scheduler = scheduler
    this.#wasUsed = usedSources.has(source)
    this.#asked()
  }

  wanted(): boolean {
    this.#asked()
    return this.#sink.wanted()
  }

  next(chunk: Uint8Array): void {
    if (!this.#hasAudio) {
      this.#hasAudio = true
      this.unsubscribe()
      usedSources.add(this.#source)
    }
    this.#sink.next(chunk)
  }

  error(error: unknown): void {
    this.unsubscribe()
    this.#sink.error(error)
  }

  complete(): void {
    const isConsumed = this.#atOnce !== undefined
    this.unsubscribe()
    if (isConsumed) this.#sink.error(new SpeechError('already-started', consumed))
    else this.#sink.complete()
  }

  /** Ends the timer. */
  unsubscribe(): void {
    this.#atOnce?.unsubscribe()
    this.#atOnce = undefined
  }

  #asked(): void {
    if (!this.#wasUsed || this.#hasAudio) return
    this.unsubscribe()
    this.#atOnce = schedule(this.#scheduler, atOnceMs, () => this.unsubscribe())
  }
}

const consumed =
  'The source gave its audio to an earlier session and has none for this one; create the audio for each session, for example by defer.'

/**
 * How long a source of which nothing was read stays as it is after its session, in milliseconds, so that `retry` behind
 * a session that did not connect finds all of its audio. Then it is released, because it may have an open file.
 */
export const unreadSourceMs = 60_000

/** The planned releases of sources of which nothing was read. */
const unread = new WeakMap<object, Unsubscribable>()

/** The puller of a session's source, which its first read opens; undefined for a source that pushes. */
export const sessionPullerOf = (
  source: ObservableInput<Uint8Array>,
  scheduler: SchedulerLike,
): Puller<Uint8Array> | undefined => {
  const open = pullerOf(source)
  if (open === undefined) return undefined
  let opened: Puller<Uint8Array> | undefined
  let isReleased = false
  unread.get(source)?.unsubscribe()
  return {
    next: () => (opened ??= open()).next(),
    release: () => {
      if (isReleased) return
      isReleased = true
      if (opened !== undefined) return opened.release()
      if (Array.isArray(source)) return
      unread.get(source)?.unsubscribe()
      unread.set(
        source,
        schedule(scheduler, unreadSourceMs, () => releaseUnread(open)),
      )
    },
  }
}

const releaseUnread = (open: () => Puller<Uint8Array>): void => {
  try {
    open().release()
  } catch {
    // For example a stream that another reader has locked and will release.
  }
}

/** Whether a source is pulled. Such a source needs no buffer. */
export const isPulled = (source: ObservableInput<Uint8Array>): boolean => pullerOf(source) !== undefined

/** Throws `invalid-options` for a source of another kind. */
export const checkSource = (source: ObservableInput<Uint8Array>): void => {
  // A string is an iterable, but not of bytes.
  if (typeof source !== 'string' && isObservableInput(source)) return
  throw new SpeechError('invalid-options', 'The audio source must be an Observable, promise, iterable or stream.')
}

/** The feed of a source that emits at its own pace. */
class PushedFeed implements AudioFeed {
  /** Exists before the subscription, so that a source that emits synchronously can be closed. */
  readonly #subscriber: Subscriber<Uint8Array>
  #audio$: Observable<Uint8Array> | undefined

  constructor(audio$: Observable<Uint8Array>, sink: AudioSink) {
    this.#audio$ = audio$
    this.#subscriber = new Subscriber(sink)
  }

  resume(): void {
    const audio$ = this.#audio$
    this.#audio$ = undefined
    audio$?.subscribe(this.#subscriber)
  }

  close(): void {
    this.#audio$ = undefined
    this.#subscriber.unsubscribe()
  }
}

/** The feed of a source that is pulled. */
class PulledFeed implements AudioFeed {
  readonly #puller: Puller<Uint8Array>
  readonly #sink: AudioSink
  #phase: 'idle' | 'pulling' | 'over' = 'idle'

  constructor(puller: Puller<Uint8Array>, sink: AudioSink) {
    this.#puller = puller
    this.#sink = sink
  }

  resume(): void {
    if (this.#phase !== 'idle' || !this.#sink.wanted()) return
    this.#phase = 'pulling'
    void this.#pull()
  }

  close(): void {
    if (this.#phase === 'over') return
    this.#phase = 'over'
    this.#puller.release()
  }

  async #pull(): Promise<void> {
    try {
      while (this.#sink.wanted()) {
        const answer = this.#puller.next()
        const result = isPromiseLike(answer) ? await answer : answer
        if (this.#isOver) return
        if (result.done === true) {
          this.#phase = 'over'
          this.#sink.complete()
          return
        }
        this.#sink.next(result.value)
        if (this.#isOver) return
      }
      this.#phase = 'idle'
    } catch (error) {
      if (this.#isOver) return
      this.#phase = 'over'
      this.#sink.error(error)
    }
  }

  get #isOver(): boolean {
    return this.#phase === 'over'
  }
}
