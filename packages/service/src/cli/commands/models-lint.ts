import { relative } from 'node:path'
import { type LintedFile, lintModel } from 'rxspeech-engines/lint/lint-model'
import type { ModelFault } from 'rxspeech-engines/models/jsgf'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import { excerptOf, maxReportedFaults } from 'rxspeech-server/project/format/project-fault'
import { modelFolders, modelsAt, type modelReportFlags } from '../input/find-models.js'
import type { CommandCall } from '../parsing/command.js'
import { wrapText } from '../parsing/help-text.js'
import { exitCode, SilentExit } from '../process/failure.js'
import { defaultColumns } from '../view/live-screen.js'
import { paintFor, type Paint, type TextStyle } from '../view/paint.js'
import { counted, plainText } from '../view/plain-text.js'

interface LintedModel {
  readonly label: string
  readonly files: readonly LintedFile[]
}

/** Prints every fault of the models; exit code 3 if one is an error. */
export const lintModels = async ({
  argument,
  flags: { models, json },
  host,
  output,
}: CommandCall<typeof modelReportFlags, readonly string[]>): Promise<void> => {
  const folders = modelFolders(models, host)
  const found = new Map(
    argument.flatMap((typed) => modelsAt(typed, folders)).map((one) => [one.model.folder, one] as const),
  )
  const linted: LintedModel[] = []
  for (const one of found.values())
    linted.push({ label: modelLabel(one.model), files: await lintModel(one, folders.kinds) })
  const { isTTY, columns = 0 } = output.terminal
  // Editors and other programs read a fault as one line.
  const style = {
    paint: paintFor(host.stdout, host.env),
    columns: isTTY === true ? columns || defaultColumns : Infinity,
  }
  if (json) output.write(`${JSON.stringify(linted.map(jsonOf))}\n`)
  else output.write(report(linted, style))
  if (linted.some((model) => countOf(model, 'error') > 0)) throw new SilentExit(exitCode.unreadable)
}

const countOf = ({ files }: LintedModel, severity: ModelFault['severity']): number =>
  files.flatMap(({ faults }) => faults).filter((fault) => fault.severity === severity).length

const colors = { error: 'red', warning: 'magenta' } as const

type PositionOf = (offset: number) => { readonly line: number; readonly column: number }

/** The line and the column of offsets, both from 1. */
const positionsIn = (text: string): PositionOf => {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return (offset) => {
    let [low, high] = [0, starts.length]
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 }
  }
}

const report = (models: readonly LintedModel[], style: TextStyle): string => {
  const { paint } = style
  const texts = models.flatMap((model) => {
    const [errors, warnings] = [countOf(model, 'error'), countOf(model, 'warning')]
    const sum = [
      ...(errors > 0 ? [counted(errors, 'error')] : []),
      ...(warnings > 0 ? [counted(warnings, 'warning')] : []),
    ]
    const end =
      sum.length === 0
        ? `${paint('green', 'OK')} ${plainText(model.label)}\n`
        : `${paint('bold', plainText(model.label))}: ${sum.join(', ')}\n`
    return [...model.files.map((file) => fileText(file, style)), end].filter((text) => text !== '')
  })
  return texts.join('\n')
}

/** The faults of a file as compilers print them; of very many the first, errors before warnings. */
const fileText = (file: LintedFile, style: TextStyle): string => {
  const position = positionsIn(file.text)
  const { faults } = file
  const first = faults
    .toSorted((a, b) => (a.severity === b.severity ? 0 : a.severity === 'error' ? -1 : 1))
    .slice(0, maxReportedFaults)
  const shown = first
    .toSorted((a, b) => a.span.from - b.span.from)
    .map((fault) => faultText(file, position, fault, style))
  const more = faults.length - first.length
  return [
    ...shown,
    ...(more > 0 ? [`${plainText(shortPath(file.path))}: ${more} more; correct these first\n`] : []),
  ].join('\n')
}

/** The path as it would be typed here, unless it is elsewhere. */
const shortPath = (path: string): string => {
  const here = relative('.', path)
  return here.startsWith('..') ? path : here
}

const faultText = (
  file: LintedFile,
  position: PositionOf,
  fault: ModelFault,
  { paint, columns }: TextStyle,
): string => {
  const { severity, message, span } = fault
  const { line, column } = position(span.from)
  const place = `${plainText(shortPath(file.path))}:${line}:${column}:`
  const painted = `${paint('bold', place)} ${paint(colors[severity], `${severity}:`)}`
  // The path may have spaces, at which it is not broken.
  const length = place.length + severity.length + 2
  const [first = '', ...more] = wrapText(`${'.'.repeat(length)} ${plainText(message)}`, columns - 2)
  const lines = [painted + first.slice(length), ...more.map((one) => `  ${one}`)]
  return `${lines.join('\n')}\n${excerptText(file.text, fault, paint)}`
}

/** The line with carets below the part, of a long line what is around it. */
const excerptText = (text: string, { span, severity }: ModelFault, paint: Paint): string => {
  const [line = '', carets = ''] = excerptOf(text, span)
    .replaceAll(/[^\n\t\P{Cc}]/gu, '?')
    .replaceAll('\t', ' ')
    .split('\n')
  if (line.trim() === '') return ''
  const width = defaultColumns - 6
  const at = carets.indexOf('^')
  const from = at < width * 0.75 ? 0 : at - Math.floor(width / 2)
  const marks = carets.slice(from, from + width)
  const indent = marks.length - marks.trimStart().length
  return `${paint('dim', '  | ')}${line.slice(from, from + width)}\n${paint('dim', '  | ')}${' '.repeat(indent)}${paint(colors[severity], marks.trimStart())}\n`
}

const jsonOf = (model: LintedModel): unknown => ({
  model: model.label,
  ok: countOf(model, 'error') === 0,
  faults: model.files.flatMap(({ path, text, faults }) => {
    const position = positionsIn(text)
    return faults.map(({ severity, message, span }) => ({ file: path, ...position(span.from), severity, message }))
  }),
})
