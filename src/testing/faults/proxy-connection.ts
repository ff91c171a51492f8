import { connect, type Socket } from 'node:net'
import type { SchedulerLike } from 'rxjs'
import type { FaultTarget } from './fault-injector.js'
import type { Direction, Fault } from './fault-script.js'
import { BytePipe } from './byte-pipe.js'
import type { TrafficShapes } from './traffic.js'

export interface ProxyConnectionOptions {
  readonly target: { readonly host: string; readonly port: number }
  readonly shapes: () => TrafficShapes
  readonly scheduler: SchedulerLike
  readonly random: () => number
  readonly allowance: (direction: Direction) => number
  readonly passed: (direction: Direction, bytes: number) => void
  readonly closed: () => void
}

/** Node does not close the handle of a socket that is reset after it was ended, so that one is destroyed. */
const reset = (socket: Socket): void => {
  if (socket.writableEnded || socket.connecting) socket.destroy()
  else socket.resetAndDestroy()
}

/** A connection of a client and its connection to the service. */
export class ProxyConnection implements FaultTarget {
  readonly #clientSocket: Socket
  readonly #serviceSocket: Socket
  readonly #pipes: Readonly<Record<Direction, BytePipe>>
  readonly #closed: () => void
  #openSockets = 2

  constructor(clientSocket: Socket, options: ProxyConnectionOptions) {
    const { target, shapes, scheduler, random, allowance, passed, closed } = options
    this.#clientSocket = clientSocket
    this.#serviceSocket = connect({ ...target, allowHalfOpen: true, noDelay: true })
    this.#closed = closed
    const pipe = (from: Socket, to: Socket, direction: Direction): BytePipe =>
      new BytePipe(from, to, {
        shape: () => shapes()[direction],
        scheduler,
        random,
        allowance: () => allowance(direction),
        passed: (bytes) => passed(direction, bytes),
      })
    this.#pipes = {
      'to-service': pipe(this.#clientSocket, this.#serviceSocket, 'to-service'),
      'to-client': pipe(this.#serviceSocket, this.#clientSocket, 'to-client'),
    }
    this.#watch(this.#clientSocket, this.#serviceSocket, 'to-service')
    this.#watch(this.#serviceSocket, this.#clientSocket, 'to-client')
  }

  apply(fault: Fault): void {
    switch (fault.do) {
      case 'reset':
      case 'outage':
        return this.reset()
      case 'end':
        this.#clientSocket.end()
        this.#serviceSocket.end()
        return
      case 'half-open':
        this.#pipes['to-client'].discard()
        return this.#pipes['to-service'].discard()
      case 'black-hole':
        return this.#pipes[fault.direction].discard()
      case 'stall':
        return this.#pipes[fault.direction].stall()
      case 'restore':
        this.resumeDirection('to-client')
        return this.resumeDirection('to-service')
      case 'corrupt':
        return this.#pipes[fault.direction].corruptNext(fault.bytes ?? 1)
      default:
    }
  }

  resumeDirection(direction: Direction): void {
    this.#pipes[direction].resume()
  }

  reset(): void {
    this.#pipes['to-client'].close()
    this.#pipes['to-service'].close()
    reset(this.#clientSocket)
    reset(this.#serviceSocket)
  }

  /** When one socket fails or closes, closes the other one, unless that direction is discarded. */
  #watch(socket: Socket, other: Socket, direction: Direction): void {
    let hasFailed = false
    socket.on('error', () => {
      hasFailed = true
    })
    socket.on('close', () => {
      this.#openSockets -= 1
      if (this.#openSockets === 0) {
        this.#pipes['to-client'].close()
        this.#pipes['to-service'].close()
        this.#closed()
      } else if (!this.#pipes[direction].isDiscarding) {
        if (hasFailed) reset(other)
        // Data on its way is still delivered.
        else if (other.readableEnded) other.destroySoon()
      }
    })
  }
}
