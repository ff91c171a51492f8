import type { FoundModel } from '../../service/engine/model-folders.js'
import { tableText } from './table-text.js'

const textOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : null

/** What `model.json` says of a model that anybody may know: never all of it, which may name places of secrets. */
export const modelJson = ({ model, problem }: FoundModel) => {
  const { tenant, name, version, folder, options } = model
  const embedded = options.engine === 'soundswallower'
  const rate = options['sampleRateHz'] ?? (embedded ? 8000 : null)
  const language = textOf(options['language']) ?? (embedded ? 'en-us' : null)
  return {
    tenant,
    name,
    version,
    engine: options.engine === '' ? null : options.engine,
    sampleRateHz: typeof rate === 'number' ? rate : null,
    languages: language === null ? [] : [language],
    folder,
    problem: problem?.message ?? null,
  }
}

const titles = ['TENANT', 'NAME', 'VERSION', 'ENGINE', 'RATE', 'LANGUAGES', 'PROBLEM']

/** A line for each model below a line of titles, in columns; only the titles where there is none. */
export const modelTable = (models: readonly FoundModel[]): string => {
  const rows = models.map((one) => {
    const { tenant, name, version, engine, sampleRateHz, languages, problem } = modelJson(one)
    const rate = sampleRateHz === null ? '-' : `${sampleRateHz} Hz`
    return [tenant, name, version, engine ?? '-', rate, languages.join(',') || '-', problem ?? '-']
  })
  return tableText(titles, rows)
}
