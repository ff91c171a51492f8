import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { SchedulerLike } from 'rxjs'
import type { SocketMessage } from 'rxspeech/internal/transport/link'
import { AudioTrack, type ReceivedAudio } from './received-audio.js'

/** The dialect of sessions on the recognition socket of rxspeech. */
export const ownDialect = 'rxspeech'

/** A socket or a request with audio that a client has opened, also one that was refused. */
export interface StandInSession {
  /** From 1, in the order of their arrival. */
  readonly number: number
  /** The dialect, such as `deepgram-listen`. */
  readonly dialect: string
  /** Whether it is a WebSocket or a request with a recording. */
  readonly kind: 'socket' | 'request'
  /** The path with its query, as the client sent it. */
  readonly path: string
  /** Whether it was admitted and could begin. */
  readonly isAccepted: boolean
  /** Whether it goes on. */
  readonly isOpen: boolean
  /** The audio that arrived; of a recording with two channels the first one. */
  readonly audio: ReceivedAudio
  /** The audio of each conversation, such as of each channel. */
  readonly conversations: readonly ReceivedAudio[]
  /** Messages of the client's socket, in each direction. */
  readonly messages: Readonly<Record<'received' | 'sent', number>>
  /** Resolves when it is closed. */
  readonly ended: Promise<void>
}

/** Receives the messages of a client's socket. */
export interface WireObserver {
  message(direction: 'received' | 'sent', message: SocketMessage): void
  end(): void
}

/** One session, as the stand-in keeps it. */
export class ClientSession implements StandInSession {
  readonly number: number
  readonly dialect: string
  readonly kind: 'socket' | 'request'
  readonly path: string
  readonly ended: Promise<void>
  readonly #tracks: AudioTrack[] = []
  readonly #counts = { received: 0, sent: 0 }
  readonly #scheduler: SchedulerLike
  readonly #startMs: number
  readonly #connection: Duplex
  #resolveEnded: () => void = () => undefined
  #send: ((message: SocketMessage) => void) | undefined
  observer: WireObserver | undefined
  isAccepted = false
  isOpen = true

  constructor(
    place: { readonly number: number; readonly dialect: string; readonly kind: 'socket' | 'request' },
    request: IncomingMessage,
    scheduler: SchedulerLike,
  ) {
    this.number = place.number
    this.dialect = place.dialect
    this.kind = place.kind
    this.path = request.url ?? ''
    this.#connection = request.socket
    this.#scheduler = scheduler
    this.#startMs = scheduler.now()
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve))
  }

  get audio(): ReceivedAudio {
    return this.#tracks[0] ?? new AudioTrack()
  }

  get conversations(): readonly ReceivedAudio[] {
    return this.#tracks
  }

  get messages(): StandInSession['messages'] {
    return this.#counts
  }

  get elapsedMs(): number {
    return this.#scheduler.now() - this.#startMs
  }

  converse(): AudioTrack {
    const track = new AudioTrack()
    this.#tracks.push(track)
    return track
  }

  forget(): void {
    for (const track of this.#tracks) track.forget()
  }

  /** The socket is open; `send` sends a message to the client. */
  opened(send: (message: SocketMessage) => void): void {
    this.#send = send
  }

  passed(direction: 'received' | 'sent', message: SocketMessage): void {
    this.#counts[direction] += 1
    this.observer?.message(direction, message)
  }

  /** Sends a text that the dialect did not make. */
  inject(message: SocketMessage): void {
    this.#send?.(message)
  }

  /** Closes the socket with any code, also one that an implementation would not send. */
  closeSocket(code: number | undefined, reason = ''): void {
    if (this.#send === undefined) return
    const payload =
      code === undefined
        ? Buffer.alloc(0)
        : Buffer.concat([Buffer.of(code >> 8, code & 0xff), Buffer.from(reason).subarray(0, 123)])
    // A close frame of RFC 6455 section 5.5.1.
    this.#connection.write(Buffer.concat([Buffer.of(0x88, payload.length), payload]))
  }

  end(): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#send = undefined
    this.observer?.end()
    this.#resolveEnded()
  }
}

/** The facts of a session as JSON. */
export const sessionReport = (session: StandInSession) => ({
  number: session.number,
  dialect: session.dialect,
  kind: session.kind,
  path: session.path,
  isAccepted: session.isAccepted,
  isOpen: session.isOpen,
  messages: session.messages,
  conversations: session.conversations.map(({ sampleRateHz, samples, sha256, finalizes }) => ({
    sampleRateHz,
    samples,
    sha256,
    finalizes,
  })),
})
