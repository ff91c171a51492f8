// npm run accuracy [-- SECTION… --write --quick --recordings FOLDER]: the accuracy of the engine and of the service, as
// docs/ACCURACY.md has it; `--write` replaces the measured sections there. The sections are words, delays, rejection,
// steadiness, voice-gate, free-speech, free-text and sound, all by default. It exits with 1 if the service has more
// than a point of the words more wrong than the engine alone. `--quick` measures words and delays of the sample call
// alone, on a clean line. FOLDER has recordings and a README.md with rows `| file | rate | what is said |`.
// BEFORE=<folder of a built checkout> measures that checkout.
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  difference,
  pacedTable,
  pageWith,
  printed,
  sectionNames,
  sectionText,
  segmentTable,
  wordTable,
} from './accuracy/report.mjs'
import { sampleCallSet, setNames, wordSets } from './accuracy/sets.mjs'
import { installedPrograms } from './accuracy/voices.mjs'
import { measurePacedDelays, measureWords } from './accuracy/words.mjs'

const root = new URL('..', import.meta.url).pathname
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    write: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    recordings: { type: 'string', default: join(root, '../shared/audio') },
  },
})
const unknown = positionals.filter((name) => !sectionNames.includes(name))
if (unknown.length > 0) {
  console.error(`There is no section ${unknown.join(', ')}; there are ${sectionNames.join(', ')}.`)
  process.exit(2)
}
const isQuick = values.quick
const wanted = new Set(positionals.length > 0 ? positionals : isQuick ? ['words', 'delays'] : sectionNames)

/** By how many points of the words the service may be worse than the engine alone. */
const maxDifference = 1

const versionIn = (file) => JSON.parse(readFileSync(join(root, file), 'utf8')).version
const versions = [
  `Node ${process.versions.node}`,
  `rxspeech ${versionIn('package.json')}`,
  `soundswallower ${versionIn('node_modules/soundswallower/package.json')}`,
  ...[...installedPrograms].map((entry) => entry.join(' ')),
].join(', ')

const progress = ({ set = 'at the pace of speech', line = 'without noise', way, words, right }) =>
  console.error(`${set}, ${line}, ${way}: ${right} of ${words} words right`)

const measureWordsSection = async (sets) => {
  const rows = await measureWords(sets, isQuick ? 1 : undefined, progress)
  const points = difference(rows)
  if (points > maxDifference) {
    console.error(`The service has ${points.toFixed(1)} points more of the words wrong than the engine alone.`)
    process.exitCode = 1
  }
  return `Words right / wrong / inserted / deleted, and the share of errors, with the rejection of the default level. The engine alone gets each utterance as one
segment that is cut by hand; the service gets all of them in sessions, over real sockets, as fast as it takes them, and voice activity cuts them. A clean
line has noise at -60 dBFS, as a telephone has; white and pink noise is 20 dB below the speech. The difference of the last row may be one point at most, or the command fails.

${wordTable(rows)}

The next table counts the sentences of the same sessions. A segment without speech is false. The delay of a sentence that is read right is the audio from its last sound to the
end of its segment; decoding is not included. In noise the last sound is sometimes not detected, and the delay is then negative.

${segmentTable(rows)}`
}

const measureDelaysSection = async (sets) => {
  const [spoken] = sets.filter(({ name }) => name === 'home')
  const rows = await measurePacedDelays(spoken ?? sets[0], 4, progress)
  return `From the last sound of a sentence until its segment is closed in the audio, and until its milestone is received by the clock, which includes decoding,
sockets and the client. The sessions run at once, without noise, at the pace of speech, on the machine of the measurement; what else
it does shows in the last column.

${pacedTable(rows)}`
}

/** The output of another program of this folder. */
const run = (file, ...args) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(root, file), ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (part) => (text += part))
    child.once('error', reject)
    child.once('close', (code) => {
      if (code === 0) resolve(printed(['node', file, ...args].join(' '), text))
      else reject(new Error(`${file} ended with ${code}.`))
    })
  })

const programs = {
  rejection: ['bench/accuracy/rejection.mjs'],
  steadiness: ['bench/accuracy/steadiness.mjs'],
  'voice-gate': ['bench/accuracy/voice-gate.mjs', '10'],
  'free-speech': ['bench/run.mjs', 'free-text'],
  'free-text': ['bench/free-text/voice-activity.mjs'],
  sound: ['bench/accuracy/sound/evaluate.mjs'],
}

const introductions = {
  'free-speech': `The model of any English speech through the whole service on one core, beside the same engine alone, which reads whole files. \`human52\` is 52 s of people, half of it a
prompt without a pause; \`callmono\` are both sides of the sample call in one channel. CPU is in seconds for a second of audio, that of the service beside the engine in percent of it.
Taken back are words that were stable in a partial, and were then others. The inputs without speech are silence, noise, tones, music, keys, breath, crowds and wind.
Other servers with the weights of the same model take part with \`npm run bench free-text -- words --peers FOLDER\`; memory over a thousand segments is the part \`segments\`.

`,
  'free-text': `What the engine alone reads of the segments that voice activity cuts, on 103 s of people, the sample call and voices of flite: that of the service, Silero v5 (threshold 0.5), and
either of them. By hand: the segments of the speech without noise. Long segments are read in parts of 18 s. The service keeps its own: Silero costs 5 to 9 ms of CPU for a second of each channel.

`,
  steadiness: `The same audio begins 0 to 19 ms later, is up to 6 dB softer or louder, or has noise at -60 dBFS. Of 34 readings of the sample call, of people and of a person, rxspeech 0.2.0
rejected 2.1 % of the variants, and 5.9 % of the readings in at least one; the confidence moved by 0.062 (p95) and 0.595 (p99). Speech may clip at
+6 dB, as that of a reading of "apple" does, whose louder variants are rejected.

`,
}

const sections = new Map()
const measured = async (name, body) => sections.set(name, sectionText(name, versions, await body))

if (wanted.has('words') || wanted.has('delays')) {
  // One of four sentences of each voice, so that the report takes minutes.
  const sets = isQuick ? [await sampleCallSet()] : await wordSets({ folder: values.recordings, every: 4 })
  for (const name of setNames.filter((name) => !isQuick && !sets.some((set) => set.name === name))) {
    const reason = name === 'people' ? `${values.recordings} is not there` : 'flite and espeak-ng are not installed'
    console.error(`LEFT OUT: ${name}, because ${reason}.`)
  }
  if (wanted.has('words')) await measured('words', measureWordsSection(sets))
  if (wanted.has('delays')) await measured('delays', measureDelaysSection(sets))
}
// Each of these uses one core.
const others = sectionNames.filter((name) => wanted.has(name) && name in programs)
await Promise.all(
  others.map((name) => {
    if (name !== 'rejection' || installedPrograms.size === 2) {
      return measured(
        name,
        run(...programs[name]).then((text) => `${introductions[name] ?? ''}${text}`),
      )
    }
    console.error('LEFT OUT: rejection, because flite and espeak-ng are not installed.')
    return undefined
  }),
)

for (const name of sectionNames) if (sections.has(name)) console.log(sections.get(name))
if (values.write) {
  const page = join(root, 'docs/ACCURACY.md')
  writeFileSync(page, pageWith(page, sections))
}
