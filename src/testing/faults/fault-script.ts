import { SpeechError } from '../../errors/speech-error.js'
import type { ErrorCode } from '../../errors/error-code.js'
import type { DataflowMessage, SocketMessage } from '../../transport/link.js'

/** Which way something travels. */
export type Direction = 'to-service' | 'to-client'

/** What happens to the connections that are open; shaping (delay, bandwidth, slice, coalesce) to those that follow, too. */
export type Fault =
  /** Breaks off without a word: RST, or a link that is lost. */
  | { readonly do: 'reset' }
  /** Ends in good order, in the middle of everything: FIN both ways, or a link that completes. */
  | { readonly do: 'end' }
  /**
   * `reset`, and nobody gets in for so long; until `restore` without a time. A proxy accepts and breaks off at once, or
   * with `by: 'refuse'` listens no more, so that the connection is refused by the system.
   */
  | { readonly do: 'outage'; readonly forMs?: number; readonly by?: 'reset' | 'refuse' }
  /** The next connections do not come about; a link gives the code as the reason, by default `connection-failed`. */
  | { readonly do: 'refuse'; readonly connections: number; readonly code?: ErrorCode }
  /** Both ways everything is swallowed, ends too, while the connection stays open. After `forMs` it is reset. */
  | { readonly do: 'half-open'; readonly forMs?: number }
  /** The same one way only, for good. */
  | { readonly do: 'black-hole'; readonly direction: Direction }
  /** Nothing is read that way, so that whoever sends has to wait; after `forMs` or `restore` it goes on. */
  | { readonly do: 'stall'; readonly direction: Direction; readonly forMs?: number }
  /** All that follows comes so much later, in order, and up to the jitter later still. */
  | {
      readonly do: 'delay'
      readonly delayMs: number
      readonly jitterMs?: number
      readonly direction?: Direction
    }
  | { readonly do: 'bandwidth'; readonly bytesPerSecond: number; readonly direction?: Direction }
  /** A proxy hands on segments of at most so many bytes. */
  | { readonly do: 'slice'; readonly bytes: number; readonly direction?: Direction }
  /** A proxy hands on what came only every so often, as one. */
  | { readonly do: 'coalesce'; readonly everyMs: number; readonly direction?: Direction }
  /** Flips every bit of the next bytes (1 unless said), or of one byte or character in the middle of the next message. */
  | { readonly do: 'corrupt'; readonly direction: Direction; readonly bytes?: number }
  /** A link hands the next message on twice. */
  | { readonly do: 'duplicate'; readonly direction: Direction }
  /** A link gives the client a message that the service never said. */
  | { readonly do: 'inject'; readonly message: SocketMessage | DataflowMessage }
  /** An outage, stalls and shaping are over. */
  | { readonly do: 'restore' }

/**
 * When a fault happens, once. Counts are over all connections, or with `connection` on that one (from 1); what was
 * counted has passed, and nothing of what follows. `elapsed` counts from when the first connection was asked for,
 * `connection` is just before the one of that number is made. `told` waits for `tell(name)`.
 */
export type FaultMoment =
  | { readonly when: 'elapsed'; readonly ms: number }
  | { readonly when: 'connection'; readonly number: number }
  | { readonly when: 'bytes'; readonly direction: Direction; readonly count: number; readonly connection?: number }
  | { readonly when: 'messages'; readonly direction: Direction; readonly count: number; readonly connection?: number }
  /** Milliseconds of audio that were sent. */
  | { readonly when: 'audio'; readonly ms: number; readonly connection?: number }
  | { readonly when: 'told'; readonly name: string }

export interface FaultStep {
  readonly at: FaultMoment
  readonly fault: Fault
}

/** Faults, each at its moment; plain data, which JSON can hold. */
export type FaultScript = readonly FaultStep[]

/** Where a script is played: on messages, or on bytes. */
export type FaultLevel = 'link' | 'proxy'

const onlyOn: Readonly<
  Record<FaultLevel, { readonly faults: readonly string[]; readonly moments: readonly string[] }>
> = {
  link: { faults: ['duplicate', 'inject'], moments: ['messages', 'audio'] },
  proxy: { faults: ['slice', 'coalesce'], moments: ['bytes'] },
}

/** Throws `invalid-options` with the number of the step that cannot be played there, or whose figure is none. */
export const checkScript = (script: FaultScript, level: FaultLevel): FaultScript => {
  script.forEach(({ at, fault }, index) => {
    const other = onlyOn[level === 'link' ? 'proxy' : 'link']
    const [onWhat, offWhat] = level === 'link' ? ['messages', 'bytes'] : ['bytes', 'messages']
    if (other.faults.includes(fault.do)) throw wrong(index, `${fault.do} is for ${offWhat}, and this is on ${onWhat}`)
    if (other.moments.includes(at.when)) throw wrong(index, `${at.when} counts ${offWhat}, and this is on ${onWhat}`)
    checkFigures(index, at)
    checkFigures(index, fault)
  })
  return script
}

/** The same for one fault that is done by hand. */
export const checkFault = (fault: Fault, level: FaultLevel): Fault => {
  checkScript([{ at: { when: 'elapsed', ms: 0 }, fault }], level)
  return fault
}

const leastOf: Readonly<Record<string, number>> = {
  bytesPerSecond: 1,
  everyMs: 1,
  number: 1,
  connection: 1,
  connections: 1,
  count: 1,
}

const checkFigures = (index: number, step: object): void => {
  for (const [name, value] of Object.entries(step) as readonly (readonly [string, unknown])[]) {
    if (typeof value !== 'number') continue
    const least = leastOf[name] ?? (name === 'bytes' ? 1 : 0)
    if (!Number.isFinite(value) || value < least) throw wrong(index, `${name} must be at least ${least}`)
  }
}

const wrong = (index: number, what: string): SpeechError =>
  new SpeechError('invalid-options', `Step ${index + 1} of the fault script cannot be played: ${what}.`)
