import { SpeechError } from '../../errors/speech-error.js'
import { recordOf } from '../../protocol/collections.js'
import { checkOptions, number, optionsOf } from '../../protocol/validation.js'
import { faultCodec, type Fault, type FaultScript } from './fault-script.js'

/**
 * The letters of a diagram. An outage and a stall last until `u` or `|`.
 *
 * @example
 * console.log(Object.keys(faultLegend).join(' ')) // r e o n h b s c d u |
 */
export const faultLegend: Readonly<Record<string, Fault>> = {
  r: { do: 'reset' },
  e: { do: 'end' },
  o: { do: 'outage' },
  n: { do: 'refuse', connections: 1 },
  h: { do: 'half-open' },
  b: { do: 'black-hole', direction: 'to-client' },
  s: { do: 'stall', direction: 'to-service' },
  c: { do: 'corrupt', direction: 'to-client' },
  d: { do: 'duplicate', direction: 'to-client' },
  u: { do: 'restore' },
  '|': { do: 'restore' },
}

/** The letters and the scale of a diagram. */
export interface FaultMarblesOptions {
  /** Further letters; they override those of `faultLegend`. @default {} */
  readonly legend?: Readonly<Record<string, Fault>> | undefined
  /** The milliseconds of a character, by default as in `TestScheduler.run`. @default 1 */
  readonly frameMs?: number | undefined
}

const faultMarblesOptions = optionsOf<FaultMarblesOptions>()(
  {},
  { legend: recordOf(faultCodec), frameMs: number({ min: 0 }) },
)

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 }

/**
 * Creates a script from a marble diagram. As in RxJS, a character takes one frame and `-` is a frame without a fault;
 * parentheses group the faults of one moment, and each of their characters takes a frame. Spaces take no time. A time
 * such as `1500ms`, `8s` or `2m` stands between spaces.
 *
 * @throws SpeechError `invalid-options`, which names the unknown character
 * @example
 * // A reset after one second, and half a second later an outage of 1.5 s.
 * faultMarbles('1s r 499ms o 1500ms |')
 */
export const faultMarbles = (diagram: string, options: FaultMarblesOptions = {}): FaultScript => {
  const { legend = {}, frameMs = 1 } = checkOptions(faultMarblesOptions, options)
  const script: FaultScript[number][] = []
  let atMs = 0
  let groupMs: number | undefined
  for (const [token] of diagram.matchAll(/(?<![^\s])\d+(?:\.\d+)?(?:ms|s|m)(?![^\s|])|./gsu)) {
    const [, number, unit = ''] = /^([\d.]+)(ms|s|m)$/.exec(token) ?? []
    if (number !== undefined) {
      atMs += Number(number) * (units[unit] ?? 1)
      continue
    }
    if (/\s/.test(token)) continue
    if (token === '(') groupMs = atMs
    else if (token === ')') groupMs = undefined
    else if (token !== '-') {
      script.push({
        at: { when: 'elapsed', ms: groupMs ?? atMs },
        fault: faultOf(token, { ...faultLegend, ...legend }),
      })
    }
    atMs += frameMs
  }
  if (groupMs !== undefined)
    throw new SpeechError('invalid-options', 'A parenthesis of the fault diagram is not closed.')
  return script
}

const faultOf = (letter: string, legend: Readonly<Record<string, Fault>>): Fault => {
  const fault = Object.hasOwn(legend, letter) ? legend[letter] : undefined
  if (fault !== undefined) return fault
  throw new SpeechError(
    'invalid-options',
    `The fault diagram contains ${JSON.stringify(letter)}, which is not in the legend; it has ${Object.keys(legend).join(' ')}.`,
  )
}
