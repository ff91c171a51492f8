// `npm run bench sizing -- FOLDER [flags of rxspeech bench]`: measures with `rxspeech bench` how many calls each model
// carries, each row in a file of FOLDER, and writes the table of docs/SIZING.md from all files there. A row that is there
// is not measured again, and one that fails does not keep the others from being measured. `--models DIR` adds the models
// of a folder; `--only call` measures the rows of one model, `--only call-1` its row of one channel; `--only-table`
// measures nothing.
import { spawn } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pageWith, sizingTable } from './sizing-table.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const page = join(root, 'docs/SIZING.md')
const main = join(root, 'packages/service/dist/cli/main.js')
const english = join(root, 'packages/rxspeech-whisper-tiny-en/models/Default/English/1')

/** The model English without partials, which reads each segment once. */
const withoutPartials = (folder) => {
  const model = join(folder, 'Default/English-without-partials/1')
  mkdirSync(model, { recursive: true })
  for (const name of readdirSync(english)) copyFileSync(join(english, name), join(model, name))
  const options = JSON.parse(readFileSync(join(english, 'model.json'), 'utf8'))
  writeFileSync(join(model, 'model.json'), JSON.stringify({ ...options, partials: 'off' }))
  return folder
}

/** The names of the models of a folder. */
const modelsIn = (folder) => readdirSync(join(folder, 'Default'))

const measure = (args) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, 'bench', '--format', 'json', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (more) => (text += more))
    child.once('close', (code) => {
      if (code === 0) resolve(text)
      else reject(new Error(`rxspeech bench ended with ${code}.`))
    })
  })

const parse = ([folder, ...rest]) => {
  const flags = []
  const folders = []
  const only = []
  let onlyTable = false
  while (rest.length > 0) {
    const flag = rest.shift()
    if (flag === '--only-table') onlyTable = true
    else if (flag === '--models') folders.push(rest.shift())
    else if (flag === '--only') only.push(rest.shift())
    else flags.push(flag)
  }
  return { folder, flags, folders, only, onlyTable }
}

/** The rows: each model with stereo and with mono calls. */
const rowsOf = (folders) =>
  [
    ...['call', 'English'].map((model) => ({ model, models: [] })),
    ...folders.flatMap((models) => modelsIn(models).map((model) => ({ model, models: ['--models', models] }))),
  ].flatMap(({ model, models }) =>
    ['2', '1'].map((channels) => ({
      model,
      name: `${model}-${channels}`,
      flags: ['--model', model, ...models, '--channels', channels],
    })),
  )

/** Measures the rows that are not there. Resolves with the names of those that failed. */
const measureRows = async (rows, folder, flags) => {
  const failed = []
  for (const row of rows) {
    const file = join(folder, `${row.name}.json`)
    if (existsSync(file)) {
      console.error(`${row.name}: is in ${file}`)
      continue
    }
    const startMs = Date.now()
    try {
      writeFileSync(`${file}.partial`, await measure([...row.flags, ...flags]))
      renameSync(`${file}.partial`, file)
      console.error(`${row.name}: measured in ${Math.ceil((Date.now() - startMs) / 60_000)} min`)
    } catch (error) {
      console.error(`${row.name}: ${error.message}`)
      failed.push(row.name)
    }
  }
  return failed
}

export const benchSizing = async (args) => {
  const { folder, flags, folders, only, onlyTable } = parse(args)
  if (folder === undefined || folder.startsWith('-')) {
    console.error('Name the folder of the results: npm run bench sizing -- FOLDER')
    process.exitCode = 64
    return
  }
  mkdirSync(folder, { recursive: true })
  if (!onlyTable) {
    const temporary = mkdtempSync(join(tmpdir(), 'rxspeech-sizing-'))
    try {
      const rows = rowsOf([withoutPartials(temporary), ...folders])
      const unknown = only.find((name) => !rows.some((row) => name === row.name || name === row.model))
      if (unknown !== undefined) {
        console.error(`There is no row ${unknown}; the rows are ${rows.map(({ name }) => name).join(', ')}.`)
        process.exitCode = 64
        return
      }
      const chosen = rows.filter(({ name, model }) => only.length === 0 || only.includes(name) || only.includes(model))
      const failed = await measureRows(chosen, folder, flags)
      if (failed.length > 0) process.exitCode = 1
    } finally {
      rmSync(temporary, { recursive: true })
    }
  }
  const reports = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  writeFileSync(page, pageWith(readFileSync(page, 'utf8'), sizingTable(reports)))
  console.error(`docs/SIZING.md has the table of ${reports.length} results.`)
}
