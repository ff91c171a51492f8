import type { Server, Socket } from 'node:net'
import { ReplaySubject } from 'rxjs'
import type { AcceptConnections } from 'rxspeech-server/listen/accept-connections'
import type { ConnectionCounter, ConnectionSlot } from 'rxspeech-server/listen/connection-gate'
import type { LogFields, Logger } from 'rxspeech-server/operations/logger'
import type { TokenRequests } from 'rxspeech-server/sessions/request-limit'
import type { SessionContext } from 'rxspeech-server/sessions/session-context'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { fromSentError, toSentError, type Channel, type SentError } from './channel.js'
import type { ListenerName, serviceProtocol, workerProtocol } from './protocol.js'

export type WorkerChannel = Channel<typeof workerProtocol, typeof serviceProtocol>

const noop = (): void => undefined

/** The connections that the process of the service passes to this worker. That process keeps their counts. */
export class PassedConnections {
  readonly #channel: WorkerChannel
  readonly #servers = new Map<ListenerName, Server>()
  readonly #slots = new WeakMap<Socket, ConnectionSlot>()
  readonly #uncounted = new WeakMap<Socket, number>()
  readonly #nextId: () => number

  constructor(channel: WorkerChannel, nextId: () => number) {
    this.#channel = channel
    this.#nextId = nextId
  }

  /** Passes the connections of a port to the server until it closes. */
  to =
    (listener: ListenerName): AcceptConnections =>
    (server, address) => {
      this.#servers.set(listener, server)
      server.once('close', () => this.#servers.delete(listener))
      // Node begins to check the deadlines of HTTP requests with this event.
      server.emit('listening')
      return Promise.resolve(address.port)
    }

  receive({ id, listener, isCounted, refusal }: ConnectionNotice, socket: Socket | undefined): void {
    const closed = (): void => this.#channel.tell('closed', { id })
    const server = this.#servers.get(listener)
    if (socket === undefined || server === undefined) {
      socket?.destroy()
      closed()
      return
    }
    this.#channel.tell('taken', { id })
    socket.once('close', closed)
    socket.on('error', noop)
    if (isCounted) this.#slots.set(socket, { refusal: refusal && fromSentError(refusal), release: noop })
    else this.#uncounted.set(socket, id)
    // As a server that listens itself creates its sockets.
    socket.allowHalfOpen = allowsHalfOpen(server)
    socket.setNoDelay(true)
    server.emit('connection', socket)
  }

  readonly gate: ConnectionCounter = {
    // The slot of a connection is released when the connection closes.
    admit: async (address, socket) => {
      const counted = this.#slots.get(socket)
      if (counted !== undefined) return counted
      const id = this.#uncounted.get(socket) ?? 0
      const { isAccepted, refusal } = await this.#channel.ask('countConnection', { id, address })
      return isAccepted ? { refusal: refusal && fromSentError(refusal), release: noop } : undefined
    },
    admitClient: async (address) => {
      const id = this.#nextId()
      const { refusal } = await this.#channel.ask('countClient', { id, address })
      return { refusal: refusal && fromSentError(refusal), release: this.#releaseOf(id) }
    },
    takeUnstarted: async (address) => {
      const id = this.#nextId()
      const { isAccepted } = await this.#channel.ask('countStream', { id, address })
      return isAccepted ? this.#releaseOf(id) : undefined
    },
    succeeded: (address) => this.#channel.tell('succeeded', { address }),
  }

  #releaseOf(id: number): () => void {
    let isHeld = true
    return () => {
      if (isHeld) this.#channel.tell('released', { id })
      isHeld = false
    }
  }
}

export interface ConnectionNotice {
  readonly id: number
  readonly listener: ListenerName
  readonly isCounted: boolean
  readonly refusal?: SentError | undefined
}

/** Node's servers have it, and their type does not. */
const allowsHalfOpen = (server: Server & { readonly allowHalfOpen?: boolean }): boolean => server.allowHalfOpen ?? false

/** The sessions of this worker, which the process of the service admits and counts. */
export class RemoteAdmission {
  readonly #channel: WorkerChannel
  readonly #nextId: () => number
  readonly #ends = new Map<number, ReplaySubject<SpeechError>>()
  /** Set before the first session. */
  requests: TokenRequests | undefined

  constructor(channel: WorkerChannel, nextId: () => number) {
    this.#channel = channel
    this.#nextId = nextId
  }

  readonly admit: SessionContext['admit'] = async (token, tenant, origin) => {
    const id = this.#nextId()
    const ended$ = new ReplaySubject<SpeechError>(1)
    // Known before the answer arrives, because the end can follow it at once.
    this.#ends.set(id, ended$)
    try {
      const answer = await this.#channel.ask('admit', { id, token, tenant, origin })
      const { clientId, tokenId, isForPage, isAboveShare, ...rights } = answer
      // The start itself was counted by the process of the service.
      const counted = tokenId === undefined ? undefined : this.requests?.hold(tokenId, clientId)
      return {
        rights,
        ...(clientId !== undefined && { clientId }),
        isForPage,
        isAboveShare,
        requests: counted?.bucket,
        ended$: ended$.asObservable(),
        release: () => {
          counted?.release()
          if (this.#ends.delete(id)) this.#channel.tell('released', { id })
        },
      }
    } catch (error) {
      this.#ends.delete(id)
      throw error
    }
  }

  ended({ id, error }: { readonly id: number; readonly error: SentError }): void {
    const ended$ = this.#ends.get(id)
    ended$?.next(fromSentError(error))
    ended$?.complete()
  }
}

/** Writes the lines of this worker to the log of the service. */
export const remoteLogger = (channel: WorkerChannel): Logger => ({
  log: (level, message, fields = {}) => {
    channel.tell('log', { level, message, fields: definedFields(fields) })
  },
})

const definedFields = (fields: LogFields): Readonly<Record<string, string | number | boolean>> =>
  Object.fromEntries(Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))

/** Reports faults to the `onFault` of the service. */
export const remoteFaults =
  (channel: WorkerChannel) =>
  (error: unknown): void => {
    channel.tell('fault', { error: toSentError(error) })
  }
