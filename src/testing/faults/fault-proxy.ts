import { createServer, isIP, type Server, type Socket } from 'node:net'
import { asyncScheduler, type SchedulerLike } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import {
  anything,
  checkOptions,
  nonEmptyText,
  number,
  optionsOf,
  schedulerValue,
  wholeNumber,
} from '../../protocol/validation.js'
import { hostPort, listenOnPort, type ListenAddress } from '../../transport/listen-address.js'
import type { AppliedFault } from './fault-director.js'
import { FaultInjector } from './fault-injector.js'
import { checkScript, type Fault, type FaultScript } from './fault-script.js'
import { ProxyConnection } from './proxy-connection.js'

/** Where the proxy connects to, and its faults. */
export interface FaultProxyOptions {
  /** The target of the connections: `host:port`, or a port of this machine. */
  readonly target: string | number
  /** The faults with their moments. @default [] */
  readonly script?: FaultScript | undefined
  /** Where it listens. @default a free port of 127.0.0.1 */
  readonly listen?: ListenAddress | undefined
  /** The seed of the jitter. @default 1 */
  readonly seed?: number | undefined
  /** The clock of the script. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** A proxy on a port of this machine. */
export interface FaultProxy {
  /** The port. */
  readonly port: number
  /** `host:port`, by default of 127.0.0.1. */
  readonly address: string
  /** Applies a fault now. Throws `invalid-options`. */
  apply(fault: Fault): void
  /** Resets every connection. */
  reset(): void
  /** Resets every connection and refuses new ones for `forMs`. */
  outage(forMs: number): void
  /** Discards everything from now on, while the connections stay open. */
  halfOpen(): void
  /** Ends an outage, stalls and shaping. */
  restore(): void
  /** Applies the steps of the script that wait for this signal. */
  signal(name: string): void
  /** The faults that were applied so far. */
  readonly applied: readonly AppliedFault[]
  /** How many connections were accepted or refused by the proxy; those that the system refuses are not counted. */
  readonly connections: number
  /** How many connections are open. */
  readonly open: number
  /** Resets every connection and stops listening. Idempotent. */
  close(): Promise<void>
}

/**
 * Starts a TCP proxy on this machine that applies faults to bytes, between a client and a service over WebSocket, gRPC,
 * HTTP or TLS. A connection holds at most 256 KiB in each direction; then the sender has to wait. Rejects with
 * `invalid-options` or `listen-failed`.
 *
 * @example
 * const proxy = await faultProxy({ target: 'localhost:8443', script: faultMarbles('2s o 1500ms |') })
 */
export const faultProxy = async (options: FaultProxyOptions): Promise<FaultProxy> => {
  checkOptions(faultProxyOptions, options)
  const { script = [], seed = 1, scheduler = asyncScheduler, listen = { host: '127.0.0.1', port: 0 } } = options
  const proxy = new TcpProxy(targetOf(options.target), checkScript(script, 'proxy'), listen, seed, scheduler)
  await proxy.listen()
  return proxy
}

const listenAddress = optionsOf<ListenAddress>()({ host: nonEmptyText, port: wholeNumber({ min: 0, max: 65_535 }) }, {})

const faultProxyOptions = optionsOf<FaultProxyOptions>()(
  { target: anything },
  { script: anything, listen: listenAddress, seed: number(), scheduler: schedulerValue },
)

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

/** The delay between attempts to listen on the same port again after an outage. */
const relistenMs = 20

class TcpProxy extends FaultInjector<ProxyConnection> implements FaultProxy {
  readonly #target: Target
  #server: Server | undefined
  #address: ListenAddress
  #outage: 'none' | 'reset' | 'refuse' = 'none'
  #toRefuse = 0
  #closing: Promise<void> | undefined

  constructor(target: Target, script: FaultScript, address: ListenAddress, seed: number, scheduler: SchedulerLike) {
    super(script, 'proxy', seed, scheduler)
    this.#target = target
    this.#address = address
  }

  get port(): number {
    return this.#address.port
  }

  get address(): string {
    return hostPort(this.#address, this.port)
  }

  get open(): number {
    return this.targets.size
  }

  reset(): void {
    this.apply({ do: 'reset' })
  }

  outage(forMs: number): void {
    this.apply({ do: 'outage', forMs })
  }

  halfOpen(): void {
    this.apply({ do: 'half-open' })
  }

  restore(): void {
    this.apply({ do: 'restore' })
  }

  close(): Promise<void> {
    this.#closing ??= (async () => {
      this.director.close()
      for (const connection of [...this.targets]) connection.reset()
      await this.#stopListening()
    })()
    return this.#closing
  }

  async listen(): Promise<void> {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket))
    const port = await listenOnPort(server, this.#address)
    // A connection that cannot be accepted does not end the proxy.
    server.on('error', () => undefined)
    this.#server = server
    this.#address = { ...this.#address, port }
  }

  async #stopListening(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()))
  }

  #accept(socket: Socket): void {
    const number = this.director.connecting()
    if (this.#outage !== 'none' || this.#toRefuse > 0 || this.#closing !== undefined) {
      this.#toRefuse = Math.max(0, this.#toRefuse - 1)
      socket.on('error', () => undefined)
      socket.resetAndDestroy()
      return
    }
    const connection: ProxyConnection = new ProxyConnection(socket, {
      target: this.#target,
      shapes: () => this.shapes,
      scheduler: this.scheduler,
      random: this.random,
      allowance: (direction) => this.director.bytesBefore(direction, number),
      passed: (direction, bytes) => this.director.passed(direction, number, { bytes }),
      closed: () => this.targets.delete(connection),
    })
    this.targets.add(connection)
  }

  protected steerAccess(fault: Fault): void {
    if (fault.do === 'refuse') this.#toRefuse = fault.connections
    else if (fault.do === 'restore') this.endOutage()
    else if (fault.do === 'outage') {
      this.#outage = fault.by ?? 'reset'
      if (this.#outage === 'refuse') void this.#stopListening()
    }
  }

  protected endOutage(): void {
    this.#toRefuse = 0
    if (this.#outage === 'none') return
    this.#outage = 'none'
    if (this.#server === undefined) this.#listenAgain()
  }

  /** Retries while another process uses the port. */
  #listenAgain(): void {
    this.listen().then(
      () => {
        if (this.#closing !== undefined || this.#outage === 'refuse') void this.#stopListening()
      },
      () => {
        if (this.#closing === undefined && this.#outage === 'none')
          this.director.schedule(() => this.#listenAgain(), relistenMs)
      },
    )
  }
}
