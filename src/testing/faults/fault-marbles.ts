import { SpeechError } from '../../errors/speech-error.js'
import type { Fault, FaultScript } from './fault-script.js'

/** The letters of a diagram of faults; an outage and a stall last until `u`, `|`, or the end of the diagram. */
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

export interface FaultMarblesOptions {
  /** Letters of your own, beside or in place of those of `faultLegend`. */
  readonly legend?: Readonly<Record<string, Fault>>
  /** Milliseconds of a character. Default 1, as in `TestScheduler.run`. */
  readonly frameMs?: number
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 }

/**
 * A script from a marble diagram: `'1s r 499ms o 1500ms |'` resets after a second, and half a second later an outage
 * begins that is over 1.5 s after that. A character takes a frame, as in RxJS; `-` lets one pass, brackets hold several
 * faults of one moment and take a frame each character, blanks take none, and a time such as `1500ms`, `8s` or `2m`
 * stands between blanks. Throws `invalid-options` that names the character.
 */
export const faultMarbles = (diagram: string, { legend = {}, frameMs = 1 }: FaultMarblesOptions = {}): FaultScript => {
  const script: FaultScript[number][] = []
  let atMs = 0
  let groupMs: number | undefined
  for (const [token] of diagram.matchAll(/(?<![^\s])\d+(?:\.\d+)?(?:ms|s|m)(?![^\s|])|./gsu)) {
    const [, figure, unit = ''] = /^([\d.]+)(ms|s|m)$/.exec(token) ?? []
    if (figure !== undefined) {
      atMs += Number(figure) * (units[unit] ?? 1)
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
  if (groupMs !== undefined) throw new SpeechError('invalid-options', 'A bracket of the diagram is not closed.')
  return script
}

const faultOf = (letter: string, legend: Readonly<Record<string, Fault>>): Fault => {
  const fault = Object.hasOwn(legend, letter) ? legend[letter] : undefined
  if (fault !== undefined) return fault
  throw new SpeechError(
    'invalid-options',
    `The diagram of faults has ${JSON.stringify(letter)}, which the legend does not know; it has ${Object.keys(legend).join(' ')}.`,
  )
}
