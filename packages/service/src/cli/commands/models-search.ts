import { catalogue, type CatalogueModel } from 'rxspeech-engines/catalogue/catalogue-table'
import { isRestrictive, languagesOf, readsWhat, searchCatalogue } from 'rxspeech-engines/catalogue/catalogue'
import { sizeText } from 'rxspeech-engines/catalogue/disk-space'
import type { CommandCall } from '../parsing/command.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { exitCode, SilentExit } from '../process/failure.js'
import { paintFor, type Paint } from '../view/paint.js'

export const searchFlags = { json: jsonFlag }

/** Lists the models of the catalogue. Exit code 3 if there is none. */
export const searchModels = ({
  argument: words,
  flags: { json },
  host,
  output,
}: CommandCall<typeof searchFlags, readonly string[]>): void => {
  const found = searchCatalogue(words)
  if (json) output.write(`${JSON.stringify(found.map(jsonOf))}\n`)
  else if (found.length > 0) {
    const { isTTY, columns = 0 } = output.terminal
    output.write(table(found, paintFor(host.stdout, host.env), isTTY === true && columns > 0 ? columns : Infinity))
  } else {
    host.stderr.write(
      `rxspeech: No model of ${catalogue.length} fits; search for fewer words, or for a language such as fr.\n`,
    )
  }
  if (found.length === 0) throw new SilentExit(exitCode.unreadable)
}

const jsonOf = (model: CatalogueModel) => ({
  name: model.name,
  archive: model.archive,
  archiveBytes: model.bytes ?? null,
  diskBytes: model.diskBytes ?? null,
  sha256: model.sha256 ?? null,
  languages: languagesOf(model),
  isLive: model.isLive,
  licence: model.licence ?? null,
  isRestrictive: isRestrictive(model.licence),
})

const titles = ['NAME', 'DOWNLOAD', 'DISK', 'TEXT', 'LICENCE', 'READS'] as const

const size = (bytes: number | undefined): string => (bytes === undefined ? '?' : sizeText(bytes))

/** The longest column, what a model reads, is the last one, and is cut to the width of a terminal. */
const table = (models: readonly CatalogueModel[], paint: Paint, columns: number): string => {
  const rows = models.map((model) => ({
    cells: [
      model.name,
      size(model.bytes),
      size(model.diskBytes),
      model.isLive ? 'live' : 'segments',
      `${model.licence ?? 'unknown'}${isRestrictive(model.licence) ? ' *' : ''}`,
      readsWhat(model),
    ],
  }))
  const widths = titles.map((title, at) => Math.max(title.length, ...rows.map(({ cells }) => cells[at]?.length ?? 0)))
  const isNumber = (at: number): boolean => at === 1 || at === 2
  const line = (cells: readonly string[]): string => {
    const aligned = cells.map((cell, at) =>
      isNumber(at) ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
    )
    const text = aligned.join('  ').trimEnd()
    return text.length > columns ? `${text.slice(0, columns - 1)}…` : text
  }
  const notes = [
    'live: text while someone speaks. segments: text of a whole segment, read again while it lasts.',
    ...(models.some(({ licence }) => isRestrictive(licence)) ? ['*: the licence has to be accepted.'] : []),
  ]
  return [
    paint('bold', line(titles)),
    ...rows.map(({ cells }) => line(cells)),
    '',
    ...notes.map((note) => paint('dim', note)),
    '',
  ].join('\n')
}
