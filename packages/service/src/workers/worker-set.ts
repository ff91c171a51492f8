import { asyncScheduler, filter, firstValueFrom, Subject, type SchedulerLike, type Unsubscribable } from 'rxjs'
import type { Logger } from 'rxspeech-server/operations/logger'
import type { Readiness } from 'rxspeech-server/operations/readiness'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { backoffMs } from 'rxspeech/internal/kernel/backoff'
import { schedule } from 'rxspeech/internal/kernel/timers'
import type { ServerCertificate } from 'rxspeech/internal/transport/listen-address'
import type { PassedConnection, WorkerEnd, WorkerEvents, WorkerHost, WorkerReload } from './worker-host.js'

export interface WorkerSetOptions {
  readonly count: number
  readonly logger?: Logger | undefined
  /** @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** @param number of the worker, from 1 on; a worker that is started again has the same */
export type StartWorker = (number: number, events: WorkerEvents) => WorkerHost

export interface WorkerSetListener {
  /** The readiness or the number of workers that serve sessions has changed. */
  readonly changed: () => void
  /** The process of a worker has ended. */
  readonly ended: (worker: RunningWorker) => void
  /** A worker that ended by itself is started again. */
  readonly restarted: () => void
}

export interface RunningWorker {
  /** Counts all processes that were ever started, from 1 on. */
  readonly process: number
  readonly number: number
  readonly host: WorkerHost
  readonly startedAtMs: number
  isOpen: boolean
  readiness: Readiness
}

/** Delays of restarts: short for a single accident, long enough for a worker that cannot start. */
const restartDelays = { firstDelayMs: 100, maxDelayMs: 30_000 }
/** A worker that ran this long has started well, so that the next restart is quick again. */
const stableMs = 10_000
/** Connections that wait while no worker is open, such as while the only one is started again. */
const maxWaiting = 1_000

/**
 * Keeps a number of workers running: starts one that ended again, and gives each new connection to the worker with the
 * smallest load.
 */
export class WorkerSet {
  readonly #options: WorkerSetOptions
  readonly #scheduler: SchedulerLike
  readonly #workers = new Set<RunningWorker>()
  readonly #waiting: PassedConnection[] = []
  readonly #failures = new Map<number, number>()
  readonly #restarts = new Set<Unsubscribable>()
  readonly #ended$ = new Subject<RunningWorker>()
  #startWorker: StartWorker | undefined
  #listener: WorkerSetListener | undefined
  #processes = 0
  #hasStarted = false
  #isClosing = false

  constructor(options: WorkerSetOptions) {
    this.#options = options
    this.#scheduler = options.scheduler ?? asyncScheduler
  }

  /** Resolves when all workers serve. Ends all and rejects with the error of the first that does not start. */
  async start(startWorker: StartWorker, listener: WorkerSetListener): Promise<void> {
    this.#startWorker = startWorker
    this.#listener = listener
    const numbers = Array.from({ length: this.#options.count }, (_, index) => index + 1)
    try {
      await Promise.all(
        numbers.map((number) => new Promise<void>((resolve, reject) => this.#launch(number, resolve, reject))),
      )
    } catch (error) {
      await this.close()
      throw error
    }
    this.#hasStarted = true
  }

  /** Ready while at least one worker is: the others are started again, and take no connections until they are open. */
  get readiness(): Readiness {
    if (this.#isClosing) return { type: 'draining' }
    const states = [...this.#workers].map(({ readiness }) => readiness.type)
    if (states.includes('ready')) return { type: 'ready' }
    const areAllWithoutEngine =
      states.length === this.#options.count && states.every((type) => type === 'without-engine')
    return { type: areAllWithoutEngine ? 'without-engine' : 'starting' }
  }

  /** The workers that serve sessions. */
  get open(): readonly RunningWorker[] {
    return [...this.#workers].filter(({ isOpen }) => isOpen)
  }

  pass(connection: PassedConnection): void {
    const { open } = this
    const loads = open.map(({ host }) => host.load())
    const chosen = open[loads.indexOf(Math.min(...loads))]
    if (chosen !== undefined) {
      // Those with the same load take turns.
      this.#workers.delete(chosen)
      this.#workers.add(chosen)
      chosen.host.pass(connection)
    } else if (this.#isClosing || this.#waiting.length >= maxWaiting) discard(connection)
    else this.#waiting.push(connection)
  }

  /**
   * All workers prepare a reload, and each one uses it, or none. `decide` gets what they found and says whether it is
   * used. One that ends meanwhile reads the new files when it is started again. Rejects with `overloaded` while a
   * worker starts, and with the error of a worker that ends before it has answered.
   */
  async reload(decide: (found: readonly WorkerReload[]) => boolean): Promise<void> {
    const { open } = this
    if (open.length < this.#options.count) throw isStarting()
    let isUsed = false
    try {
      isUsed = decide(await Promise.all(open.map(({ host }) => host.prepareReload())))
    } finally {
      for (const { host } of open) host.reload(isUsed)
    }
  }

  setServing(isServing: boolean): void {
    for (const { host } of this.open) host.setServing(isServing)
  }

  /** Also for workers that start just now. */
  renewCertificate(certificate: ServerCertificate): void {
    for (const { host } of this.#workers) host.renewCertificate(certificate)
  }

  /** Drains all workers. Resolves when they have ended; one that has not within `withinMs` is killed. */
  async drain(drainMs: number, withinMs: number): Promise<void> {
    this.#isClosing = true
    for (const restart of this.#restarts) restart.unsubscribe()
    this.#listener?.changed()
    for (const { host, isOpen } of this.#workers) {
      if (isOpen) host.drain(drainMs)
      else host.kill()
    }
    const late = schedule(this.#scheduler, withinMs, () => void this.close(), { ref: true })
    await this.#allEnded()
    late.unsubscribe()
    await this.close()
  }

  /** Kills all workers, and closes the connections that wait for one. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const restart of this.#restarts) restart.unsubscribe()
    for (const { host } of this.#workers) host.kill()
    await this.#allEnded()
    for (const connection of this.#waiting.splice(0)) discard(connection)
  }

  async #allEnded(): Promise<void> {
    if (this.#workers.size > 0) await firstValueFrom(this.#ended$.pipe(filter(() => this.#workers.size === 0)))
  }

  /** @param onEnded called when the process ends before it serves sessions, while the service starts */
  #launch(number: number, onOpened?: () => void, onEnded?: (error: SpeechError) => void): void {
    if (this.#startWorker === undefined) return
    this.#processes += 1
    const host = this.#startWorker(number, {
      opened: () => {
        worker.isOpen = true
        this.#options.logger?.log('info', 'Worker started', { worker: number, pid: host.pid })
        this.#listener?.changed()
        for (const connection of this.#waiting.splice(0)) this.pass(connection)
        onOpened?.()
      },
      readinessChanged: (readiness) => {
        worker.readiness = readiness
        this.#listener?.changed()
      },
      ended: (end) => {
        this.#workers.delete(worker)
        this.#listener?.ended(worker)
        // The start fails with the error of a worker that could not start.
        if (!this.#isClosing && (this.#hasStarted || worker.isOpen)) this.#restart(worker, end)
        this.#listener?.changed()
        onEnded?.(end.refusal ?? endedTooEarly(end))
        this.#ended$.next(worker)
      },
    })
    const worker: RunningWorker = {
      process: this.#processes,
      number,
      host,
      startedAtMs: this.#scheduler.now(),
      isOpen: false,
      readiness: { type: 'starting' },
    }
    this.#workers.add(worker)
  }

  #restart({ number, host, startedAtMs }: RunningWorker, { how, refusal }: WorkerEnd): void {
    const wasStable = this.#scheduler.now() - startedAtMs >= stableMs
    const failures = wasStable ? 1 : (this.#failures.get(number) ?? 0) + 1
    this.#failures.set(number, failures)
    const afterMs = backoffMs(restartDelays, failures, () => 1)
    const why = { reason: refusal?.message, how, afterMs }
    this.#options.logger?.log('error', 'Worker ended', {
      worker: number,
      pid: host.pid,
      ...why,
    })
    const restart = schedule(
      this.#scheduler,
      afterMs,
      () => {
        this.#restarts.delete(restart)
        this.#listener?.restarted()
        this.#launch(number)
      },
      { ref: true },
    )
    this.#restarts.add(restart)
  }
}

const endedTooEarly = ({ how }: WorkerEnd): SpeechError =>
  new SpeechError('internal', `A worker process ended before it was ready (${how}); its error is on stderr.`)

const isStarting = (): SpeechError =>
  new SpeechError('overloaded', 'A worker process is just starting, so nothing was reloaded; try again.')

const discard = ({ socket, slot }: PassedConnection): void => {
  socket.destroy()
  slot?.release()
}
