import { createServer, isIP, type AddressInfo, type Server, type Socket } from 'node:net'
import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { FaultDirector, type DoneFault } from './fault-director.js'
import { checkFault, checkScript, type Fault, type FaultScript } from './fault-script.js'
import { ProxyConnection } from './proxy-connection.js'
import { seededRandom } from './seeded-random.js'
import { clearShapes, shaped } from './traffic-shape.js'

export interface FaultProxyOptions {
  /** Where connections lead: `host:port`, or a port of this machine. */
  readonly target: string | number
  readonly script?: FaultScript
  /** Of the jitter. Default 1. */
  readonly seed?: number
  /** The clock; `asyncScheduler` unless given. */
  readonly scheduler?: SchedulerLike
}

/** A proxy that listens at a port of 127.0.0.1. */
export interface FaultProxy {
  readonly port: number
  /** `127.0.0.1:port`. */
  readonly address: string
  /** Does a fault now. Throws `invalid-options`. */
  act(fault: Fault): void
  /** Breaks every connection off. */
  reset(): void
  /** Breaks every connection off and lets nobody in for so long. */
  outage(forMs: number): void
  /** Swallows everything from now on, while the connections that are open stay so. */
  halfOpen(): void
  /** Ends an outage, stalls and shaping. */
  restore(): void
  /** Lets the steps of the script happen that wait for this name. */
  tell(name: string): void
  /** What was done so far. */
  readonly done: readonly DoneFault[]
  /** How many connections came, those too that were refused; one that the system refuses does not come. */
  readonly connections: number
  /** How many are open now. */
  readonly open: number
  /** Breaks off what is open and listens no more. Idempotent. */
  close(): Promise<void>
}

/**
 * A TCP proxy of this machine that does faults on bytes: it stands between a client and a service over WebSocket, gRPC,
 * HTTP and TLS alike. A connection holds at most 256 KiB each way; then the sender has to wait. Rejects with
 * `invalid-options`, or `listen-failed`.
 */
export const faultProxy = async (options: FaultProxyOptions): Promise<FaultProxy> => {
  const { script = [], seed = 1, scheduler = asyncScheduler } = options
  const proxy = new LoopbackProxy(targetOf(options.target), checkScript(script, 'proxy'), seed, scheduler)
  await proxy.listen()
  return proxy
}

type Target = ReturnType<typeof targetOf>

const targetOf = (target: string | number): { readonly host: string; readonly port: number } => {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s/@[\]]+)):(\d{1,5})$/.exec(String(target)) ?? []
  const found =
    typeof target === 'number'
      ? { host: '127.0.0.1', port: target }
      : { host: bracketed ?? plain ?? '', port: Number(port) }
  const isHost = found.host !== '' && (bracketed === undefined || isIP(bracketed) === 6)
  if (isHost && Number.isInteger(found.port) && found.port > 0 && found.port < 65_536) return found
  throw new SpeechError('invalid-options', 'target must be HOST:PORT, or a port of this machine.')
}

/** How long it is tried to get the port back after an outage in which it was given up. */
const relistenMs = 20

class LoopbackProxy implements FaultProxy {
  readonly #connections = new Set<ProxyConnection>()
  readonly #director: FaultDirector
  readonly #random: () => number
  #server: Server | undefined
  #port = 0
  #shapes = clearShapes
  #shut: 'no' | 'reset' | 'refuse' = 'no'
  #toRefuse = 0
  #outages = 0
  #closing: Promise<void> | undefined

  constructor(
    private readonly target: Target,
    script: FaultScript,
    seed: number,
    private readonly scheduler: SchedulerLike,
  ) {
    this.#random = seededRandom(seed)
    this.#director = new FaultDirector(script, scheduler, (fault) => this.#perform(fault))
  }

  get port(): number {
    return this.#port
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`
  }

  get done(): readonly DoneFault[] {
    return this.#director.done
  }

  get connections(): number {
    return this.#director.connections
  }

  get open(): number {
    return this.#connections.size
  }

  act(fault: Fault): void {
    this.#director.act(checkFault(fault, 'proxy'))
  }

  reset(): void {
    this.act({ do: 'reset' })
  }

  outage(forMs: number): void {
    this.act({ do: 'outage', forMs })
  }

  halfOpen(): void {
    this.act({ do: 'half-open' })
  }

  restore(): void {
    this.act({ do: 'restore' })
  }

  tell(name: string): void {
    this.#director.tell(name)
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#director.close()
      for (const connection of [...this.#connections]) connection.reset()
      await this.#stopListening()
    })()
    return this.#closing
  }

  async listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket))
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) =>
        reject(new SpeechError('listen-failed', 'The fault proxy found no port on 127.0.0.1.', { cause })),
      )
      server.listen({ port: this.#port, host: '127.0.0.1' }, resolve)
    })
    // A connection that could not be accepted is no reason to end.
    server.on('error', () => undefined)
    this.#server = server
    this.#port = (server.address() as AddressInfo).port
  }

  async #stopListening(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()))
  }

  #accept(socket: Socket): void {
    const number = this.#director.connecting()
    if (this.#shut !== 'no' || this.#toRefuse > 0 || this.#closing !== undefined) {
      this.#toRefuse = Math.max(0, this.#toRefuse - 1)
      socket.on('error', () => undefined)
      socket.resetAndDestroy()
      return
    }
    const connection: ProxyConnection = new ProxyConnection(socket, {
      target: this.target,
      shapes: () => this.#shapes,
      scheduler: this.scheduler,
      random: this.#random,
      allowance: (direction) => this.#director.bytesBefore(direction, number),
      passed: (direction, bytes) => this.#director.passed(direction, number, { bytes }),
      closed: () => this.#connections.delete(connection),
    })
    this.#connections.add(connection)
  }

  #perform(fault: Fault): void {
    this.#shapes = shaped(this.#shapes, fault)
    if (fault.do === 'refuse') this.#toRefuse = fault.connections
    if (fault.do === 'outage') this.#beginOutage(fault.by ?? 'reset', fault.forMs)
    if (fault.do === 'restore') this.#endOutage()
    for (const connection of [...this.#connections]) connection.suffer(fault)
    if (!('forMs' in fault) || fault.forMs === undefined || fault.do === 'outage') return
    this.#director.later(() => this.#pass(fault), fault.forMs)
  }

  /** What lasts for a time is over; a half-open connection is found out by the system then, and reset. */
  #pass(fault: Fault): void {
    for (const connection of [...this.#connections]) {
      if (fault.do === 'half-open') connection.reset()
      if (fault.do === 'stall') connection.goOn(fault.direction)
    }
  }

  #beginOutage(by: 'reset' | 'refuse', forMs: number | undefined): void {
    this.#shut = by
    this.#outages += 1
    const outage = this.#outages
    if (by === 'refuse') void this.#stopListening()
    if (forMs === undefined) return
    this.#director.later(() => {
      // Another one may have begun meanwhile.
      if (outage === this.#outages) this.#endOutage()
    }, forMs)
  }

  #endOutage(): void {
    this.#toRefuse = 0
    if (this.#shut === 'no') return
    this.#shut = 'no'
    if (this.#server === undefined) this.#listenAgain()
  }

  /** Somebody else may hold the port for a moment. */
  #listenAgain(): void {
    this.listen().then(
      () => {
        if (this.#closing !== undefined || this.#shut === 'refuse') void this.#stopListening()
      },
      () => {
        if (this.#closing === undefined && this.#shut === 'no')
          this.#director.later(() => this.#listenAgain(), relistenMs)
      },
    )
  }
}
