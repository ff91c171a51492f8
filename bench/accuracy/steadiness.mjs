// node bench/accuracy/steadiness.mjs [--every] [--recordings FOLDER]: whether readings and confidences stay when the
// same audio begins 0 to 19 ms later, is up to 6 dB softer or louder, or gets noise at -60 dBFS. Segmenter and decoders
// work as in the service, in this process. The sample call, the recordings of people of FOLDER and of prompts.mjs, if
// they are there, and voices that nothing was fitted to. Each shift has one of five levels, and all of them with
// `--every`. BEFORE=<folder of a built checkout> measures that checkout.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readSamples, recordingSets } from '../recordings.mjs'
import { plusNoise, rateHz } from './noises.mjs'
import { promptGrammars, promptsAreHere } from './prompts.mjs'
import { grammars, recordingsOf, utterancesOf } from './spoken-set.mjs'
import { installedPrograms } from './voices.mjs'

const root = new URL('../..', import.meta.url).pathname
const { values } = parseArgs({
  options: {
    every: { type: 'boolean', default: false },
    recordings: { type: 'string', default: join(root, '../shared/audio') },
  },
})

const build = process.env['BEFORE'] ?? root
const load = (file) => import(join(build, file)).then(({ default: module }) => module)
const { createDecoder, findSoundswallowerModels, loadSoundswallower } = await load(
  'packages/engines/dist/soundswallower/package.js',
)
const { frameSamples, TwoPassDecoder } = await load('packages/engines/dist/soundswallower/segment-decoder.js')
const { WorkerGrammars } = await load('packages/engines/dist/soundswallower/worker-grammars.js')
const { WorkerRejection } = await load('packages/engines/dist/soundswallower/rejection.js')
const { createSegmenter } = await load('packages/server/dist/recognition/segmenter.js')
const { defaultSegmenterParameters } = await load('packages/server/dist/recognition/segmenter-parameters.js')

/** What is done to the audio; the first is nothing. */
const gainsDb = [0, -6, 3, -3, 6]
const noiseSpread = 32.8
const shifts = Array.from({ length: 20 }, (_none, ms) => ms)
const variants = [
  ...shifts.flatMap((ms) =>
    (values.every ? gainsDb : [gainsDb[ms % 5]]).map((db) => ({ kind: 'shift and level', ms, db })),
  ),
  ...[2, 7].map((ms) => ({ kind: 'noise', ms, db: 0 })),
]

const changed = (samples, { kind, ms, db }, seed) => {
  const shift = (ms * rateHz) / 1000
  const gain = 10 ** (db / 20)
  const result = new Int16Array(samples.length + shift)
  for (const [at, sample] of samples.entries()) {
    result[at + shift] = Math.max(-32_768, Math.min(32_767, Math.round(gain * sample)))
  }
  return kind === 'noise' ? plusNoise(result, 'white', noiseSpread, seed) : result
}

/** The segments of a recording as `{ startMs, endMs, text, confidence }`; those that are rejected have no text. */
const readSegments = async ({ decoder, confidences }, samples) => {
  const segmenter = await createSegmenter({
    parameters: defaultSegmenterParameters,
    inputRateHz: rateHz,
    asksEngine: true,
  })
  const segments = []
  let startMs = 0
  let rest = []
  const take = async (outputs) => {
    for (const part of outputs) {
      if (part.type === 'open') {
        ;({ startMs } = part)
        rest = []
        await decoder.begin()
      } else if (part.type === 'audio') {
        rest = [...rest, ...part.samples]
        for (; rest.length >= frameSamples; rest = rest.slice(frameSamples)) {
          decoder.process(Int16Array.from(rest.slice(0, frameSamples)))
        }
      } else if (part.type === 'check') await take(segmenter.answer(decoder.isComplete()))
      else if (part.type === 'close') {
        if (rest.length > 0) decoder.process(Int16Array.from(rest))
        const { endMs, isCut = false } = part
        const { words } = await decoder.end({ startMs, endMs, isCut }, () => false)
        const text = words.map((word) => word.text).join(' ')
        segments.push({ startMs, endMs, text, confidence: confidences.pop() ?? 0 })
        confidences.length = 0
      }
    }
  }
  for (let at = 0; at < samples.length; at += 160) await take(segmenter.push(samples.subarray(at, at + 160)))
  await take(segmenter.finish())
  segmenter.free()
  return segments
}

/** What the segments of a part of a recording say, and how sure that is at least. */
const readingOf = (segments) => ({
  text: segments
    .map(({ text }) => text)
    .join(' ')
    .trim(),
  confidence: segments.length === 0 ? 0 : Math.min(...segments.map(({ confidence }) => confidence)),
})

const within = (segments, { startMs, samples }, ms) =>
  segments.filter((segment) => {
    const middleMs = (segment.startMs + segment.endMs) / 2 - ms
    return middleMs > startMs - 300 && middleMs < startMs + (1000 * samples.length) / rateHz + 300
  })

const grammarOf = (sentences) => `#JSGF V1.0;\ngrammar sentences;\npublic <all> = ${sentences.join(' | ')};\n`
const oneIn = (count, items) => items.filter((_item, at) => at % count === 0)
const onCleanLine = async (utterance) => (await recordingsOf(utterance, readSamples))[0]

/** `{ name, jsgf, recordings }` of each set; a recording has its turns, or is one. */
const speechSets = async (knows) => {
  const [call, people] = await recordingSets(existsSync(values.recordings) ? values.recordings : undefined)
  const turnsOf = (channel) => call.turns.filter((turn) => turn.channel === channel)
  const sets = [
    {
      name: 'sample call',
      jsgf: readFileSync(join(call.model, 'call.gram'), 'utf8'),
      recordings: call.channels.map((samples, channel) => ({ samples, turns: turnsOf(channel) })),
    },
  ]
  // Longer ones are cut within their sentences.
  const short = people?.recordings.filter(({ samples }) => samples.length < 20 * rateHz) ?? []
  if (people === undefined) console.error('LEFT OUT: people, because their recordings are not there.')
  else sets.push({ name: 'people', jsgf: grammarOf(short.map(({ text }) => text)), recordings: short })
  if (promptsAreHere()) {
    for (const { name, jsgf, utterances } of promptGrammars(knows).filter((grammar) => grammar.name !== 'prompts')) {
      const own = oneIn(
        2,
        utterances.filter(({ kind }) => kind === 'in'),
      )
      sets.push({ name: `a person, ${name}`, jsgf, recordings: await Promise.all(own.map(onCleanLine)) })
    }
  } else console.error('LEFT OUT: a person, because the recordings of prompts.mjs are not there.')
  if (installedPrograms.size < 2) console.error('LEFT OUT: voices, because flite and espeak-ng are not installed.')
  else {
    for (const group of ['unfitted', 'british']) {
      for (const grammar of grammars) {
        const own = oneIn(
          grammar.name === 'menu' ? 9 : 4,
          utterancesOf(grammar, group).filter(({ kind }) => kind === 'in'),
        )
        const name = `${grammar.name}, ${group === 'british' ? 'British' : 'unfitted'} voices`
        sets.push({ name, jsgf: grammar.jsgf, recordings: await Promise.all(own.map(onCleanLine)) })
      }
    }
  }
  return sets
}

const percent = (part, whole) => (whole === 0 ? '–' : ((100 * part) / whole).toFixed(2))
const quantile = (values, share) =>
  values.length === 0 ? NaN : values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1]

/** Of right readings that were accepted: what became of them in the variants of a kind. */
const row = (name, readings, kind) => {
  const pairs = readings.flatMap(({ first, others }) =>
    others.filter((other) => other.kind === kind).map((other) => ({ first, other })),
  )
  const isOther = ({ first, other }) => other.text !== '' && other.text !== first.text
  const lost = new Set(pairs.filter(({ first, other }) => other.text !== first.text).map(({ first }) => first))
  const moves = pairs.map(({ first, other }) => Math.abs(other.confidence - first.confidence))
  const cells = [
    readings.length,
    pairs.length,
    percent(pairs.filter(({ other }) => other.text === '').length, pairs.length),
    percent(pairs.filter(isOther).length, pairs.length),
    percent(lost.size, readings.length),
    ...[0.5, 0.95, 0.99].map((share) => quantile(moves, share).toFixed(3)),
  ]
  console.log(`${name.padEnd(28)}${cells.map((cell, at) => String(cell).padStart(at > 4 ? 8 : 10)).join('')}`)
}

const soundswallower = await loadSoundswallower(findSoundswallowerModels(), 'en-us')
const dictionary = await createDecoder(soundswallower)
const rejection = new WorkerRejection(soundswallower, 'medium')
const knows = (word) => dictionary.lookup_word(word) !== null

const heads = ['readings', 'variants', 'rejected', 'misread', 'in any', 'p50', 'p95', 'p99']
console.log(
  'Right readings that are accepted: how many of their variants are rejected or misread, %; of how many readings any variant is, %;\n' +
    'and how far the confidence moves. A variant begins 0 to 19 ms later, and is -6 to 6 dB louder.\n',
)
console.log(`${''.padEnd(28)}${heads.map((head, at) => head.padStart(at > 4 ? 8 : 10)).join('')}`)
const all = []
for (const { name, jsgf, recordings } of await speechSets(knows)) {
  const wasm = await createDecoder(soundswallower)
  const confidences = []
  const own = rejection.for(wasm)
  const rate = async (...args) => {
    const confidence = await own.rate(...args)
    confidences.push(confidence)
    return confidence
  }
  const grammar = new WorkerGrammars(soundswallower, jsgf, knows)
  const decoder = new TwoPassDecoder(wasm, undefined, grammar, { ...own, rate })
  const readings = []
  for (const { samples, text, turns = [{ text, startMs: 0, samples }] } of recordings) {
    const heard = []
    for (const [seed, variant] of variants.entries()) {
      const segments = await readSegments({ decoder, confidences }, changed(samples, variant, seed + 1))
      heard.push({ ...variant, segments })
    }
    for (const turn of turns) {
      const [first, ...others] = heard.map(({ segments, kind, ms }) => ({
        kind,
        ...readingOf(within(segments, turn, ms)),
      }))
      if (first.text === turn.text) readings.push({ first, others })
    }
  }
  wasm.delete()
  row(name, readings, 'shift and level')
  all.push(...readings)
}
row('all', all, 'shift and level')
row('all, with noise at -60 dBFS', all, 'noise')
