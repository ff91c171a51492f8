// node bench/accuracy/early-end.mjs [sentences per voice]: how long after its last sound a complete sentence is closed,
// with `completeSilenceMs` and without; how many sentences are cut, and how many texts differ. The sentences are taken
// at random, the same in every run, from two grammars, and spoken by the installed voices of flite and espeak-ng, clean
// and in noise; the sample call takes part too. With PACED=1 the audio is sent at the pace of speech, and delays
// include decoding.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { recordingSets, withEngine } from '../recordings.mjs'
import { randomSource, rateHz, withNoise } from './noises.mjs'
import { joined, quietRoom, speechFrames } from './speech-frames.mjs'
import { installedVoices, speak } from './voices.mjs'

const build = process.env['BEFORE'] ?? new URL('../..', import.meta.url).pathname
const load = (file) => import(join(build, file)).then(({ default: module }) => module)
const { RecognitionChannel } = await load('packages/server/dist/recognition/recognition-channel.js')
const { defaultSegmenterParameters } = await load('packages/server/dist/recognition/segmenter-parameters.js')
const { grammarGraph } = await load('packages/engines/dist/models/grammar-graph.js')

const isPaced = process.env['PACED'] !== undefined
const verbose = process.env['VERBOSE'] !== undefined

// Sentences

const orders = `#JSGF V1.0;
grammar orders;
public <order> = i would like [to order] (a | one | two) (small | large) (pizza | pizzas) [with (extra cheese | olives | ham)] [please]
  | turn the (light | heating | radio) (on | off) [in the (kitchen | bedroom | hall)]
  | call (my office | anna baker | the reception)
  | stop | stop the music | play the next song
  | what is the weather (today | tomorrow | on sunday);`

const grammars = {
  call: readFileSync(new URL('../../samples/models/Default/call/1/call.gram', import.meta.url), 'utf8'),
  orders,
}

/** A random sentence, and whether another word could follow it. */
const sentenceOf = ({ arcs, final }, random) => {
  const words = []
  for (let state = 0; ;) {
    const leaving = arcs.filter(({ from }) => from === state)
    const arc = leaving[Math.floor(leaving.length * random())]
    if (arc.to === final) return { text: words.join(' '), isComplete: leaving.length === 1 }
    words.push(arc.word)
    state = arc.to
  }
}

// Recognition

/**
 * The segments of the audio: `{ startMs, endMs, text, atMs }`, `atMs` is when the result came, in the time of the
 * audio.
 */
const recognizeAudio = async (engine, samples, completeSilenceMs) => {
  const segments = []
  let beginMs = 0
  let end
  const ended = new Promise((resolve, reject) => {
    end = { resolve, reject }
  })
  const channel = new RecognitionChannel(
    {
      engine,
      parameters: { ...defaultSegmenterParameters, completeSilenceMs, gracefulSilenceThresholdMs: 0 },
      sampleRateHz: rateHz,
      closeAfterSilentWallMs: 0,
      finalizeAfterMs: 0,
    },
    {
      next: ({ type, startMs, endMs, text = '' }) => {
        if (type !== 'milestone' && type !== 'no-match') return
        segments.push({ startMs, endMs, text: text.trim(), atMs: performance.now() - beginMs })
      },
      inputEnded: () => undefined,
      error: end.reject,
      complete: end.resolve,
    },
  )
  channel.start()
  beginMs = performance.now()
  for (let at = 0; at < samples.length; at += 160) {
    if (isPaced) await wait(Math.max(0, beginMs + (at + 160) / 8 - performance.now()))
    channel.push(samples.subarray(at, at + 160))
  }
  channel.complete()
  await ended
  return segments
}

const gapS = 0.9

/** Sentences with pauses between them: the audio, and where each sentence has its first and last sound. */
const talkOf = (spoken) => {
  const parts = [quietRoom(1, 5)]
  const sentences = []
  let length = parts[0].length
  for (const [at, { samples, ...sentence }] of spoken.entries()) {
    const frames = speechFrames(samples)
    const fromMs = length / 8
    sentences.push({
      ...sentence,
      fromMs: fromMs + frames.indexOf(true) * 10,
      toMs: fromMs + (frames.lastIndexOf(true) + 1) * 10,
    })
    parts.push(samples, quietRoom(gapS, 6 + at))
    length += samples.length + parts.at(-1).length
  }
  return { audio: joined(...parts), sentences }
}

const textsAt = ({ fromMs, toMs }, segments) =>
  segments.filter(({ startMs, endMs }) => (startMs + endMs) / 2 > fromMs - 400 && (startMs + endMs) / 2 < toMs + 400)

const quantile = (values, share) => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)]

const report = (name, rows) => {
  const complete = rows.filter(({ isComplete }) => isComplete)
  const delays = complete.map(({ delayMs }) => delayMs).filter((delay) => delay !== undefined)
  const before = complete.map(({ formerMs }) => formerMs).filter((delay) => delay !== undefined)
  const early = complete.filter(({ delayMs, formerMs }) => delayMs < formerMs - 50).length
  const cut = rows.filter(({ isCut }) => isCut).length
  const differs = rows.filter(({ isEqual }) => !isEqual).length
  const cells = [
    String(rows.length).padStart(9),
    String(complete.length).padStart(8),
    `${((100 * early) / complete.length).toFixed(1)} %`.padStart(8),
    [0.5, 0.9].map((share) => `${Math.round(quantile(before, share))}`.padStart(4)).join(' /'),
    [0.5, 0.9].map((share) => `${Math.round(quantile(delays, share))}`.padStart(4)).join(' /'),
    `${cut} (${((100 * cut) / rows.length).toFixed(2)} %)`.padStart(12),
    String(differs).padStart(7),
  ]
  console.log([name.padEnd(26), ...cells].join('  '))
}

const measure = async (engine, spoken, change, completeSilenceMs) => {
  const { audio, sentences } = talkOf(spoken)
  const samples = change(audio)
  const former = await recognizeAudio(engine, samples, 0)
  const now = await recognizeAudio(engine, samples, completeSilenceMs)
  return sentences.map((sentence) => {
    const [own, formerOwn] = [textsAt(sentence, now), textsAt(sentence, former)]
    const delayOf = (segments) => {
      const last = segments.at(-1)
      return last && (isPaced ? last.atMs : last.endMs) - sentence.toMs
    }
    const [text, formerText] = [own, formerOwn].map((segments) => segments.map((segment) => segment.text).join(' '))
    const isCut = own.length > formerOwn.length
    if (verbose && (isCut || text !== formerText)) {
      console.log(
        `    ${sentence.voice}: said ${JSON.stringify(sentence.text)}, was ${JSON.stringify(formerText)}, is ${JSON.stringify(own.map((segment) => segment.text))}`,
      )
    }
    return {
      isComplete: sentence.isComplete && formerText === sentence.text,
      delayMs: delayOf(own),
      formerMs: delayOf(formerOwn),
      isCut,
      isEqual: text === formerText,
    }
  })
}

const conditions = {
  clean: (samples) => samples,
  'white 20 dB': (samples) => withNoise(samples, 'white', 20, 3),
  'pink 20 dB': (samples) => withNoise(samples, 'pink', 20, 4),
}

const modelFolder = (grammar) => {
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-early-'))
  writeFileSync(join(folder, 'sentences.gram'), grammar)
  writeFileSync(join(folder, 'model.json'), JSON.stringify({ engine: 'soundswallower', grammar: 'sentences.gram' }))
  return folder
}

const [count = '12', completeSilence = '120'] = process.argv.slice(2)
console.log(
  `${isPaced ? 'From the end of speech to the result' : 'From the end of speech to the end of the segment'}, ms p50 / p90; "final": nothing can follow the sentence`,
)
console.log(
  [
    ''.padEnd(26),
    'sentences',
    '   final',
    '   early',
    'before 0',
    `with ${completeSilence}`,
    '        cuts',
    'changed',
  ].join('  '),
)
const everything = []
for (const [name, grammar] of Object.entries(grammars)) {
  const graph = grammarGraph(grammar)
  const model = modelFolder(grammar)
  await withEngine({ model }, { workers: 1, decodersPerWorker: 4 }, async (engine) => {
    for (const [at, voice] of installedVoices().entries()) {
      const random = randomSource(100 + at)
      const spoken = Array.from({ length: Number(count) }, () => {
        const sentence = sentenceOf(graph, random)
        return { ...sentence, voice: voice.voice, samples: speak(voice, sentence.text) }
      })
      for (const [condition, change] of Object.entries(conditions)) {
        if (isPaced && condition !== 'clean') continue
        const rows = await measure(engine, spoken, change, Number(completeSilence))
        everything.push(...rows.map((row) => ({ ...row, name, condition })))
      }
    }
  })
  rmSync(model, { recursive: true })
  for (const condition of Object.keys(conditions)) {
    const rows = everything.filter((row) => row.name === name && row.condition === condition)
    if (rows.length > 0) report(`${name}, ${condition}`, rows)
  }
}
report('all', everything)

const [call] = await recordingSets()
await withEngine({ model: call.model }, { workers: 1, decodersPerWorker: 4 }, async (engine) => {
  for (const { name, samples } of call.recordings) {
    const former = await recognizeAudio(engine, samples, 0)
    const now = await recognizeAudio(engine, samples, Number(completeSilence))
    const [texts, formerTexts] = [now, former].map((segments) => segments.map(({ text }) => text).join(' | '))
    console.log(
      `sample call, ${name}: ${former.length} segments, now ${now.length}; texts ${texts === formerTexts ? 'equal' : 'differ'}`,
    )
    if (verbose && texts !== formerTexts) console.log(`    was ${formerTexts}\n    is  ${texts}`)
  }
})
