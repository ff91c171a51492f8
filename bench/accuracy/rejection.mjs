// node bench/accuracy/rejection.mjs [--every-line]: how much right speech and foreign speech the levels of rejection reject, how much
// the two more decoders cost, and what confidences mean. Each utterance is on a clean line, with white and with pink noise at 20 dB;
// the voices of the fit and the British ones, which only compare with the others, have one of them in turn, and all three with
// `--every-line`. Needs flite and espeak-ng.
import { join } from 'node:path'
import { readUtterances } from './readings.mjs'

const module = join(new URL('../..', import.meta.url).pathname, 'dist/cjs/service/engines/soundswallower/confidence.js')
const { comparedConfidence, confidenceOfReading, isClear, leastConfidence } = (await import(module)).default

/** As the engine rates it. */
const rate = ({ features, compared }) => {
  const confidence = confidenceOfReading(features)
  if (isClear(confidence) || compared === undefined) return { confidence, isCompared: false }
  return { confidence: comparedConfidence(features, compared), isCompared: true }
}

const ratedRow = (row) => {
  const ratings = row.readings.map(rate)
  // Speech without a reading is rejected. Of several segments, one that is accepted lets the utterance pass.
  return { ...row, confidence: Math.max(0, ...ratings.map(({ confidence }) => confidence)), ratings }
}

const percent = (part, whole) => (whole === 0 ? '    –' : `${((100 * part) / whole).toFixed(1).padStart(5)}`)
const share = (rows, level) =>
  percent(rows.filter((row) => row.confidence < leastConfidence[level]).length, rows.length)
const levels = ['low', 'medium', 'high']
const line = (name, rows) =>
  console.log(
    `  ${name.padEnd(34)} ${String(rows.length).padStart(4)}   ${levels.map((level) => share(rows, level).padStart(6)).join('  ')}`,
  )

const kinds = {
  sentence: 'sentences',
  mixed: 'sentences with its words',
  fragment: 'parts of its sentences',
  word: 'single words',
  digits: 'digits',
  near: 'near misses: one other word',
}

/** A confidence is that of speech of which half is foreign; the rows are weighted so. */
const printCalibration = (rows) => {
  const read = rows.filter(({ readings }) => readings.length === 1)
  const right = read.filter(({ isRight }) => isRight).length
  const weight = ({ isRight }) => 0.5 / (isRight ? right : read.length - right)
  console.log('  confidence   readings   mean   right')
  let total = 0
  let worst = 0
  let error = 0
  const bounds = [0, 0.2, 0.4, 0.6, 0.8, 0.9, 1]
  for (const [at, from] of bounds.slice(0, -1).entries()) {
    const to = bounds[at + 1]
    const bin = read.filter(({ confidence }) => confidence >= from && (confidence < to || to === 1))
    const sum = bin.reduce((all, row) => all + weight(row), 0)
    const mean = bin.reduce((all, row) => all + weight(row) * row.confidence, 0) / sum
    const correct = bin.filter(({ isRight }) => isRight).reduce((all, row) => all + weight(row), 0) / sum
    console.log(
      `  ${from.toFixed(1)} to ${to.toFixed(1)} ${String(bin.length).padStart(10)}   ${mean.toFixed(2)}   ${correct.toFixed(2)}`,
    )
    worst = Math.max(worst, Math.abs(mean - correct))
    total += sum
    error += sum * Math.abs(mean - correct)
  }
  console.log(`  mean difference ${(error / total).toFixed(3)}, largest ${worst.toFixed(3)}`)
}

const printGroup = (name, rows) => {
  const right = rows.filter(({ isRight }) => isRight)
  const foreign = rows.filter(({ kind }) => kind !== 'in')
  console.log(
    `\n${name}: ${rows.filter(({ kind }) => kind === 'in').length} utterances of the grammars, ${right.length} read right`,
  )
  console.log(`  rejected, %                      count   ${levels.map((level) => level.padStart(6)).join('  ')}`)
  line('right readings', right)
  for (const noise of ['clean', 'white', 'pink'])
    line(
      `  ${noise}`,
      right.filter((row) => row.noise === noise),
    )
  line('foreign speech', foreign)
  for (const noise of ['clean', 'white', 'pink'])
    line(
      `  ${noise}`,
      foreign.filter((row) => row.noise === noise),
    )
  for (const [kind, title] of Object.entries(kinds))
    line(
      `  ${title}`,
      foreign.filter((row) => row.kind === kind),
    )
  printCalibration(rows)
}

const printCost = (rows, { readMs, compareMs, audioMs }) => {
  const ratings = rows.flatMap((row) => row.readings.map((reading, at) => ({ reading, ...row.ratings[at] })))
  const spent = ratings.reduce((sum, { reading, isCompared }) => sum + (isCompared ? reading.compareMs : 0), 0)
  const compared = ratings.filter(({ isCompared }) => isCompared).length
  // Every reading had a first pass, and most had a second.
  console.log(
    `\n${percent(compared, ratings.length).trim()} % of the readings are compared; CPU per second of audio: ` +
      `${(readMs / audioMs).toFixed(3)} s for the readings, ${(spent / audioMs).toFixed(3)} s for the comparisons ` +
      `(${(compareMs / audioMs).toFixed(3)} s if all were compared)`,
  )
}

const groups = {
  unfitted: 'voices that nothing was fitted to',
  fitted: 'voices of the fit',
  british: 'British voices, whose accent the model does not know',
}

const everyLine = process.argv.includes('--every-line')
const cost = { readMs: 0, compareMs: 0, audioMs: 0 }
const all = []
for (const [group, name] of Object.entries(groups)) {
  const rows = []
  for await (const row of readUtterances(group, { everyLine: everyLine || group === 'unfitted', cost }))
    rows.push(ratedRow(row))
  printGroup(name, rows)
  all.push(...rows)
}
printCost(all, cost)
