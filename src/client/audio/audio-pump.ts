import { Subscription, type ObservableInput, type Unsubscribable } from 'rxjs'
import { SpeechError, toSpeechError } from '../../errors/speech-error.js'
import type { Inputs } from '../../kernel/machine.js'
import { schedule } from '../../kernel/timers.js'
import type { Link } from '../../transport/link.js'
import type { WireProtocol } from '../protocol.js'
import type { SessionSettings } from '../settings.js'
import { InactivityMonitor } from './inactivity-monitor.js'
import { feedAudio, type AudioFeed, type AudioSink } from './audio-feed.js'
import { RateLimiter } from './rate-limiter.js'
import type { Gap, ReplayBuffer } from './replay-buffer.js'

/** Events of the audio for the session. Chunks are not events: they go from the source to the link by plain calls. */
export type AudioInput =
  | { readonly type: 'audio-over' | 'sound' | 'drained' | 'progress' }
  | { readonly type: 'gap'; readonly gap: Gap }
  | { readonly type: 'inactive'; readonly forMs: number }
  | { readonly type: 'failed'; readonly error: SpeechError }

/** Where audio is sent. */
interface AudioRoute<Out> {
  readonly link: Pick<Link<unknown, Out>, 'send' | 'isCongested' | 'drain$'>
  readonly protocol: Pick<WireProtocol<never, Out>, 'audio'>
}

/**
 * Moves audio from the source to the link. Audio is buffered until the link is open and while it is congested;
 * otherwise it is sent immediately.
 */
export class AudioPump<Out> implements AudioSink {
  readonly #buffer: ReplayBuffer
  readonly #source: ObservableInput<Uint8Array>
  readonly #settings: Pick<SessionSettings, 'scheduler' | 'bounds' | 'silenceMs'>
  #captured: Inputs<AudioInput> | undefined
  #feed: AudioFeed | undefined
  #sending: Inputs<AudioInput> | undefined
  #listening: Inputs<AudioInput> | undefined
  #route: AudioRoute<Out> | undefined
  #limiter: RateLimiter | undefined
  #monitor: InactivityMonitor | undefined
  #speed: 'full' | 'with bursts' | 'as spoken' = 'full'
  /** Waits for `drain$` of the link, or for the time of the next message. */
  #waiting: Unsubscribable | undefined

  constructor(
    buffer: ReplayBuffer,
    source: ObservableInput<Uint8Array>,
    settings: Pick<SessionSettings, 'scheduler' | 'bounds' | 'silenceMs'>,
  ) {
    this.#buffer = buffer
    this.#source = source
    this.#settings = settings
  }

  /** Connects the source, which is read from the first `pull` on. Returns a function that releases the source. */
  capture(inputs: Inputs<AudioInput>): () => void {
    this.#captured = inputs
    this.#feed = feedAudio(this.#source, this, this.#settings.scheduler)
    return () => this.#feed?.close()
  }

  /**
   * Pulls audio from the source while the link accepts it. A synchronous source runs within this call, possibly without
   * end, so inputs of the session must not be waiting.
   */
  pull(): void {
    this.#feed?.resume()
  }

  /** Sends audio on a route, beginning with the buffered audio, until the returned function is called. */
  send(route: AudioRoute<Out>, inputs: Inputs<AudioInput>): () => void {
    const { scheduler, bounds, silenceMs } = this.#settings
    this.#sending = inputs
    this.#route = route
    this.#limiter =
      this.#speed === 'full' ? undefined : new RateLimiter(bounds.format, scheduler, this.#speed === 'with bursts')
    this.#monitor = new InactivityMonitor(silenceMs, scheduler, inputs)
    this.#continue()
    return () => {
      this.#sending = undefined
      this.#route = undefined
      this.#waiting?.unsubscribe()
      this.#waiting = undefined
      this.#monitor?.stop()
      this.#monitor = undefined
    }
  }

  /** While no recognition runs: reports a sound, and keeps only the end of the silence. */
  listen(inputs: Inputs<AudioInput>): () => void {
    this.#listening = inputs
    return () => (this.#listening = undefined)
  }

  /** The service has sent something. */
  onActivity(): void {
    this.#monitor?.onActivity()
  }

  /**
   * Sends audio more slowly from the next connection on: `with bursts` after the service has refused it as too fast;
   * `as spoken` after it has ended a recognition without reporting how far it had read, which then only the clock can
   * show.
   */
  slow(speed: 'with bursts' | 'as spoken'): void {
    if (this.#speed !== 'as spoken') this.#speed = speed
  }

  // Sink of the source

  wanted(): boolean {
    if (this.#listening !== undefined) return true
    return this.#route?.link.isCongested === false && this.#waiting === undefined && this.#buffer.isSent
  }

  next(bytes: Uint8Array): void {
    // Checks a property, because `instanceof` fails between realms and JavaScript may emit anything.
    if ((bytes as Partial<Uint8Array> | null | undefined)?.BYTES_PER_ELEMENT !== 1) {
      const error = new SpeechError('invalid-options', 'The audio source must emit Uint8Array.')
      this.#captured?.post({ type: 'failed', error })
    } else if (this.#listening === undefined) {
      this.#take(bytes)
      this.#monitor?.onAudio()
    } else this.#hold(bytes, this.#listening)
  }

  complete(): void {
    // A source that ends releases itself, once it has returned.
    this.#feed = undefined
    this.#captured?.post({ type: 'audio-over' })
  }

  error(cause: unknown): void {
    this.#feed = undefined
    const error = toSpeechError(cause, 'source-failed', 'The audio source failed; see the cause.')
    this.#captured?.post({ type: 'failed', error })
  }

  #take(bytes: Uint8Array): void {
    const route = this.#route
    // The link accepts audio if nothing waits for `drain$`, because that is checked after every message.
    if (
      route !== undefined &&
      this.#waiting === undefined &&
      this.#limiter === undefined &&
      this.#buffer.passes(bytes)
    ) {
      this.#buffer.pass(bytes)
      route.link.send(route.protocol.audio(bytes))
      if (this.#route === route && route.link.isCongested) this.#awaitDrain(route)
      return
    }
    this.#buffer.push(bytes)
    this.#drain()
    this.#trim()
  }

  #hold(bytes: Uint8Array, listening: Inputs<AudioInput>): void {
    this.#buffer.push(bytes)
    const isSound = this.#buffer.listen()
    this.#trim()
    if (isSound) listening.post({ type: 'sound' })
  }

  #trim(): void {
    const gap = this.#buffer.trim()
    if (gap !== undefined) this.#captured?.post({ type: 'gap', gap })
  }

  /** Continues after a wait, or starts. */
  #continue(): void {
    const type = this.#drain()
    if (type !== undefined) this.#sending?.post({ type })
  }

  /** Sends buffered audio until the link is congested; reports `drained` when the buffer is empty. */
  #drain(): 'drained' | 'progress' | undefined {
    if (this.#waiting !== undefined) return undefined
    let result: 'progress' | undefined
    for (let route = this.#route; route !== undefined; route = this.#route) {
      const isSent = this.#buffer.isSent
      if (route.link.isCongested) {
        this.#awaitDrain(route)
        return isSent ? 'drained' : result
      }
      if (isSent) return 'drained'
      const waitMs = this.#limiter?.waitMs ?? 0
      if (waitMs > 0) {
        this.#awaitTurn(waitMs)
        return result
      }
      const piece = this.#buffer.shift()
      if (piece !== undefined) {
        this.#limiter?.sent(piece.length)
        route.link.send(route.protocol.audio(piece))
      }
      result = 'progress'
    }
    return result
  }

  #awaitTurn(waitMs: number): void {
    const onTurn = (): void => {
      this.#waiting = undefined
      this.#continue()
    }
    this.#waiting = schedule(this.#settings.scheduler, waitMs, onTurn, { ref: true })
  }

  #awaitDrain({ link }: AudioRoute<Out>): void {
    if (this.#waiting !== undefined) return
    // A separate Subscription: `drain$` may emit synchronously, and start a new wait before `subscribe` returns.
    const waiting = new Subscription()
    this.#waiting = waiting
    waiting.add(
      link.drain$.subscribe(() => {
        this.#waiting = undefined
        this.#continue()
      }),
    )
  }
}
