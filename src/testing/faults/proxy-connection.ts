import { connect, type Socket } from 'node:net'
import type { SchedulerLike } from 'rxjs'
import type { Direction, Fault } from './fault-script.js'
import { ProxyLane } from './proxy-lane.js'
import type { Shapes } from './traffic-shape.js'

export interface ProxyConnectionOptions {
  readonly target: { readonly host: string; readonly port: number }
  readonly shapes: () => Shapes
  readonly scheduler: SchedulerLike
  readonly random: () => number
  readonly allowance: (direction: Direction) => number
  readonly passed: (direction: Direction, bytes: number) => void
  readonly closed: () => void
}

/** Node never closes the handle of a socket that is reset after it was ended. */
const reset = (socket: Socket): void => {
  if (socket.writableEnded || socket.connecting) socket.destroy()
  else socket.resetAndDestroy()
}

/** A client's connection and the one to the service that goes with it. */
export class ProxyConnection {
  readonly #near: Socket
  readonly #far: Socket
  readonly #lanes: Readonly<Record<Direction, ProxyLane>>
  readonly #closed: () => void
  #openSockets = 2

  constructor(near: Socket, options: ProxyConnectionOptions) {
    const { target, shapes, scheduler, random, allowance, passed, closed } = options
    this.#near = near
    this.#far = connect({ ...target, allowHalfOpen: true, noDelay: true })
    this.#closed = closed
    const lane = (from: Socket, to: Socket, direction: Direction): ProxyLane =>
      new ProxyLane(from, to, {
        shape: () => shapes()[direction],
        scheduler,
        random,
        allowance: () => allowance(direction),
        passed: (bytes) => passed(direction, bytes),
      })
    this.#lanes = {
      'to-service': lane(this.#near, this.#far, 'to-service'),
      'to-client': lane(this.#far, this.#near, 'to-client'),
    }
    this.#watch(this.#near, this.#far, 'to-service')
    this.#watch(this.#far, this.#near, 'to-client')
  }

  /** Does what concerns one connection; the rest is not for it. */
  suffer(fault: Fault): void {
    switch (fault.do) {
      case 'reset':
      case 'outage':
        return this.reset()
      case 'end':
        this.#near.end()
        this.#far.end()
        return
      case 'half-open':
        this.#lanes['to-client'].swallow()
        return this.#lanes['to-service'].swallow()
      case 'black-hole':
        return this.#lanes[fault.direction].swallow()
      case 'stall':
        return this.#lanes[fault.direction].stall()
      case 'restore':
        this.goOn('to-client')
        return this.goOn('to-service')
      case 'corrupt':
        return this.#lanes[fault.direction].corruptNext(fault.bytes ?? 1)
      default:
    }
  }

  goOn(direction: Direction): void {
    this.#lanes[direction].goOn()
  }

  reset(): void {
    this.#lanes['to-client'].close()
    this.#lanes['to-service'].close()
    reset(this.#near)
    reset(this.#far)
  }

  /** Where one side breaks off or is done, the other learns of it, unless that is swallowed. */
  #watch(socket: Socket, other: Socket, direction: Direction): void {
    let failed = false
    socket.on('error', () => {
      failed = true
    })
    socket.on('close', () => {
      this.#openSockets -= 1
      if (this.#openSockets === 0) {
        this.#lanes['to-client'].close()
        this.#lanes['to-service'].close()
        this.#closed()
      } else if (!this.#lanes[direction].isSwallowing) {
        if (failed) reset(other)
        // What is on its way still arrives; who has gone cannot be written to.
        else if (other.readableEnded) other.destroySoon()
      }
    })
  }
}
