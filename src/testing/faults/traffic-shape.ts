import type { Direction, Fault } from './fault-script.js'

/** How a direction is slowed down. */
export interface TrafficShape {
  readonly delayMs: number
  readonly jitterMs: number
  /** `Infinity` for as fast as it goes. */
  readonly bytesPerSecond: number
  /** `Infinity` for as it comes. */
  readonly sliceBytes: number
  /** 0 for at once. */
  readonly coalesceMs: number
}

export type Shapes = Readonly<Record<Direction, TrafficShape>>

const clear: TrafficShape = {
  delayMs: 0,
  jitterMs: 0,
  bytesPerSecond: Infinity,
  sliceBytes: Infinity,
  coalesceMs: 0,
}

export const clearShapes: Shapes = { 'to-service': clear, 'to-client': clear }

const changeOf = (fault: Fault): Partial<TrafficShape> | undefined => {
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

/** The shapes after a fault: the same object where it does not shape. */
export const shaped = (shapes: Shapes, fault: Fault): Shapes => {
  if (fault.do === 'restore') return clearShapes
  const change = changeOf(fault)
  if (change === undefined) return shapes
  const only = 'direction' in fault ? fault.direction : undefined
  const of = (direction: Direction): TrafficShape =>
    only === undefined || only === direction ? { ...shapes[direction], ...change } : shapes[direction]
  return { 'to-service': of('to-service'), 'to-client': of('to-client') }
}

/** When what comes now is due: in order, after the wire is free, a delay and some jitter later. */
export class Arrivals {
  #wireFreeMs = 0
  #lastDueMs = 0

  constructor(private readonly random: () => number) {}

  dueMs({ delayMs, jitterMs, bytesPerSecond, coalesceMs }: TrafficShape, nowMs: number, bytes: number): number {
    this.#wireFreeMs = Math.max(this.#wireFreeMs, nowMs) + (bytes * 1_000) / bytesPerSecond
    const arrivesMs = this.#wireFreeMs + delayMs + (jitterMs === 0 ? 0 : jitterMs * this.random())
    const tickMs = coalesceMs === 0 ? arrivesMs : Math.ceil(arrivesMs / coalesceMs) * coalesceMs
    this.#lastDueMs = Math.max(this.#lastDueMs, tickMs)
    return this.#lastDueMs
  }
}
