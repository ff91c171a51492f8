import { defer, Observable, Subscription, take, type ObservableInput, type Subscriber } from 'rxjs'
import { SpeechError, toSpeechError } from '../errors/speech-error.js'
import type { SessionEvent } from '../protocol/session-event.js'
import type { Dial, Link } from '../transport/link.js'
import { askToken, isFixedToken } from './ask-token.js'
import { feedAudio, isPulled, checkSource, type AudioFeed } from './audio-feed.js'
import { AudioOutlet } from './audio-outlet.js'
import type { Dialogue, Heard } from './dialogue.js'
import { isWait, step, type Command, type MachineInput, type MachineState, type Manners } from './session-machine.js'
import type { SessionSettings } from './session-options.js'

/** What one kind of session brings: how it connects, what it says there, and what the user asked for. */
export interface SessionPlan<In, Out> {
  readonly settings: SessionSettings
  readonly dial: (token: string) => Dial<In, Out>
  /** Called for every connection: a dialogue remembers what was asked on it. */
  readonly dialogue: () => Dialogue<In, Out>
  /** Fails the session from without, such as when the other half of a pair has failed. */
  readonly abort$?: Observable<SpeechError>
}

/**
 * Cold: each subscription is one session over one subscription of the source; unsubscribing aborts it at once.
 * Throws `invalid-options` for a source that is none.
 */
export const openSession = <In, Out>(
  plan: SessionPlan<In, Out>,
  source: ObservableInput<Uint8Array>,
): Observable<SessionEvent> => {
  checkSource(source)
  return new Observable((subscriber) => {
    const session = new Session(plan, source, subscriber)
    // Not returned: a consumer may unsubscribe while the session begins.
    subscriber.add(() => session.release())
    session.begin()
  })
}

/** What a connection says of itself: no news any more once it was left. */
const ofLink: ReadonlySet<MachineInput['type']> = new Set(['connected', 'link-ended', 'link-failed'])

/**
 * Runs one session: does what the machine commands and tells it what happens. Inputs that arrive while a command runs
 * (a handler that finalizes or stops from within `next`, a service in memory that answers at once) wait in line, so
 * that every step sees a whole state and events keep their order.
 */
class Session<In, Out> {
  readonly #plan: SessionPlan<In, Out>
  readonly #manners: Manners
  readonly #subscriber: Subscriber<SessionEvent>
  readonly #outlet: AudioOutlet<Out>
  readonly #feed: AudioFeed
  readonly #signals = new Subscription()
  readonly #inbox: (MachineInput | Heard)[] = []
  #state: MachineState = { name: 'idle', audioOver: false }
  #busy = false
  #feedWaits = false
  #token: string | undefined
  #dialogue: Dialogue<In, Out>
  /** One connection with all that hangs on it; another one after a token was refused. */
  #connection = new Subscription()
  #link: Link<In, Out> | undefined
  #deadline: Subscription | undefined

  constructor(plan: SessionPlan<In, Out>, source: ObservableInput<Uint8Array>, subscriber: Subscriber<SessionEvent>) {
    const { bounds, token } = plan.settings
    this.#plan = plan
    this.#subscriber = subscriber
    this.#dialogue = plan.dialogue()
    const { endsWith, finalizeBy } = this.#dialogue
    this.#manners = { endsWith, finalizeBy, renews: !isFixedToken(token) }
    this.#outlet = new AudioOutlet(isPulled(source) ? { ...bounds, maxBufferMs: Infinity } : bounds, {
      gap: (gap) => this.#emit({ type: 'connection', state: 'gap', ...gap }),
      progress: () => this.#dispatch({ type: 'progress' }),
      idle: () => this.#onIdle(),
    })
    this.#feed = feedAudio(source, {
      wanted: () => this.#state.name === 'streaming' && this.#outlet.hasRoom,
      chunk: (bytes) => this.#take(bytes),
      end: () => this.#endAudio(),
      fail: (error) => this.#fail(toSpeechError(error, 'source-failed', 'The audio source failed; see the cause.')),
    })
  }

  begin(): void {
    const { finalize$, stop$ } = this.#plan.settings
    // The signals first: what they say while the session begins counts.
    this.#signals.add(this.#plan.abort$?.subscribe((error) => this.#fail(error)))
    this.#obey('finalize$', finalize$, () => this.#endAudio())
    this.#obey('stop$', stop$, () => this.#dispatch({ type: 'stop' }))
    this.#dispatch({ type: 'begin' })
    if (!this.#subscriber.closed) this.#feed.resume()
  }

  /** Lets go of everything; what the service still says is not heard. */
  release(): void {
    this.#deadline?.unsubscribe()
    this.#outlet.close()
    this.#feed.close()
    this.#signals.unsubscribe()
    this.#connection.unsubscribe()
  }

  #obey(name: string, signal$: Observable<unknown> | undefined, act: () => void): void {
    const error = (cause: unknown): void =>
      this.#fail(toSpeechError(cause, 'source-failed', `${name} failed; see the cause.`))
    this.#signals.add(signal$?.pipe(take(1)).subscribe({ next: act, error }))
  }

  #fail(error: SpeechError): void {
    this.#dispatch({ type: 'failed', error })
  }

  #dispatch(input: MachineInput | Heard): void {
    this.#inbox.push(input)
    if (this.#busy) return
    this.#busy = true
    for (let one = this.#inbox.shift(); one !== undefined; one = this.#inbox.shift()) {
      if (this.#subscriber.closed) break
      if ('event' in one) this.#hear(one)
      else this.#step(one)
    }
    this.#busy = false
    if (!this.#feedWaits) return
    this.#feedWaits = false
    this.#feed.resume()
  }

  #hear({ event, meaning }: Heard): void {
    // Who stopped wants no more results; a service may still send what it had (service.md 4.2, stop-recognition).
    if (this.#state.name !== 'stopping' || event.type === 'response' || event.type === 'unknown') this.#emit(event)
    if (meaning !== undefined && !this.#subscriber.closed) this.#step({ type: 'heard', meaning })
  }

  #step(input: MachineInput): void {
    const { state, commands } = step(this.#state, input, this.#manners)
    const isNew = state.name !== this.#state.name
    this.#state = state
    if (isNew) this.#setDeadline()
    for (const command of commands) {
      if (this.#subscriber.closed) return
      this.#execute(command)
    }
  }

  #setDeadline(): void {
    const { name } = this.#state
    const { deadlines, scheduler } = this.#plan.settings
    this.#deadline?.unsubscribe()
    this.#deadline = isWait(name)
      ? scheduler.schedule(() => this.#dispatch({ type: 'deadline' }), deadlines[name])
      : undefined
  }

  #execute(command: Command): void {
    switch (command.do) {
      case 'announce':
        return this.#emit({ type: 'connection', state: command.state })
      case 'authorize':
        return this.#authorize(undefined)
      case 'renew':
        this.#hangUp()
        return this.#authorize(this.#token)
      case 'dial':
        return this.#dial(this.#token ?? '')
      case 'start':
        return this.#start()
      case 'stream':
        return this.#stream()
      case 'finalize':
        return this.#finalize()
      case 'stop':
        return this.#link?.send(this.#dialogue.stop())
      case 'extend':
        return this.#setDeadline()
      case 'drop':
        this.#feed.close()
        this.#outlet.drop(command.cause)
        return this.#outlet.close()
      case 'complete':
        return this.#subscriber.complete()
      case 'fail':
        return this.#subscriber.error(command.error)
    }
  }

  #authorize(refused: string | undefined): void {
    const { token, rejected$ } = this.#plan.settings
    this.#connection.add(
      askToken(token, refused, rejected$).subscribe({
        next: ({ accessToken, fresh }) => {
          this.#token = accessToken
          this.#dispatch({ type: 'authorized', fresh })
        },
        error: (error: unknown) =>
          this.#fail(toSpeechError(error, 'token-endpoint-failed', 'The token source failed; see the cause.')),
      }),
    )
  }

  #dial(token: string): void {
    this.#connection.add(
      defer(() => this.#plan.dial(token)).subscribe({
        next: (link) => {
          this.#link = link
          this.#dispatch({ type: 'connected' })
        },
        error: (error: unknown) =>
          this.#lose(toSpeechError(error, 'connection-failed', 'The connection failed; see the cause.')),
      }),
    )
  }

  /** Listens after it has spoken: what came before the start can only be understood with it. */
  #start(): void {
    const link = this.#link
    if (link === undefined) return
    link.send(this.#dialogue.start(this.#token ?? ''))
    this.#connection.add(
      link.incoming.subscribe({
        next: (message) => this.#dispatch(this.#dialogue.read(message)),
        complete: () => this.#dispatch({ type: 'link-ended' }),
        error: (error: unknown) =>
          this.#lose(toSpeechError(error, 'connection-lost', 'The connection broke; see the cause.')),
      }),
    )
  }

  #lose(error: SpeechError): void {
    this.#dispatch({ type: 'link-failed', error })
  }

  /** Leaves a connection on which a token was refused, for another one. */
  #hangUp(): void {
    this.#connection.unsubscribe()
    this.#connection = new Subscription()
    this.#link = undefined
    this.#dialogue = this.#plan.dialogue()
    const own = this.#inbox.filter((one) => !('event' in one) && !ofLink.has(one.type))
    this.#inbox.splice(0, Infinity, ...own)
  }

  #stream(): void {
    const link = this.#link
    if (link === undefined) return
    this.#connection.add(
      this.#dialogue.requests$?.subscribe({
        next: (request) => {
          if (this.#state.name === 'streaming' || this.#state.name === 'draining') link.send(request)
        },
        error: (error: unknown) =>
          this.#fail(toSpeechError(error, 'source-failed', 'The source of further requests failed; see the cause.')),
      }),
    )
    if (!this.#subscriber.closed) this.#outlet.open(link, this.#dialogue.audio)
  }

  #finalize(): void {
    this.#feed.close()
    this.#outlet.close()
    if (this.#manners.finalizeBy === 'half-close') this.#link?.finish()
    else this.#link?.send(this.#dialogue.finalize())
  }

  #take(bytes: Uint8Array): void {
    // By its property, for `instanceof` fails between realms; and JavaScript may send anything.
    if ((bytes as Partial<Uint8Array> | null | undefined)?.BYTES_PER_ELEMENT === 1) this.#outlet.take(bytes)
    else this.#fail(new SpeechError('invalid-options', 'The audio source must emit Uint8Array.'))
  }

  /** What comes next: more from a pulled source, or the end. */
  #onIdle(): void {
    if (this.#state.name === 'draining') this.#dispatch({ type: 'drained' })
    // Not within a command: a source that emits at once would hold back all inputs until it has ended.
    else if (this.#busy) this.#feedWaits = true
    else this.#feed.resume()
  }

  /** The source has ended, or `finalize$` says so. */
  #endAudio(): void {
    this.#feed.close()
    this.#outlet.end()
    this.#dispatch({ type: 'audio-over', drained: this.#outlet.isEmpty })
  }

  #emit(event: SessionEvent): void {
    this.#subscriber.next(event)
  }
}
