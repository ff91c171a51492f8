import { existsSync, readFileSync, statSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { either } from 'fp-ts'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { readConfiguration } from '../../configuration/read-configuration.js'
import { readFileText } from '../service/configuration-file.js'
import { CommandError, usageError } from '../process/failure.js'
import type { BenchReport } from './bench-report.js'

/** Limits by their names in the section `limits` of a configuration file. */
export type WrittenLimits = Readonly<Record<string, number>>

/** A service that permits results to be later must not refuse sessions because of them. */
const defaultMaxEngineDelayMs = 1000

/** What a configuration needs, so that the next call is refused; undefined if no call is carried. */
export const limitsOf = ({
  calls,
  sessionsPerCall,
  targetP95Ms,
}: Pick<BenchReport, 'calls' | 'sessionsPerCall' | 'targetP95Ms'>): WrittenLimits | undefined => {
  if (calls === null || calls === 0) return undefined
  const sessions = calls * sessionsPerCall
  return {
    sessions,
    ...(targetP95Ms > defaultMaxEngineDelayMs && { maxEngineDelayMs: targetP95Ms }),
  }
}

/** Throws `invalid-options` if the file exists and is no configuration of a service. */
export const checkWritable = async (file: string): Promise<void> => {
  if (!existsSync(file)) return
  const read = await readConfiguration(readFileText('--write', file))
  if (either.isRight(read)) return
  const [fault] = read.left
  const where = fault === undefined ? '' : `, at line ${fault.line}: ${fault.key} ${fault.sentence}`
  throw usageError(`--write names ${file}, which is no configuration of a service${where}.`)
}

/** Sets limits in a configuration file, or makes a file with them. All else in it stays, comments too. */
export const writeLimits = async (file: string, limits: WrittenLimits): Promise<void> => {
  const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined
  const after = await withLimits(before ?? '', limits)
  try {
    const mode = before === undefined ? 0o644 : statSync(file).mode
    await writeFile(`${file}.partial`, after, { mode })
    await rename(`${file}.partial`, file)
  } catch (error) {
    throw new CommandError(`${file} cannot be written (${codeOf(error) ?? 'unknown'}); the limits are above.`)
  }
}

/**
 * The text of a configuration with these limits. Lines are replaced or added in the text itself, so that every other
 * character stays; only a section in braces is written again as a whole document.
 */
export const withLimits = async (source: string, limits: WrittenLimits): Promise<string> => {
  const { isMap, isScalar, parseDocument } = await import('yaml')
  let text = source
  for (const [name, value] of Object.entries(limits)) {
    const document = parseDocument(text)
    const section = document.get('limits', true)
    const old = document.getIn(['limits', name], true)
    if (isScalar(old) && isRange(old.range)) {
      const [from, to] = old.range
      text = `${text.slice(0, from)}${value}${text.slice(to)}`
    } else if (isMap(section) && section.flow !== true && isRange(section.range)) {
      const [from] = section.range
      const indent = text.slice(text.lastIndexOf('\n', from - 1) + 1, from)
      text = `${text.slice(0, from)}${name}: ${value}\n${indent}${text.slice(from)}`
    } else if (
      document.contents === null ||
      (isMap(document.contents) && document.contents.flow !== true && section === undefined)
    ) {
      text = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}limits:\n  ${name}: ${value}\n`
    } else {
      if (!isMap(section)) document.delete('limits')
      document.setIn(['limits', name], value)
      text = document.toString({ lineWidth: 0 })
    }
  }
  return text
}

/** Nodes that were parsed have the offsets of their text. */
const isRange = <R>(range: R | null | undefined): range is R => range !== undefined && range !== null
