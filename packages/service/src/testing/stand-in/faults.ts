import { listOf } from 'rxspeech/internal/protocol/collections'
import { isJsonObject } from 'rxspeech/internal/protocol/json-object'
import {
  checkOptions,
  codec,
  isText,
  number,
  oneOf,
  optionsOf,
  taggedBy,
  text,
  wholeNumber,
  type Codec,
} from 'rxspeech/internal/protocol/validation'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { faultCodecs, momentCodec, type Fault, type FaultStep } from 'rxspeech/internal/testing/faults/fault-script'

/** What the service of a vendor does wrong, beside the faults of connections. */
export type VendorFault =
  /** Ends open sockets with this close code (RFC 6455 section 7.4), or with none, which a client sees as 1005. */
  | { readonly do: 'close'; readonly code?: number | undefined; readonly reason?: string | undefined }
  /** From now on no finalize is answered: no `Finalize`, no commit, no end of the audio, no request with a file. */
  | { readonly do: 'ignore-finalize' }
  /** From now on the results behind a finalize come so much later. */
  | { readonly do: 'late-final'; readonly delayMs: number }
  /** The next final result comes twice. */
  | { readonly do: 'repeat-final' }
  /** The next final result comes behind the one that follows it. */
  | { readonly do: 'swap-finals' }
  /** The next answer to a request ends in the middle of its body, also one of server-sent events. */
  | { readonly do: 'truncate' }

/** A fault of a stand-in: of a connection (`rxspeech/testing`), or of a vendor. */
export type StandInFault = Fault | VendorFault

/** A fault and its moment; `audio` counts that of all sessions, and a finalize is the signal `finalizing`. */
export type StandInFaultStep = FaultStep<StandInFault>

type VendorFaultOf<Name extends VendorFault['do']> = Extract<VendorFault, { readonly do: Name }>

const standInFault: Codec<StandInFault> = taggedBy('do', {
  ...faultCodecs,
  close: optionsOf<VendorFaultOf<'close'>>()(
    { do: text },
    { code: wholeNumber({ min: 1000, max: 4999 }), reason: text },
  ),
  'ignore-finalize': optionsOf<VendorFaultOf<'ignore-finalize'>>()({ do: text }, {}),
  'late-final': optionsOf<VendorFaultOf<'late-final'>>()({ do: text, delayMs: number({ min: 0 }) }, {}),
  'repeat-final': optionsOf<VendorFaultOf<'repeat-final'>>()({ do: text }, {}),
  'swap-finals': optionsOf<VendorFaultOf<'swap-finals'>>()({ do: text }, {}),
  truncate: optionsOf<VendorFaultOf<'truncate'>>()({ do: text }, {}),
})

const fromStart = (fault: StandInFault): StandInFaultStep => ({ at: { when: 'elapsed', ms: 0 }, fault })
const after2s = (fault: StandInFault): StandInFaultStep => ({ at: { when: 'audio', ms: 2_000 }, fault })

interface NamedStandInFault {
  /** What happens. */
  readonly summary: string
  readonly script: readonly StandInFaultStep[]
}

const named = {
  drop: { summary: 'after 2 s of audio the connection is reset', script: [after2s({ do: 'reset' })] },
  'half-open': {
    summary: 'after 2 s of audio nothing is read or sent, and the connection stays open',
    script: [after2s({ do: 'half-open' })],
  },
  'slow-reader': {
    summary: 'after 2 s of audio nothing is read for 3 s',
    script: [after2s({ do: 'stall', direction: 'to-service', forMs: 3_000 })],
  },
  'silent-finalize': {
    summary: 'a finalize, a commit or the end of the audio is never answered',
    script: [fromStart({ do: 'ignore-finalize' })],
  },
  'late-final': {
    summary: 'the results behind a finalize come 3 s late',
    script: [fromStart({ do: 'late-final', delayMs: 3_000 })],
  },
  'duplicate-final': { summary: 'the first final result comes twice', script: [fromStart({ do: 'repeat-final' })] },
  'out-of-order': {
    summary: 'the first final result comes behind the second one',
    script: [fromStart({ do: 'swap-finals' })],
  },
  'malformed-message': {
    summary: 'after 2 s of audio comes a message that is no JSON',
    script: [after2s({ do: 'inject', message: '{"type": "Results", "channel": ' })],
  },
  'close-1011': {
    summary: 'after 2 s of audio the socket is closed with 1011',
    script: [after2s({ do: 'close', code: 1011, reason: 'The fault script closes the socket.' })],
  },
  'close-without-code': {
    summary: 'after 2 s of audio the socket is closed without a code',
    script: [after2s({ do: 'close' })],
  },
  'rate-limited': {
    summary: 'the first two requests are refused with 429 and Retry-After: 1',
    script: [fromStart({ do: 'refuse', connections: 2, code: 'overloaded', retryAfterMs: 1_000 })],
  },
  unauthorized: {
    summary: 'every request is refused with 401',
    script: [fromStart({ do: 'refuse', connections: 1_000_000, code: 'unauthenticated' })],
  },
  'truncated-answer': {
    summary: 'the first answer to a request ends in the middle of its body',
    script: [fromStart({ do: 'truncate' })],
  },
} as const satisfies Readonly<Record<string, NamedStandInFault>>

/** The name of a fault of a stand-in, with usual values. */
export type StandInFaultName = keyof typeof named

/**
 * The named faults: what happens, and the script, which is also an example of one.
 *
 * @example
 * for (const [name, { summary }] of Object.entries(standInFaults)) console.log(name, summary)
 */
export const standInFaults: Readonly<Record<StandInFaultName, NamedStandInFault>> = named

/** Names of faults and steps with values of their own; plain data, also as JSON. */
export type StandInFaults = StandInFaultName | StandInFaultStep | readonly (StandInFaultName | StandInFaultStep)[]

const isName = (value: unknown): value is StandInFaultName => isText(value) && Object.hasOwn(standInFaults, value)
const name = codec(oneOf(...Object.keys(standInFaults)).name, isName)
const step = optionsOf<StandInFaultStep>()(
  { at: momentCodec, fault: standInFault },
  {},
  'the name of a fault or a step',
)

/** The steps of faults. Throws `invalid-options`, which says what is wrong with which fault. */
export const faultSteps = (faults: StandInFaults): readonly StandInFaultStep[] => {
  const list: readonly unknown[] = Array.isArray(faults) ? faults : [faults]
  const steps = list.flatMap((given, index) => {
    const subject = list.length === 1 ? 'The fault' : `Fault ${index + 1}`
    if (!isJsonObject(given)) return standInFaults[checkOptions(name, given, subject)].script
    return checkOptions(listOf(step), [given], subject)
  })
  for (const { fault } of steps) checkFault(fault)
  return steps
}

/** Checks what the codec of a fault cannot. Throws `invalid-options`. */
export const checkFault = (fault: StandInFault): StandInFault => {
  checkOptions(standInFault, fault, 'The fault')
  if (fault.do === 'inject' && !isText(fault.message))
    throw new SpeechError('invalid-options', 'The message of inject must be a text.')
  if (fault.do === 'duplicate' && fault.direction !== 'to-client')
    throw new SpeechError('invalid-options', 'A stand-in duplicates only messages to-client.')
  return fault
}
