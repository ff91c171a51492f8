import type { Direction, Fault } from './fault-script.js'

/** The shape of the traffic in one direction. */
export interface TrafficShape {
  readonly delayMs: number
  readonly jitterMs: number
  /** `Infinity` for no limit. */
  readonly bytesPerSecond: number
  /** `Infinity` for no slicing. */
  readonly sliceBytes: number
  /** 0 for no coalescing. */
  readonly coalesceMs: number
}

export type TrafficShapes = Readonly<Record<Direction, TrafficShape>>

const unshaped: TrafficShape = {
  delayMs: 0,
  jitterMs: 0,
  bytesPerSecond: Infinity,
  sliceBytes: Infinity,
  coalesceMs: 0,
}

export const unshapedTraffic: TrafficShapes = { 'to-service': unshaped, 'to-client': unshaped }

const shapeChange = (fault: Fault): Partial<TrafficShape> | undefined => {
  switch (fault.do) {
    case 'delay':
      return { delayMs: fault.delayMs, jitterMs: fault.jitterMs ?? 0 }
    case 'bandwidth':
      return { bytesPerSecond: fault.bytesPerSecond }
    case 'slice':
      return { sliceBytes: fault.bytes }
    case 'coalesce':
      return { coalesceMs: fault.everyMs }
    default:
      return undefined
  }
}

/** The shapes after a fault; the same object if the fault does not shape traffic. */
export const shapesAfter = (shapes: TrafficShapes, fault: Fault): TrafficShapes => {
  if (fault.do === 'restore') return unshapedTraffic
  const change = shapeChange(fault)
  if (change === undefined) return shapes
  const only = 'direction' in fault ? fault.direction : undefined
  const shapeOf = (direction: Direction): TrafficShape =>
    only === undefined || only === direction ? { ...shapes[direction], ...change } : shapes[direction]
  return { 'to-service': shapeOf('to-service'), 'to-client': shapeOf('to-client') }
}

/** Computes when data arrives: in order, after the data before it, plus delay and jitter. */
export class ArrivalClock {
  readonly #random: () => number
  #lineFreeMs = 0
  #lastDueMs = 0

  constructor(random: () => number) {
    this.#random = random
  }

  dueMs({ delayMs, jitterMs, bytesPerSecond, coalesceMs }: TrafficShape, nowMs: number, bytes: number): number {
    this.#lineFreeMs = Math.max(this.#lineFreeMs, nowMs) + (bytes * 1_000) / bytesPerSecond
    const arrivesMs = this.#lineFreeMs + delayMs + (jitterMs === 0 ? 0 : jitterMs * this.#random())
    const tickMs = coalesceMs === 0 ? arrivesMs : Math.ceil(arrivesMs / coalesceMs) * coalesceMs
    this.#lastDueMs = Math.max(this.#lastDueMs, tickMs)
    return this.#lastDueMs
  }
}

/** Random numbers from 0 to 1 that depend only on the seed (xorshift with 32 bits). */
export const seededRandom = (seed: number): (() => number) => {
  let state = (Math.imul(seed | 0, 0x9e37_79b1) ^ 0x6d2b_79f5) | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 0x1_0000_0000
  }
}

/** A copy with every bit of some bytes inverted. */
export const corruptBytes = (bytes: Uint8Array, from: number, count: number): Uint8Array => {
  const copy = Uint8Array.from(bytes)
  for (let at = from; at < Math.min(from + count, copy.length); at += 1) copy[at] = (copy[at] ?? 0) ^ 0xff
  return copy
}

/** A copy of a message with its middle character or byte corrupted: of a text, of bytes, or of fields with either. */
export const corruptMessage = <Message>(message: Message): Message => corruptContent(message) as Message

const corruptContent = (message: unknown): unknown => {
  if (typeof message === 'string') {
    const middle = Math.floor(message.length / 2)
    return `${message.slice(0, middle)}\u0000${message.slice(middle + 1)}`
  }
  if (message instanceof Uint8Array) return corruptBytes(message, Math.floor(message.length / 2), 1)
  if (typeof message !== 'object' || message === null) return message
  const fields = Object.entries(message).map(([name, value]: [string, unknown]) => {
    const isContent = typeof value === 'string' || value instanceof Uint8Array
    return [name, isContent && value.length > 0 ? corruptContent(value) : value]
  })
  return Object.fromEntries(fields) as unknown
}
