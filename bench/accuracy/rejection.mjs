// node bench/accuracy/rejection.mjs [--every-line]: how much right speech and foreign speech the levels of rejection
// reject, how much the two more decoders cost, and what confidences mean. Each utterance is on a clean line, with white
// and with pink noise at 20 dB; the voices of the fit and the British ones, which only compare with the others, have
// one of them in turn, and all three with `--every-line`. Needs flite and espeak-ng. The recordings of a person are
// measured if they are there, see prompts.mjs.
import { join } from 'node:path'
import { promptsAreHere } from './prompts.mjs'
import { readUtterances } from './readings.mjs'

const module = join(new URL('../..', import.meta.url).pathname, 'packages/engines/dist/soundswallower/confidence.js')
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
  longer: 'its sentences with other speech',
  fragment: 'parts of its sentences',
  word: 'single words',
  digits: 'digits',
  near: 'near misses: one other word',
  letter: 'letters',
}

/**
 * The interval in which a share lies with a probability of 95 % (Wilson), by the weights of the utterances. The lines
 * of an utterance are alike, so they count as one.
 */
const intervalOf = (share, weights) => {
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const count = total ** 2 / weights.reduce((sum, weight) => sum + weight ** 2, 0)
  const z = 1.96
  const middle = (share + z ** 2 / (2 * count)) / (1 + z ** 2 / count)
  const half = (z / (1 + z ** 2 / count)) * Math.sqrt((share * (1 - share)) / count + z ** 2 / (4 * count ** 2))
  return [Math.max(middle - half, 0), middle + half]
}

/**
 * A confidence is that of speech of which half is foreign; the rows are weighted so. With few readings the share of
 * right ones may differ from it by chance, as its interval shows.
 */
const printCalibration = (rows) => {
  const read = rows.filter(({ readings }) => readings.length === 1)
  const right = read.filter(({ isRight }) => isRight).length
  const weight = ({ isRight }) => 0.5 / (isRight ? right : read.length - right)
  const sumOf = (some) => some.reduce((all, row) => all + weight(row), 0)
  console.log('  confidence   readings   mean   right   95 %')
  const differences = []
  let error = 0
  const bounds = [0, 0.2, 0.4, 0.6, 0.8, 0.9, 1]
  for (const [at, from] of bounds.slice(0, -1).entries()) {
    const to = bounds[at + 1]
    const bin = read.filter(({ confidence }) => confidence >= from && (confidence < to || to === 1))
    if (bin.length === 0) continue
    const sum = sumOf(bin)
    const mean = bin.reduce((all, row) => all + weight(row) * row.confidence, 0) / sum
    const share = sumOf(bin.filter(({ isRight }) => isRight)) / sum
    const utterances = new Map()
    for (const row of bin) {
      const name = [row.grammar, row.voice.voice, row.text].join()
      utterances.set(name, (utterances.get(name) ?? 0) + weight(row))
    }
    const [least, most] = intervalOf(share, [...utterances.values()])
    console.log(
      `  ${from.toFixed(1)} to ${to.toFixed(1)} ${String(bin.length).padStart(10)}   ${mean.toFixed(2)}    ${share.toFixed(2)}   ${least.toFixed(2)} to ${most.toFixed(2)}`,
    )
    differences.push({ difference: Math.abs(mean - share), isByChance: mean >= least && mean <= most })
    error += sum * Math.abs(mean - share)
  }
  const largest = (some) => Math.max(0, ...some.map(({ difference }) => difference)).toFixed(3)
  const real = differences.filter(({ isByChance }) => !isByChance)
  console.log(
    `  mean difference ${error.toFixed(3)}, largest ${largest(differences)}, largest outside of its interval ${largest(real)}`,
  )
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
  for (const [kind, title] of Object.entries(kinds)) {
    const some = foreign.filter((row) => row.kind === kind)
    if (some.length > 0) line(`  ${title}`, some)
  }
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

const isMenu = ({ grammar }) => grammar === 'menu'

/** What is printed of each group of voices. */
const parts = {
  unfitted: {
    'voices that nothing was fitted to, two grammars of sentences': (row) => !isMenu(row),
    'the same voices, a grammar of single words': isMenu,
  },
  fitted: { 'voices of the fit': () => true },
  british: { 'British voices, whose accent the model does not know': () => true },
  people: Object.fromEntries(
    ['alphabet', 'numbers', 'prompts'].map((name) => [
      `a person, to whom nothing was fitted, ${name}`,
      ({ grammar }) => grammar === name,
    ]),
  ),
}

const everyLine = process.argv.includes('--every-line')
const cost = { readMs: 0, compareMs: 0, audioMs: 0 }
const spoken = []
for (const [group, names] of Object.entries(parts)) {
  if (group === 'people' && !promptsAreHere()) {
    console.error('LEFT OUT: people, because the recordings of prompts.mjs are not there.')
    continue
  }
  const rows = []
  const isOnEveryLine = (utterance) => everyLine || (group === 'unfitted' && !isMenu(utterance))
  for await (const row of readUtterances(group, { isOnEveryLine, cost: group === 'people' ? undefined : cost }))
    rows.push(ratedRow(row))
  for (const [name, isIn] of Object.entries(names)) printGroup(name, rows.filter(isIn))
  if (group !== 'people') spoken.push(...rows)
}
printCost(spoken, cost)
