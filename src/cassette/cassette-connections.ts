import { SpeechError } from '../errors/speech-error.js'
import type { Cassette, ConnectionLine, DialLine, OpenLine } from './cassette.js'

/** One connection of a cassette: what happened on it after the attempt, with the place of each line in the cassette. */
export interface TapedConnection {
  readonly dial: DialLine
  /** Absent where it never opened. */
  readonly open?: OpenLine
  readonly lines: readonly PlacedLine[]
}

export interface PlacedLine {
  /** The number of the line in a file without empty lines; the header is line 1. */
  readonly number: number
  readonly line: Exclude<ConnectionLine, DialLine | OpenLine>
}

/** The connections in the order in which they were dialled. */
export const connectionsOf = ({ lines }: Cassette): readonly TapedConnection[] => {
  const connections = new Map<number, { dial: DialLine; open?: OpenLine; lines: PlacedLine[] }>()
  for (const [index, line] of lines.entries()) {
    if (line.event === 'lost' || line.event === 'end') continue
    if (line.event === 'dial') connections.set(line.connection, { dial: line, lines: [] })
    const connection = connections.get(line.connection)
    if (connection === undefined || line.event === 'dial') continue
    if (line.event === 'open') connection.open = line
    else connection.lines.push({ number: index + 2, line })
  }
  return [...connections.values()]
}

/** The number of the line at which others are missing; undefined for a whole cassette. */
export const holeOf = ({ lines }: Cassette): number | undefined => {
  const index = lines.findIndex(({ event }) => event === 'lost')
  return index === -1 ? undefined : index + 2
}

/** Throws `invalid-options` where what is asked for needs every line. */
export const refuseHoles = (cassette: Cassette, remedy: string): void => {
  const hole = holeOf(cassette)
  if (hole === undefined) return
  throw new SpeechError('invalid-options', `Line ${hole} of the cassette says that lines were lost there; ${remedy}.`)
}
