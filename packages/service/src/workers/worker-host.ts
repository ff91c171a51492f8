import { fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { Subject, take, takeUntil } from 'rxjs'
import type { ConnectionGate } from 'rxspeech-server/listen/connection-gate'
import type { Logger } from 'rxspeech-server/operations/logger'
import type { ProcessMetric } from 'rxspeech-server/operations/merged-metrics'
import type { ProcessIdentity } from 'rxspeech-server/operations/process-identity'
import type { Readiness } from 'rxspeech-server/operations/readiness'
import type { SlowSession } from 'rxspeech-server/operations/slow-sessions'
import type { SessionContext } from 'rxspeech-server/sessions/session-context'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { ServerCertificate } from 'rxspeech/internal/transport/listen-address'
import { Channel, fromSentError, toSentError, type Handlers } from './channel.js'
import { HangWatch } from './hang-watch.js'
import { serviceProtocol, workerProtocol, type ListenerName } from './protocol.js'
import type { RelayedRequest, RelayedResponse } from './relayed-requests.js'

/** What a worker starts with. */
export interface WorkerStart {
  /** The options of the service that JSON can contain. */
  readonly options: Readonly<Record<string, unknown>>
  /** The CPUs that the engines of the worker may use, a fraction too. */
  readonly cpus: number
  /** Whether the worker is not ready until its first engine is loaded. */
  readonly warmsUp: boolean
  readonly hasMetrics: boolean
  /** That of the process of the service. */
  readonly identity: ProcessIdentity
}

/** What the process of the service does for its workers. */
export interface WorkerServices {
  readonly admit: SessionContext['admit']
  readonly gate: ConnectionGate
  readonly answerHttp: (request: RelayedRequest) => Promise<RelayedResponse>
  readonly logger?: Logger | undefined
  readonly onFault: (error: unknown) => void
  /** Receives the faults of workers, which are in their metrics and in the log already. */
  readonly onWorkerFault: (error: SpeechError) => void
}

/** How a process ended. */
export interface WorkerEnd {
  /** Such as `code 1` or `SIGKILL`. */
  readonly how: string
  /** Why it could not start, if it said so. */
  readonly refusal?: SpeechError | undefined
}

/** What happens to a worker; never called before `startWorkerHost` has returned. */
export interface WorkerEvents {
  /** It serves sessions. */
  readonly opened: () => void
  readonly readinessChanged: (readiness: Readiness) => void
  /** Its process has ended; the last event. */
  readonly ended: (end: WorkerEnd) => void
}

/** One worker process, and everything that counts for it, until it ends in any way. */
export interface WorkerHost {
  readonly pid: number | undefined
  /** Its connections and sessions: a gRPC connection with ten sessions counts eleven. Infinity if it seems to hang. */
  readonly load: () => number
  /** Passes a connection on, whose slot is released when it closes. Without a slot the worker asks for one. */
  readonly pass: (connection: PassedConnection) => void
  readonly setServing: (isServing: boolean) => void
  readonly metrics: () => Promise<readonly ProcessMetric[]>
  readonly slowSessions: () => Promise<readonly SlowSession[]>
  /** Rejects if the worker ends before it answers. */
  readonly prepareReload: () => Promise<WorkerReload>
  /** Whether what was prepared is used. */
  readonly reload: (isUsed: boolean) => void
  readonly renewCertificate: (certificate: ServerCertificate) => void
  readonly drain: (drainMs: number) => void
  readonly kill: () => void
}

/** What a worker found when it read models and projects again. */
export interface WorkerReload {
  readonly problems: readonly SpeechError[]
  readonly fingerprint: string
}

/** A connection that this process has accepted and not read from. */
export interface PassedConnection {
  readonly listener: ListenerName
  readonly socket: Socket
  readonly slot: ConnectionSlot | undefined
}

type ConnectionSlot = NonNullable<ReturnType<ConnectionGate['admit']>>

/** Starts a worker process of a file. `number` appears in the log. */
export const startWorkerHost = (
  { file, number, start }: { readonly file: string; readonly number: number; readonly start: WorkerStart },
  services: WorkerServices,
  events: WorkerEvents,
): WorkerHost => {
  const { logger, onFault } = services
  // Its standard output would mix with the line that the command prints.
  const child = fork(file, [], { execArgv: [], stdio: ['ignore', 2, 2, 'ipc'] })
  const protocols = { local: serviceProtocol, remote: workerProtocol }
  const channel = new Channel(
    protocols,
    (message, socket) => {
      // A process that has just ended takes no message, which is no fault: its end is handled.
      if (child.connected) child.send(message, socket, { keepOpen: true }, () => undefined)
    },
    onFault,
  )
  const held = new HeldByWorker(services)
  const ended$ = new Subject<undefined>()
  let refusal: SpeechError | undefined
  const watch = new HangWatch(
    () => channel.ask('alive', {}),
    (reason) => {
      logger?.log('error', 'Worker hangs', { worker: number, pid: child.pid, reason })
      child.kill('SIGKILL')
    },
  )

  const handlers: Handlers<typeof serviceProtocol> = {
    questions: {
      admit: async ({ id, token, tenant, origin }) => {
        const admission = await services.admit(token, tenant, origin)
        if (!held.add(id, admission.release)) return noRights
        admission.ended$.pipe(take(1), takeUntil(ended$)).subscribe((error) => {
          channel.tell('ended', { id, error: toSentError(error) })
        })
        const { rights, clientId, tokenId, isForPage, isAboveShare } = admission
        const { tenants, projects, models } = rights
        return { tenants, projects, models, clientId, tokenId, isForPage, isAboveShare }
      },
      countConnection: ({ id, address }) => Promise.resolve(held.count(id, address)),
      countClient: ({ id, address }) => {
        const slot = services.gate.admitClient(address)
        held.add(id, slot.release, 0)
        return Promise.resolve({ refusal: slot.refusal && toSentError(slot.refusal) })
      },
      countStream: ({ id, address }) => {
        const release = services.gate.takeUnstarted(address)
        if (release !== undefined) held.add(id, release, 0)
        return Promise.resolve({ isAccepted: release !== undefined })
      },
      http: (request) => services.answerHttp(request),
    },
    notices: {
      opened: () => {
        watch.opened()
        events.opened()
      },
      failed: ({ error }) => {
        refusal = fromSentError(error)
      },
      readiness: (readiness) => events.readinessChanged(readiness),
      taken: ({ id }) => held.taken(id),
      closed: ({ id }) => held.closed(id),
      released: ({ id }) => held.release(id),
      succeeded: ({ address }) => services.gate.succeeded(address),
      log: ({ level, message, fields }) => logger?.log(level, message, { worker: number, ...fields }),
      fault: ({ error }) => services.onWorkerFault(fromSentError(error)),
    },
  }
  channel.handle(handlers)
  child.on('message', (message) => channel.receive(message))
  const end = (how: string): void => {
    watch.stop()
    channel.close()
    held.releaseAll()
    ended$.next(undefined)
    events.ended({ how, refusal })
  }
  child.once('error', (error) => {
    if (child.pid === undefined) end(error.message)
  })
  child.once('exit', (code, signal) => end(signal ?? `code ${String(code)}`))
  channel.tell('start', start)

  return {
    pid: child.pid,
    load: () => (watch.isLate ? Infinity : held.load),
    pass: ({ listener, socket, slot }) => {
      const id = held.addConnection(socket, slot)
      const refused = slot?.refusal
      channel.tell(
        'connection',
        { id, listener, isCounted: slot !== undefined, refusal: refused && toSentError(refused) },
        socket,
      )
    },
    setServing: (isServing) => channel.tell('serving', { isServing }),
    metrics: () => channel.ask('metrics', {}),
    slowSessions: () => channel.ask('slowSessions', {}),
    prepareReload: async () => {
      const { problems, fingerprint } = await channel.ask('prepareReload', {})
      return { problems: problems.map(fromSentError), fingerprint }
    },
    reload: (isUsed) => channel.tell('reload', { isUsed }),
    renewCertificate: ({ certificate, key }) => channel.tell('certificate', { certificate, key }),
    drain: (drainMs) => channel.tell('drain', { drainMs }),
    kill: () => child.kill('SIGKILL'),
  }
}

/** The answer to a worker that has ended meanwhile. */
const noRights = { tenants: [], projects: [], models: [] }

/** The slots of one worker's connections, sessions, clients and streams. */
class HeldByWorker {
  readonly #gate: ConnectionGate
  readonly #connections = new Map<number, ConnectionSlot | undefined>()
  /**
   * Open in this process until the worker has them too. Node sends one at a time and leaves those that wait open for
   * ever when the worker ends.
   */
  readonly #untaken = new Map<number, Socket>()
  readonly #others = new Map<number, { readonly release: () => void; readonly load: number }>()
  #lastConnection = 0
  #sessions = 0
  #hasEnded = false

  constructor({ gate }: Pick<WorkerServices, 'gate'>) {
    this.#gate = gate
  }

  get load(): number {
    return this.#connections.size + this.#sessions
  }

  addConnection(socket: Socket, slot: ConnectionSlot | undefined): number {
    this.#lastConnection += 1
    this.#connections.set(this.#lastConnection, slot)
    this.#untaken.set(this.#lastConnection, socket)
    return this.#lastConnection
  }

  taken(id: number): void {
    this.#untaken.get(id)?.destroy()
    this.#untaken.delete(id)
  }

  /** Counts a connection that was passed on without a slot. */
  count(id: number, address: string | undefined): { readonly isAccepted: boolean; readonly refusal?: SentRefusal } {
    if (!this.#connections.has(id)) return { isAccepted: false }
    const slot = this.#gate.admit(address)
    this.#connections.set(id, slot)
    return { isAccepted: slot !== undefined, refusal: slot?.refusal && toSentError(slot.refusal) }
  }

  closed(id: number): void {
    this.taken(id)
    this.#connections.get(id)?.release()
    this.#connections.delete(id)
  }

  /** Returns false, and releases, when the worker has ended. */
  add(id: number, release: () => void, load = 1): boolean {
    if (this.#hasEnded) release()
    else {
      this.#others.set(id, { release, load })
      this.#sessions += load
    }
    return !this.#hasEnded
  }

  release(id: number): void {
    const other = this.#others.get(id)
    if (other === undefined) return
    this.#others.delete(id)
    this.#sessions -= other.load
    other.release()
  }

  releaseAll(): void {
    this.#hasEnded = true
    for (const id of [...this.#connections.keys()]) this.closed(id)
    for (const id of [...this.#others.keys()]) this.release(id)
  }
}

type SentRefusal = ReturnType<typeof toSentError> | undefined
