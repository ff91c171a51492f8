// node bench/accuracy/voice-gate.mjs [minutes]: how often voice activity takes a sound for speech that is none, and how
// many starts of speech it finds within 300 ms. The set is the same in every run; voices of flite and espeak-ng take
// part if they are installed. BEFORE=<folder of a built checkout> measures that checkout.
import { join } from 'node:path'
import { levelsDb, notSpeech, rateHz, withNoise } from './noises.mjs'
import { hop, joined, quietRoom, speechFrames } from './speech-frames.mjs'
import { installedVoices, recordedSpeech, speak } from './voices.mjs'

const build = process.env['BEFORE'] ?? new URL('../..', import.meta.url).pathname
const load = (file) => import(join(build, file)).then(({ default: module }) => module)
const { createSegmenter } = await load('packages/server/dist/recognition/segmenter.js')
const { defaultSegmenterParameters } = await load('packages/server/dist/recognition/segmenter-parameters.js')

const startsOf = async (samples, changes = {}) => {
  const parameters = { ...defaultSegmenterParameters, ...changes }
  const segmenter = await createSegmenter({ parameters, inputRateHz: rateHz })
  const starts = []
  for (let at = 0; at < samples.length; at += 160) {
    for (const output of segmenter.push(samples.subarray(at, at + 160))) {
      if (output.type === 'speech-started') starts.push(output)
    }
  }
  segmenter.finish()
  segmenter.free()
  return starts
}

// False segments

const verbose = process.env['VERBOSE'] !== undefined

const measureFalseSegments = async (seconds) => {
  const counts = new Map()
  for (const { kind, course, levelDb, make } of notSpeech(seconds)) {
    const starts = await startsOf(make())
    const row = counts.get(kind) ?? new Map()
    row.set(levelDb, (row.get(levelDb) ?? 0) + starts.length)
    counts.set(kind, row)
    if (verbose && starts.length > 0) {
      console.log(`    ${kind} ${course} ${levelDb} dBFS: ${starts.map(({ startMs }) => startMs).join(' ')}`)
    }
  }
  console.log(`False segments in ${seconds} s of each sound, by its level in dBFS`)
  console.log([''.padEnd(20), ...levelsDb.map((level) => String(level).padStart(5))].join(' '))
  for (const [kind, row] of counts) {
    console.log([kind.padEnd(20), ...levelsDb.map((level) => String(row.get(level)).padStart(5))].join(' '))
  }
  const all = [...counts.values()].flatMap((row) => [...row.values()])
  const limit = Math.max(1, Math.floor(seconds / 600))
  console.log(`${all.filter((count) => count > limit).length} of ${all.length} cells above ${limit}\n`)
}

// Starts

/** The first of six frames with speech in a row, not before `from`. */
const startFrom = (frames, from) => {
  for (let at = from, run = 0; at < frames.length; at += 1) {
    run = frames[at] ? run + 1 : 0
    if (run === 6) return at - 5
  }
  return undefined
}

const stretches = (frames) => frames.reduce((sum, isSpeech) => sum + (isSpeech ? 1 : 0), 0)

const withinMs = 300
const noBuffers = { preSpeechBufferMs: 0, postSpeechBufferMs: 0 }

const conditions = {
  clean: (samples) => samples,
  'white 20 dB': (samples, seed) => withNoise(samples, 'white', 20, seed),
  'pink 20 dB': (samples, seed) => withNoise(samples, 'pink', 20, seed),
}

const isFound = (starts, expectedMs) =>
  starts.some(({ startMs }) => startMs >= expectedMs - 300 && startMs <= expectedMs + withinMs)

/** A sentence after a second and a half of a quiet room. */
const measureOnset = async (samples, change) => {
  const first = startFrom(speechFrames(samples), 0)
  if (first === undefined) return { starts: 0, found: 0 }
  const room = quietRoom(1.5, 77)
  const starts = await startsOf(change(joined(room, samples), 5), noBuffers)
  return { starts: 1, found: isFound(starts, 1500 + first * 10) ? 1 : 0 }
}

/** The audio begins within the sentence, every 90 ms, with at least 300 ms of speech left. */
const measureMidSpeech = async (samples, change) => {
  const frames = speechFrames(samples)
  const counts = { starts: 0, found: 0 }
  const quiet = quietRoom(0.5, 78)
  for (let from = 5; from < frames.length; from += 9) {
    if (!frames[from] || stretches(frames.slice(from)) < 30) continue
    const first = startFrom(frames, from)
    if (first === undefined) continue
    const audio = change(joined(samples.subarray(from * hop), quiet), from)
    counts.starts += 1
    if (isFound(await startsOf(audio, noBuffers), (first - from) * 10)) counts.found += 1
  }
  return counts
}

const sentences = [
  'i would like to order a large pizza with extra cheese',
  'please call me back tomorrow morning',
  'seven of clubs',
  'turn the lights off in the kitchen',
  'my account number is five four nine two',
  'stop',
]

const measureStarts = async () => {
  const groups = { recordings: await recordedSpeech() }
  for (const voice of installedVoices()) {
    const group = (groups[voice.program] ??= [])
    for (const text of sentences) group.push({ name: `${voice.voice}: ${text}`, samples: speak(voice, text) })
  }
  console.log(`Starts found within ${withinMs} ms`)
  const all = { starts: 0, found: 0 }
  for (const [how, measure] of Object.entries({ 'after a room': measureOnset, 'in mid-speech': measureMidSpeech })) {
    for (const [group, recordings] of Object.entries(groups)) {
      for (const [condition, change] of Object.entries(conditions)) {
        const sum = { starts: 0, found: 0 }
        for (const { name, samples } of recordings) {
          const { starts, found } = await measure(samples, change)
          sum.starts += starts
          sum.found += found
          if (verbose && found < starts) console.log(`    ${how} ${condition}: ${name}: ${found} of ${starts}`)
        }
        all.starts += sum.starts
        all.found += sum.found
        const share = ((100 * sum.found) / sum.starts).toFixed(1)
        console.log(
          [
            how.padEnd(14),
            group.padEnd(12),
            condition.padEnd(12),
            `${sum.found} of ${sum.starts}`.padStart(14),
            share.padStart(6),
          ].join('  '),
        )
      }
    }
  }
  console.log(`all: ${((100 * all.found) / all.starts).toFixed(1)} % of ${all.starts}`)
}

const [minutes = '10'] = process.argv.slice(2)
const only = process.env['ONLY']
if (only !== 'starts') await measureFalseSegments(60 * Number(minutes))
if (only !== 'false') await measureStarts()
