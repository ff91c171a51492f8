// npm run accuracy [-- folder [model]]: the words that the embedded engine reads in the recordings of the repository, and in
// those of a folder whose README.md has rows `| file | rate | what is said |`. Voice activity cuts the recordings, as it does
// in the service. `npm run accuracy -- rejection` measures the rejection of foreign speech instead, with synthetic voices. BEFORE=<folder of a built checkout> measures that checkout.
import wordErrors from '../dist/cjs/cli/view/word-errors.js'
import { recognizeParts, recordingSets, seconds, segmentParts, withEngine } from './recordings.mjs'

const { alignWords, comparedWords, countErrors } = wordErrors

const cpuSeconds = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

/** The second of two readings is measured, because the first one compiles. */
const measure = async (engine, { name, samples, text }) => {
  const parts = await segmentParts(samples)
  const speech = parts.reduce((sum, part) => sum + (part.type === 'audio' ? part.samples.length : 0), 0)
  await recognizeParts(engine, parts)
  const before = cpuSeconds()
  const hypotheses = await recognizeParts(engine, parts)
  const cpu = cpuSeconds() - before
  const read = hypotheses.flatMap((item) => (item.type === 'segment' && item.text !== '' ? [item.text] : [])).join(' ')
  const counts = countErrors(alignWords(comparedWords(text), comparedWords(read)))
  return {
    name,
    text,
    read,
    ...counts,
    audio: seconds(samples.length),
    speech: seconds(speech),
    cpu,
  }
}

const sumOf = (rows) =>
  rows.reduce(
    (sum, row) => {
      for (const key of Object.keys(sum)) if (typeof sum[key] === 'number') sum[key] += row[key]
      return sum
    },
    { name: 'all', words: 0, right: 0, substituted: 0, inserted: 0, deleted: 0, audio: 0, speech: 0, cpu: 0 },
  )

const columns = ['words', 'right', 'substituted', 'inserted', 'deleted']
const print = (row) => {
  const counts = columns.map((key) => String(row[key]).padStart(key.length))
  const factors = [row.cpu / row.audio, row.cpu / row.speech].map((factor) => factor.toFixed(3))
  console.log([row.name.padEnd(28), ...counts, factors[0].padStart(12), factors[1].padStart(13)].join('  '))
}

const [folder, model] = process.argv.slice(2)
if (folder === 'rejection') {
  const { measureRejection } = await import('./accuracy/rejection.mjs')
  await measureRejection(model === '--every-line')
  process.exit()
}
const all = []
console.log([''.padEnd(28), ...columns, 'CPU per s of', 'per s of'].join('  '))
console.log(
  [''.padEnd(28), ...columns.map((key) => ' '.repeat(key.length)), '       audio', '     segments'].join('  '),
)
for (const set of await recordingSets(folder, model)) {
  await withEngine(set, { workers: 1, decodersPerWorker: 1 }, async (engine) => {
    for (const recording of set.recordings) {
      const row = await measure(engine, recording)
      all.push(row)
      print(row)
      if (row.right < row.words || row.inserted > 0) console.log(`    said: ${row.text}\n    read: ${row.read}`)
    }
  })
}
print(sumOf(all))
