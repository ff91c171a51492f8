import { either } from 'fp-ts'
import type { Errors } from 'io-ts'
import { isErrorCode, type ErrorCode } from '../../errors/error-table.js'
import { SpeechError } from '../../errors/speech-error.js'
import { isJsonObject } from '../../protocol/json-object.js'
import { listOf } from '../../protocol/collections.js'
import {
  codec,
  isText,
  issuesOf,
  issueText,
  number,
  oneOf,
  optionsOf,
  taggedBy,
  text,
  wholeNumber,
  type Codec,
} from '../../protocol/validation.js'
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
  /** Refuses the next connections; on a link with this code, by default `connection-failed`, and this wait. */
  | {
      readonly do: 'refuse'
      readonly connections: number
      readonly code?: ErrorCode | undefined
      readonly retryAfterMs?: number | undefined
    }
  /** Discards everything in both directions, also the ends, on an open connection. Resets it after `forMs`. */
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
  /** A proxy inverts the bits of the next bytes, by default 1; a link corrupts the middle of the next message. */
  | { readonly do: 'corrupt'; readonly direction: Direction; readonly bytes?: number | undefined }
  /** A link delivers the next message twice. */
  | { readonly do: 'duplicate'; readonly direction: Direction }
  /** A link delivers to the client a message that the service did not send. */
  | { readonly do: 'inject'; readonly message: SocketMessage | DataflowMessage }
  /** Ends outages, stalls and shaping. */
  | { readonly do: 'restore' }

/**
 * When a fault is applied. Counts are totals of all connections, or with `connection` of that one (from 1); the fault
 * is applied after exactly that count has passed. `elapsed` counts from the request of the first connection.
 * `connection` is immediately before that connection. `signal` waits for `signal(name)`.
 */
export type FaultMoment =
  | { readonly when: 'elapsed'; readonly ms: number }
  | { readonly when: 'connection'; readonly number: number }
  | {
      readonly when: 'bytes' | 'messages'
      readonly direction: Direction
      readonly count: number
      readonly connection?: number | undefined
    }
  /** Milliseconds of audio to the service. */
  | { readonly when: 'audio'; readonly ms: number; readonly connection?: number | undefined }
  | { readonly when: 'signal'; readonly name: string }

/** A fault and its moment. */
export interface FaultStep<Applied = Fault> {
  /** When the fault is applied; once. */
  readonly at: FaultMoment
  /** The fault. */
  readonly fault: Applied
}

/** Faults with their moments; plain data that can be stored as JSON. */
export type FaultScript = readonly FaultStep[]

/** Whether a script applies to messages or to bytes. */
export type FaultLevel = 'link' | 'proxy'

type FaultOf<Name extends Fault['do']> = Extract<Fault, { readonly do: Name }>
type MomentOf<When extends FaultMoment['when']> = Extract<FaultMoment, { readonly when: When }>

const direction = oneOf<Direction>('to-service', 'to-client')
const timeMs = number({ min: 0 })
const count = wholeNumber({ min: 1 })
const errorCode = codec('an error code', (value): value is ErrorCode => isText(value) && isErrorCode(value))
const message = codec(
  'a text, bytes or a message of the dataflow stream',
  (value): value is SocketMessage | DataflowMessage =>
    isText(value) || value instanceof Uint8Array || isJsonObject(value),
)

export const faultCodecs = {
  reset: optionsOf<FaultOf<'reset'>>()({ do: text }, {}),
  end: optionsOf<FaultOf<'end'>>()({ do: text }, {}),
  outage: optionsOf<FaultOf<'outage'>>()({ do: text }, { forMs: timeMs, by: oneOf('reset', 'refuse') }),
  refuse: optionsOf<FaultOf<'refuse'>>()({ do: text, connections: count }, { code: errorCode, retryAfterMs: timeMs }),
  'half-open': optionsOf<FaultOf<'half-open'>>()({ do: text }, { forMs: timeMs }),
  'black-hole': optionsOf<FaultOf<'black-hole'>>()({ do: text, direction }, {}),
  stall: optionsOf<FaultOf<'stall'>>()({ do: text, direction }, { forMs: timeMs }),
  delay: optionsOf<FaultOf<'delay'>>()({ do: text, delayMs: timeMs }, { jitterMs: timeMs, direction }),
  bandwidth: optionsOf<FaultOf<'bandwidth'>>()({ do: text, bytesPerSecond: number({ min: 1 }) }, { direction }),
  slice: optionsOf<FaultOf<'slice'>>()({ do: text, bytes: count }, { direction }),
  coalesce: optionsOf<FaultOf<'coalesce'>>()({ do: text, everyMs: number({ min: 1 }) }, { direction }),
  corrupt: optionsOf<FaultOf<'corrupt'>>()({ do: text, direction }, { bytes: count }),
  duplicate: optionsOf<FaultOf<'duplicate'>>()({ do: text, direction }, {}),
  inject: optionsOf<FaultOf<'inject'>>()({ do: text, message }, {}),
  restore: optionsOf<FaultOf<'restore'>>()({ do: text }, {}),
}

/** A fault as plain data. */
export const faultCodec: Codec<Fault> = taggedBy('do', faultCodecs)

const traffic = optionsOf<Extract<FaultMoment, { readonly count: number }>>()(
  { when: oneOf('bytes', 'messages'), direction, count },
  { connection: count },
)
export const momentCodec: Codec<FaultMoment> = taggedBy('when', {
  elapsed: optionsOf<MomentOf<'elapsed'>>()({ when: text, ms: timeMs }, {}),
  connection: optionsOf<MomentOf<'connection'>>()({ when: text, number: count }, {}),
  bytes: traffic,
  messages: traffic,
  audio: optionsOf<MomentOf<'audio'>>()({ when: text, ms: timeMs }, { connection: count }),
  signal: optionsOf<MomentOf<'signal'>>()({ when: text, name: text }, {}),
})

const scriptCodec = listOf(optionsOf<FaultStep>()({ at: momentCodec, fault: faultCodec }, {}))

/** The faults and moments that only one level supports. */
const onlyOn: Readonly<
  Record<FaultLevel, { readonly faults: readonly string[]; readonly moments: readonly string[] }>
> = {
  link: { faults: ['duplicate', 'inject'], moments: ['messages', 'audio'] },
  proxy: { faults: ['slice', 'coalesce'], moments: ['bytes'] },
}

/** Throws `invalid-options` with the number of the step that is invalid, or that this level does not support. */
export const checkScript = (script: FaultScript, level: FaultLevel): FaultScript => {
  const decoded = scriptCodec.decode(script)
  if (either.isLeft(decoded)) throw invalidScript(decoded.left)
  script.forEach(({ at, fault }, index) => {
    const unsupported = onlyOn[level === 'link' ? 'proxy' : 'link']
    const [unit, otherUnit] = level === 'link' ? ['messages', 'bytes'] : ['bytes', 'messages']
    if (unsupported.faults.includes(fault.do))
      throw invalidStep(index, `${fault.do} applies to ${otherUnit}, and this script to ${unit}.`)
    if (unsupported.moments.includes(at.when))
      throw invalidStep(index, `${at.when} counts ${otherUnit}, and this script applies to ${unit}.`)
  })
  return script
}

/** Checks a single fault. */
export const checkFault = (fault: Fault, level: FaultLevel): Fault => {
  checkScript([{ at: { when: 'elapsed', ms: 0 }, fault }], level)
  return fault
}

const invalidScript = (errors: Errors): SpeechError => {
  const [issue] = issuesOf(errors)
  const [index, ...path] = issue?.path ?? []
  if (issue === undefined || index === undefined)
    return new SpeechError('invalid-options', 'script must be a list of steps, each with at and fault.')
  return invalidStep(Number(index), issueText({ ...issue, path }, 'The step'))
}

const invalidStep = (index: number, problem: string): SpeechError =>
  new SpeechError('invalid-options', `Step ${index + 1} of the fault script cannot be applied: ${problem}`)
