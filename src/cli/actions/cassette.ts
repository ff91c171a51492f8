import { writeFile } from 'node:fs/promises'
import { codeOf } from '../../errors/code-of.js'
import { readCassette } from '../../cassette/format/read-cassette.js'
import { toMarbles } from '../../cassette/chart/to-marbles.js'
import { isSpeechError, SpeechError } from '../../errors/speech-error.js'
import { unreadable } from '../input/input-error.js'
import { textFlag, wholeNumberFlag } from '../options/flag-values.js'
import { RunFailure } from '../process/failure.js'
import type { Output } from '../process/output.js'

export interface CassetteShowFlags {
  readonly svg?: string
  readonly width?: string
}

/** `rxspeech cassette show FILE`: the session as text, or as a picture where `--svg` says. */
export const showCassette = async (file: string, flags: CassetteShowFlags, output: Output): Promise<void> => {
  const svg = textFlag('--svg', flags.svg)
  const range = svg === undefined ? { least: 60, most: 400 } : { least: 480, most: 10_000 }
  const width = wholeNumberFlag('--width', flags.width, range)
  const cassette = await readCassette(textFlag('FILE', file) ?? file).catch((error: unknown) => {
    throw cannotRead(file, error)
  })
  if (svg === undefined) {
    const columns = width ?? (output.terminal.isTTY === true ? output.terminal.columns : undefined)
    output.write(`${toMarbles(cassette, columns === undefined ? {} : { width: columns })}\n`)
    return
  }
  const picture = toMarbles(cassette, { as: 'svg', ...(width === undefined ? {} : { width }) })
  if (svg === '-') output.write(picture)
  else await writeFile(svg, picture).catch((error: unknown) => Promise.reject(cannotWrite(svg, error)))
}

/** What is wrong with a file is never the fault of the command: exit code 3. */
const cannotRead = (file: string, error: unknown): SpeechError => {
  if (!isSpeechError(error)) return unreadable(file, error)
  return error.code === 'source-failed'
    ? unreadable(file, error.cause)
    : new SpeechError('source-failed', `${file} is no cassette that can be read. ${error.message}`)
}

const cannotWrite = (file: string, error: unknown): RunFailure => {
  const code = codeOf(error) ?? 'unknown'
  return new RunFailure(`${file} cannot be written (${code}); give --svg another place.`)
}
