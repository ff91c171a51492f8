// node bench/free-text/voice-activity.mjs [condition…]: which voice activity the bare engine reads best behind, on
// speech in noise, music, clicks of a keyboard, breath and from afar: that of the service, Silero v5, and both joined
// by "or". Without SILERO, the path of silero_vad_v5.onnx, only that of the service is measured.
import { createHash } from 'node:crypto'
import wordErrors from '../../packages/engines/dist/word-errors.js'
import segmenterModule from '../../packages/server/dist/recognition/segmenter.js'
import parametersModule from '../../packages/server/dist/recognition/segmenter-parameters.js'
import detectorModule from '../../packages/server/dist/recognition/voice-activity/voice-detector.js'
import { gaussian, randomSource } from '../accuracy/noises.mjs'
import { installedVoices, speak } from '../accuracy/voices.mjs'
import { cpuSeconds, openReader, openSilero, piecesOf, rateHz } from './bare-reader.mjs'
import { joined, recordingOf, resampled } from './free-text-recordings.mjs'
import { nonSpeechInputs } from './non-speech.mjs'
import { spelledWords } from './spelled-words.mjs'

const { alignWords, countErrors } = wordErrors
const { joinSegmenter } = segmenterModule
const { defaultSegmenterParameters } = parametersModule
const { createVoiceDetector } = detectorModule

// Speech

const sentences = [
  'could you tell her that the meeting was moved to thursday afternoon',
  'there is a small bakery behind the old church',
  'please send the invoice to our office in the second street',
  'the train to the coast leaves from another platform today',
]

const silence = (seconds) => new Int16Array(seconds * rateHz)

const speech = async () => {
  const sets = []
  for (const recording of ['human52', 'callmono'].map(recordingOf)) {
    if (recording !== undefined) {
      sets.push({ ...recording, samples: await resampled(recording.samples, recording.rateHz, rateHz) })
    }
  }
  const voices = installedVoices().filter(({ program }) => program === 'flite')
  if (voices.length === 0) return sets
  const parts = [silence(0.9)]
  for (const [at, voice] of voices.entries()) {
    parts.push(await resampled(speak(voice, sentences[at]), 8000, rateHz), silence(0.9))
  }
  return [...sets, { name: 'voices', text: sentences.slice(0, voices.length).join(' '), samples: joined(...parts) }]
}

// Conditions

/** The level of the loud parts, whose samples are what `withNoise` of the other measurements takes as well. */
const spreadOf = (samples) => {
  const loud = samples.filter((sample) => Math.abs(sample) >= 200)
  return Math.sqrt(loud.reduce((sum, sample) => sum + sample ** 2, 0) / Math.max(loud.length, 1))
}

const clip = (value) => Math.max(-32_768, Math.min(32_767, Math.round(value)))

/** The sound repeated below the speech, by so many dB softer. */
const plus = (sound) => (snrDb) => (samples) => {
  const noise = sound(samples.length)
  const gain =
    (spreadOf(samples) * 10 ** (-snrDb / 20)) /
    Math.sqrt(noise.reduce((sum, value) => sum + value ** 2, 0) / noise.length)
  return samples.map((sample, at) => clip(sample + gain * noise[at]))
}

const stationary = (make) => (length) => {
  const next = make(gaussian(randomSource(4711)))
  return Float64Array.from({ length }, next)
}

const white = (next) => next
const brown = (next) => {
  let sum = 0
  return () => {
    sum = 0.995 * sum + next()
    return sum
  }
}
/** Noise of the band of speech whose level moves as that of syllables does. */
const modulated = (next) => {
  let low = 0
  let at = 0
  return () => {
    low += 0.5 * (next() - low)
    at += 1
    const time = at / rateHz
    return (
      low *
      10 ** ((-20 * (0.5 + 0.5 * Math.sin(2 * Math.PI * 3.7 * time + 2 * Math.sin(2 * Math.PI * 0.6 * time)))) / 20)
    )
  }
}

/** The first inputs of a kind that `non-speech.mjs` makes, one after another. */
const repeated = (kind) => (length) => {
  const parts = nonSpeechInputs().filter(({ name }) => name.startsWith(kind) && name.includes('-18 dBFS'))
  const whole = joined(...parts.map(({ make }) => make()))
  return Float64Array.from({ length }, (_none, at) => whole[at % whole.length])
}

/**
 * A talker at the other end of a room: reflections that fade within half a second, 20 dB softer, on the noise of the
 * room.
 */
const far = (distanceDb) => (samples) => {
  const random = randomSource(99)
  const taps = Array.from({ length: 60 }, () => {
    const delay = Math.floor(0.4 * rateHz * random() ** 1.5)
    return { delay, gain: (random() < 0.5 ? -1 : 1) * 0.35 * Math.exp((-5 * delay) / (0.4 * rateHz)) }
  })
  const room = gaussian(random)
  const gain = 10 ** (-distanceDb / 20)
  return samples.map((sample, at) => {
    let sum = sample
    for (const tap of taps) if (at >= tap.delay) sum += tap.gain * samples[at - tap.delay]
    return clip(gain * sum + 16 * room())
  })
}

const kinds = {
  white: [stationary(white), [10, 5, 0]],
  brown: [stationary(brown), [0]],
  modulated: [stationary(modulated), [10, 5, 0]],
  music: [repeated('music with a beat'), [5]],
  keyboard: [repeated('keyboard'), [0]],
  breath: [repeated('breath'), [5]],
  crowd: [repeated('crowd'), [5]],
}

const conditions = {
  clean: (samples) => samples,
  ...Object.fromEntries(
    Object.entries(kinds).flatMap(([kind, [sound, levels]]) =>
      levels.map((db) => [`${kind} ${db} dB`, plus(sound)(db)]),
    ),
  ),
  'far, -32 dB': far(32),
}

// Voice activity

/** Joins the verdict of the service with that of Silero. */
const detectors = {
  service: (own) => own,
  ...(process.env['SILERO'] !== undefined && {
    Silero: (_own, other) => other,
    'one of both': (own, other) => own || other,
  }),
}

const segmentsOf = async (samples, join) => {
  const own = await createVoiceDetector({ sampleRateHz: rateHz, sensitivity: 6 })
  const isOther = join === detectors.service ? () => false : openSilero(0.5)
  const detector = {
    isSpeech: (frame) => join(own.isSpeech(frame), isOther(frame)),
    get isDoubtful() {
      return join === detectors.service && own.isDoubtful
    },
    get soundFrames() {
      return own.soundFrames
    },
    freezeFloor: (isFrozen) => own.freezeFloor(isFrozen),
  }
  const segmenter = joinSegmenter(detector, { ...defaultSegmenterParameters, gracefulSilenceThresholdMs: 0 }, rateHz)
  const spans = []
  const take = (outputs) => {
    for (const output of outputs) if (output.type === 'speech-ended') spans.push([output.startMs, output.endMs])
  }
  for (let at = 0; at < samples.length; at += 1600) take(segmenter.push(samples.subarray(at, at + 1600)))
  take(segmenter.finish())
  own.free()
  return spans
}

const maxReadingMs = 18_000

const read = openReader()
const known = new Map()

const textOf = (samples, [startMs, endMs]) => {
  const part = samples.subarray(Math.max(0, startMs * 16), endMs * 16)
  const key = createHash('sha1')
    .update(Buffer.from(part.buffer, part.byteOffset, part.byteLength))
    .digest('hex')
  if (!known.has(key)) {
    const before = cpuSeconds()
    const { text } = read(part)
    known.set(key, { text, cpu: cpuSeconds() - before })
  }
  return known.get(key)
}

const measure = (samples, spans) => {
  let cpu = 0
  const texts = []
  for (const piece of spans.flatMap((span) => piecesOf(samples, span, maxReadingMs))) {
    const reading = textOf(samples, piece)
    cpu += reading.cpu
    texts.push(reading.text)
  }
  return {
    text: texts.join(' '),
    cpu,
    count: spans.length,
    longestMs: Math.max(0, ...spans.map(([from, to]) => to - from)),
  }
}

const sets = await speech()
const wanted = process.argv.slice(2)
const byHand = await Promise.all(sets.map(({ samples }) => segmentsOf(samples, detectors.service)))
const names = ['cut by hand', ...Object.keys(detectors)]
const verbose = process.env['VERBOSE'] !== undefined
const rows = []
const audioS = sets.reduce((sum, { samples }) => sum + samples.length / rateHz, 0)
console.log(`Words wrong in % / segments / longest, s / CPU for a second of audio, of ${audioS.toFixed(0)} s of speech`)
console.log(['', ...names].map((name, at) => (at === 0 ? name.padEnd(18) : name.padStart(25))).join(''))
for (const [condition, change] of Object.entries(conditions)) {
  if (wanted.length > 0 && !wanted.some((word) => condition.startsWith(word))) continue
  const sums = new Map(names.map((name) => [name, { words: 0, wrong: 0, count: 0, longestMs: 0, cpu: 0 }]))
  for (const [number, { name: set, text, samples }] of sets.entries()) {
    const changed = change(samples)
    for (const name of names) {
      const spans = name === 'cut by hand' ? byHand[number] : await segmentsOf(changed, detectors[name])
      const result = measure(changed, spans)
      const { words, substituted, inserted, deleted } = countErrors(
        alignWords(spelledWords(text), spelledWords(result.text)),
      )
      const sum = sums.get(name)
      sum.words += words
      sum.wrong += substituted + inserted + deleted
      sum.count += result.count
      sum.cpu += result.cpu
      sum.longestMs = Math.max(sum.longestMs, result.longestMs)
      if (verbose)
        console.log(
          `  ${condition} ${set} ${name}: s${substituted} i${inserted} d${deleted} of ${words}; ${result.text}`,
        )
    }
  }
  rows.push(sums)
  const cells = names.map((name) => {
    const { words, wrong, count, longestMs, cpu } = sums.get(name)
    return `${((100 * wrong) / words).toFixed(1)} / ${count} / ${(longestMs / 1000).toFixed(0)} / ${(cpu / audioS).toFixed(2)}`.padStart(
      25,
    )
  })
  console.log(condition.padEnd(18) + cells.join(''))
}
const mean = (name) => {
  const all = rows.map((sums) => sums.get(name))
  const sum = (key) => all.reduce((total, row) => total + row[key], 0)
  return `${((100 * sum('wrong')) / sum('words')).toFixed(1)} / ${sum('count')} / - / ${(sum('cpu') / audioS / rows.length).toFixed(2)}`.padStart(
    25,
  )
}
console.log('all'.padEnd(18) + names.map(mean).join(''))
