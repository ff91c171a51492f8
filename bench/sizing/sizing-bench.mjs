// `npm run bench sizing -- FOLDER [flags of rxspeech bench]`: measures with `rxspeech bench` how many calls each model
// carries, each in a file of FOLDER, and writes the table of docs/SIZING.md from all files there. A file that is there
// is not measured again. `--only-table` measures nothing; `--models DIR` adds the models of a folder.
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
import { dirname, join } from 'node:path'
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
  let onlyTable = false
  while (rest.length > 0) {
    const flag = rest.shift()
    if (flag === '--only-table') onlyTable = true
    else if (flag === '--models') folders.push(rest.shift())
    else flags.push(flag)
  }
  return { folder, flags, folders, onlyTable }
}

export const benchSizing = async (args) => {
  const { folder, flags, folders, onlyTable } = parse(args)
  if (folder === undefined || folder.startsWith('-')) {
    console.error('Name the folder of the results: npm run bench sizing -- FOLDER')
    process.exitCode = 64
    return
  }
  mkdirSync(folder, { recursive: true })
  const temporary = mkdtempSync(join(tmpdir(), 'rxspeech-sizing-'))
  try {
    const samples = ['call', 'English'].map((model) => ({ model, models: [] }))
    const own = [...(onlyTable ? [] : [withoutPartials(temporary)]), ...folders].flatMap((models) =>
      modelsIn(models).map((model) => ({ model, models: ['--models', models] })),
    )
    for (const { model, models } of onlyTable ? [] : [...samples, ...own]) {
      for (const channels of ['2', '1']) {
        const file = join(folder, `${model}-${channels}.json`)
        if (existsSync(file)) continue
        console.error(`${model}, ${channels === '2' ? 'stereo' : 'mono'}`)
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(`${file}.partial`, await measure(['--model', model, ...models, '--channels', channels, ...flags]))
        renameSync(`${file}.partial`, file)
      }
    }
  } finally {
    rmSync(temporary, { recursive: true })
  }
  const reports = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
  writeFileSync(page, pageWith(readFileSync(page, 'utf8'), sizingTable(reports)))
  console.error('docs/SIZING.md has the table of these results.')
}
