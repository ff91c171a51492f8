import {
  asyncScheduler,
  defer,
  from,
  Observable,
  of,
  Subscription,
  take,
  type ObservableInput,
  type SchedulerLike,
  type Subscriber,
} from 'rxjs'
import { SpeechError, toSpeechError } from '../errors/speech-error.js'
import type { SessionEvent } from '../protocol/session-event.js'
import type { Dial, Link } from '../transport/link.js'
import { feedAudio, type AudioFeed } from './audio-feed.js'
import { AudioQueue, type Gap } from './audio-queue.js'
import type { Dialogue } from './dialogue.js'
import { step, type Command, type MachineInput, type MachineState } from './session-machine.js'
import { audioBoundsOf, deadlinesOf, type Deadlines, type SessionOptions } from './session-options.js'

/** What one kind of session brings: how it connects, what it says there, and what the user asked for. */
export interface SessionPlan<In, Out> {
  readonly options: SessionOptions
  readonly dial: (token: string) => Dial<In, Out>
  readonly dialogue: Dialogue<In, Out>
  /** Further requests that the user sends while the session streams, ready for the link. */
  readonly requests$?: Observable<Out>
}

/** Cold: each subscription is one session over one subscription of the source; unsubscribing aborts it at once. */
export const openSession = <In, Out>(
  plan: SessionPlan<In, Out>,
  source: ObservableInput<Uint8Array>,
): Observable<SessionEvent> =>
  new Observable((subscriber) => {
    const session = new Session(plan, source, subscriber)
    session.begin()
    return () => {
      session.release()
    }
  })

/**
 * Runs one session: does what the machine commands and tells it what happens. Inputs that arrive while a command runs
 * (a handler that unsubscribes, finalizes or stops from within `next`) wait in line, so that every step sees a whole state.
 */
class Session<In, Out> {
  readonly #plan: SessionPlan<In, Out>
  readonly #subscriber: Subscriber<SessionEvent>
  readonly #scheduler: SchedulerLike
  readonly #deadlines: Deadlines
  readonly #queue: AudioQueue
  readonly #feed: AudioFeed
  readonly #owned = new Subscription()
  readonly #inbox: MachineInput[] = []
  #state: MachineState = { name: 'idle' }
  #busy = false
  #link: Link<In, Out> | undefined
  #token = ''
  #deadline: Subscription | undefined
  #waiting: Subscription | undefined

  constructor(plan: SessionPlan<In, Out>, source: ObservableInput<Uint8Array>, subscriber: Subscriber<SessionEvent>) {
    const { format, maxBufferMs, maxAudioMessageBytes } = audioBoundsOf(plan.options)
    this.#plan = plan
    this.#subscriber = subscriber
    this.#scheduler = plan.options.scheduler ?? asyncScheduler
    this.#deadlines = deadlinesOf(plan.options)
    this.#queue = new AudioQueue(format, maxBufferMs, maxAudioMessageBytes)
    this.#feed = feedAudio(source, {
      wanted: () => this.#state.name === 'streaming' && this.#queue.isEmpty && this.#link?.congested === false,
      chunk: (bytes) => {
        this.#take(bytes)
      },
      end: () => {
        this.#audioOver()
      },
      fail: (error) => {
        this.#fail(toSpeechError(error, 'source-failed', 'The audio source failed; see the cause.'))
      },
    })
  }

  begin(): void {
    const { finalize$, stop$ } = this.#plan.options
    this.#dispatch({ type: 'begin' })
    if (this.#subscriber.closed) return
    const over = (): void => {
      this.#feed.close()
      this.#audioOver()
    }
    const stop = (): void => {
      this.#dispatch({ type: 'stop' })
    }
    if (finalize$ !== undefined)
      this.#owned.add(finalize$.pipe(take(1)).subscribe({ next: over, error: this.#signalFailed }))
    if (stop$ !== undefined) this.#owned.add(stop$.pipe(take(1)).subscribe({ next: stop, error: this.#signalFailed }))
    this.#feed.resume()
  }

  /** Lets go of everything; what the service still says is not heard. */
  release(): void {
    this.#deadline?.unsubscribe()
    this.#waiting?.unsubscribe()
    this.#feed.close()
    this.#link?.close()
    this.#owned.unsubscribe()
  }

  readonly #signalFailed = (error: unknown): void => {
    this.#fail(toSpeechError(error, 'source-failed', 'finalize$ or stop$ failed; see the cause.'))
  }

  #fail(error: SpeechError): void {
    this.#dispatch({ type: 'failed', error })
  }

  #dispatch(input: MachineInput): void {
    this.#inbox.push(input)
    if (this.#busy) return
    this.#busy = true
    for (let one = this.#inbox.shift(); one !== undefined; one = this.#inbox.shift()) {
      const { state, commands } = step(this.#state, one, this.#plan.dialogue.endsWith)
      if (state.name !== this.#state.name) this.#setDeadline(state)
      this.#state = state
      for (const command of commands) {
        if (this.#subscriber.closed) break
        this.#execute(command)
      }
    }
    this.#busy = false
  }

  #setDeadline({ name }: MachineState): void {
    this.#deadline?.unsubscribe()
    this.#deadline =
      name in this.#deadlines
        ? this.#scheduler.schedule(
            () => {
              this.#dispatch({ type: 'deadline' })
            },
            this.#deadlines[name as keyof Deadlines],
          )
        : undefined
  }

  #execute(command: Command): void {
    switch (command.do) {
      case 'announce':
        this.#emit({ type: 'connection', state: command.state })
        return
      case 'authorize':
        this.#authorize()
        return
      case 'dial':
        this.#dial()
        return
      case 'start':
        this.#link?.send(this.#plan.dialogue.start(this.#token))
        return
      case 'stream':
        this.#stream()
        return
      case 'finalize':
        this.#finalize()
        return
      case 'stop':
        this.#feed.close()
        this.#tell(this.#queue.drop('stopped'))
        this.#link?.send(this.#plan.dialogue.stop())
        return
      case 'complete':
        this.#tell(this.#queue.drop(this.#state.name === 'stopped' ? 'stopped' : 'ended'))
        this.#subscriber.complete()
        return
      case 'fail':
        this.#tell(this.#queue.drop('failed'))
        this.#subscriber.error(command.error)
    }
  }

  #authorize(): void {
    const { token } = this.#plan.options
    const token$ = defer(() => (typeof token === 'string' || 'accessToken' in token ? of(token) : from(token)))
    this.#owned.add(
      token$.pipe(take(1)).subscribe({
        next: (one) => {
          this.#token = typeof one === 'string' ? one : one.accessToken
        },
        complete: () => {
          if (this.#token === '') this.#fail(new SpeechError('unauthenticated', 'The token source gave no token.'))
          else this.#dispatch({ type: 'authorized' })
        },
        error: (error: unknown) => {
          this.#fail(toSpeechError(error, 'token-endpoint-failed', 'The token source failed; see the cause.'))
        },
      }),
    )
  }

  #dial(): void {
    this.#owned.add(
      this.#plan.dial(this.#token).subscribe({
        next: (link) => {
          this.#link = link
          this.#dispatch({ type: 'connected' })
          this.#listen(link)
        },
        error: (error: unknown) => {
          this.#fail(toSpeechError(error, 'connection-failed', 'The connection failed; see the cause.'))
        },
      }),
    )
  }

  #listen(link: Link<In, Out>): void {
    this.#owned.add(
      link.incoming.subscribe({
        next: (message) => {
          const { event, meaning } = this.#plan.dialogue.read(message)
          this.#emit(event)
          if (meaning.type !== 'none') this.#dispatch({ type: 'heard', meaning })
        },
        complete: () => {
          this.#dispatch({ type: 'link-ended' })
        },
        error: (error: unknown) => {
          this.#fail(toSpeechError(error, 'connection-lost', 'The connection broke; start a new session.'))
        },
      }),
    )
  }

  #stream(): void {
    const { requests$ } = this.#plan
    if (requests$ !== undefined) {
      const send = (request: Out): void => {
        if (this.#state.name === 'streaming') this.#link?.send(request)
      }
      this.#owned.add(requests$.subscribe({ next: send, error: this.#signalFailed }))
    }
    this.#drain()
  }

  #finalize(): void {
    this.#feed.close()
    const request = this.#plan.dialogue.finalize()
    if (request === undefined) this.#link?.finish()
    else this.#link?.send(request)
  }

  /** The way of every chunk: straight to the link when nothing stands before it. */
  #take(bytes: Uint8Array): void {
    if (bytes.BYTES_PER_ELEMENT !== 1) {
      this.#fail(new SpeechError('invalid-options', 'The audio source must emit Uint8Array.'))
      return
    }
    const link = this.#link
    if (this.#state.name === 'streaming' && link?.congested === false && this.#queue.passes(bytes)) {
      this.#queue.passed(bytes.length)
      link.send(this.#plan.dialogue.audio(bytes))
      if (link.congested) this.#awaitRoom(link)
      return
    }
    const gap = this.#queue.push(bytes)
    if (gap !== undefined) this.#tell([gap])
    this.#drain()
  }

  /** Sends what waits while the link has room; then, what comes next: more from a pulled source, or the end. */
  #drain(): void {
    const link = this.#link
    if (this.#state.name !== 'streaming' || link === undefined) return
    while (!link.congested) {
      const piece = this.#queue.shift()
      if (piece === undefined) {
        if (this.#state.audioOver) this.#dispatch({ type: 'drained' })
        else this.#feed.resume()
        break
      }
      link.send(this.#plan.dialogue.audio(piece))
    }
    if (link.congested) this.#awaitRoom(link)
  }

  #awaitRoom(link: Link<In, Out>): void {
    if (this.#waiting !== undefined) return
    const waiting = new Subscription()
    this.#waiting = waiting
    waiting.add(
      link.room.subscribe(() => {
        this.#waiting = undefined
        this.#drain()
      }),
    )
  }

  #audioOver(): void {
    this.#tell(this.#queue.end())
    this.#dispatch({ type: 'audio-over', drained: this.#queue.isEmpty })
  }

  #tell(gaps: readonly Gap[]): void {
    for (const gap of gaps) this.#emit({ type: 'connection', state: 'gap', ...gap })
  }

  #emit(event: SessionEvent): void {
    this.#subscriber.next(event)
  }
}
