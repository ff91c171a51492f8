import { SpeechError } from '../../errors/speech-error.js'
import type { ErrorCode } from '../../errors/error-code.js'
import type { DataflowMessage, SocketMessage } from '../../transport/link.js'

/** The direction of traffic. */
export type Direction = 'to-service' | 'to-client'

/** A fault applies to the open connections; shaping (delay, bandwidth, slice, coalesce) also to later ones. */
export type Fault =
  /** Breaks the connection: RST, or a link that is lost. */
  | { readonly do: 'reset' }
  /** Ends the connection normally at any point: FIN both ways, or a link that completes. */
  | { readonly do: 'end' }
  /**
   * `reset`, and refuses new connections for `forMs`, or until `restore`. A proxy accepts and resets them, or with
   * `by: 'refuse'` stops listening, so that the system refuses them.
   */
  | { readonly do: 'outage'; readonly forMs?: number | undefined; readonly by?: 'reset' | 'refuse' | undefined }
  /** Refuses the next connections; on a link with this code, by default `connection-failed`. */
  | { readonly do: 'refuse'; readonly connections: number; readonly code?: ErrorCode | undefined }
  /** Discards everything in both directions, including the ends, while the connection stays open. Resets it after `forMs`. */
  | { readonly do: 'half-open'; readonly forMs?: number | undefined }
  /** The same in one direction, permanently. */
  | { readonly do: 'black-hole'; readonly direction: Direction }
  /** Stops reading in one direction, so that the sender has to wait, for `forMs` or until `restore`. */
  | { readonly do: 'stall'; readonly direction: Direction; readonly forMs?: number | undefined }
  /** Delays everything that follows by `delayMs` plus up to `jitterMs`, in order. */
  | {
      readonly do: 'delay'
      readonly delayMs: number
      readonly jitterMs?: number | undefined
      readonly direction?: Direction | undefined
    }
  | { readonly do: 'bandwidth'; readonly bytesPerSecond: number; readonly direction?: Direction | undefined }
  /** A proxy sends segments of at most this many bytes. */
  | { readonly do: 'slice'; readonly bytes: number; readonly direction?: Direction | undefined }
  /** A proxy collects data and sends it at this interval. */
  | { readonly do: 'coalesce'; readonly everyMs: number; readonly direction?: Direction | undefined }
  /** A proxy inverts the bits of the next bytes (1 by default); a link corrupts one byte or character in the middle of the next message. */
  | { readonly do: 'corrupt'; readonly direction: Direction; readonly bytes?: number | undefined }
  /** A link delivers the next message twice. */
  | { readonly do: 'duplicate'; readonly direction: Direction }
  /** A link delivers to the client a message that the service did not send. */
  | { readonly do: 'inject'; readonly message: SocketMessage | DataflowMessage }
  /** Ends outages, stalls and shaping. */
  | { readonly do: 'restore' }

/**
 * When a fault is applied. Counts are totals of all connections, or with `connection` of that one (from 1); the fault is
 * applied after exactly that count has passed. `elapsed` counts from the request of the first connection. `connection` is
 * immediately before that connection. `signal` waits for `signal(name)`.
 */
export type FaultMoment =
  | { readonly when: 'elapsed'; readonly ms: number }
  | { readonly when: 'connection'; readonly number: number }
  | {
      readonly when: 'bytes'
      readonly direction: Direction
      readonly count: number
      readonly connection?: number | undefined
    }
  | {
      readonly when: 'messages'
      readonly direction: Direction
      readonly count: number
      readonly connection?: number | undefined
    }
  /** Milliseconds of audio to the service. */
  | { readonly when: 'audio'; readonly ms: number; readonly connection?: number | undefined }
  | { readonly when: 'signal'; readonly name: string }

/** A fault and its moment. */
export interface FaultStep {
  /** When the fault is applied; once. */
  readonly at: FaultMoment
  /** The fault. */
  readonly fault: Fault
}

/** Faults with their moments; plain data that can be stored as JSON. */
export type FaultScript = readonly FaultStep[]

/** Whether a script applies to messages or to bytes. */
export type FaultLevel = 'link' | 'proxy'

const moments: readonly string[] = [
  'elapsed',
  'connection',
  'bytes',
  'messages',
  'audio',
  'signal',
] satisfies readonly FaultMoment['when'][]

const faultNames: Readonly<Record<Fault['do'], true>> = {
  reset: true,
  end: true,
  outage: true,
  refuse: true,
  'half-open': true,
  'black-hole': true,
  stall: true,
  delay: true,
  bandwidth: true,
  slice: true,
  coalesce: true,
  corrupt: true,
  duplicate: true,
  inject: true,
  restore: true,
}

/** The faults and moments that only one level supports. */
const onlyOn: Readonly<
  Record<FaultLevel, { readonly faults: readonly string[]; readonly moments: readonly string[] }>
> = {
  link: { faults: ['duplicate', 'inject'], moments: ['messages', 'audio'] },
  proxy: { faults: ['slice', 'coalesce'], moments: ['bytes'] },
}

/** Throws `invalid-options` with the number of the step that this level does not support or that has an invalid number. */
export const checkScript = (script: FaultScript, level: FaultLevel): FaultScript => {
  script.forEach(({ at, fault }, index) => {
    if (!moments.includes(at.when)) throw invalidStep(index, `at.when must be one of ${moments.join(', ')}`)
    if (!Object.hasOwn(faultNames, fault.do))
      throw invalidStep(index, `fault.do must be one of ${Object.keys(faultNames).join(', ')}`)
    const unsupported = onlyOn[level === 'link' ? 'proxy' : 'link']
    const [unit, otherUnit] = level === 'link' ? ['messages', 'bytes'] : ['bytes', 'messages']
    if (unsupported.faults.includes(fault.do))
      throw invalidStep(index, `${fault.do} applies to ${otherUnit}, and this script to ${unit}`)
    if (unsupported.moments.includes(at.when))
      throw invalidStep(index, `${at.when} counts ${otherUnit}, and this script applies to ${unit}`)
    checkNumbers(index, at)
    checkNumbers(index, fault)
  })
  return script
}

/** Checks a single fault. */
export const checkFault = (fault: Fault, level: FaultLevel): Fault => {
  checkScript([{ at: { when: 'elapsed', ms: 0 }, fault }], level)
  return fault
}

const minimums: Readonly<Record<string, number>> = {
  bytesPerSecond: 1,
  everyMs: 1,
  number: 1,
  connection: 1,
  connections: 1,
  count: 1,
}

const checkNumbers = (index: number, step: object): void => {
  for (const [name, value] of Object.entries(step) as readonly (readonly [string, unknown])[]) {
    if (typeof value !== 'number') continue
    const min = minimums[name] ?? (name === 'bytes' ? 1 : 0)
    if (!Number.isFinite(value) || value < min) throw invalidStep(index, `${name} must be at least ${min}`)
  }
}

const invalidStep = (index: number, what: string): SpeechError =>
  new SpeechError('invalid-options', `Step ${index + 1} of the fault script cannot be applied: ${what}.`)
