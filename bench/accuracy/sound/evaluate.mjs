// node bench/accuracy/sound/evaluate.mjs [folder…]: what the sound check says about right audio, and about the same
// audio spoiled in all the ways of spoilings.mjs. Prints how many of the spoilings it names, after how much sound, and
// each warning about right audio. Recordings that are shorter than 4 s are repeated. The same in every run.
import { join } from 'node:path'
import { otherSounds, randomSource, speechRecordings } from './recordings.mjs'
import { rightFormsOf, spoilingsOf } from './spoilings.mjs'

const root = new URL('../../..', import.meta.url).pathname
const { SoundCheck } = await import(join(root, 'dist/cjs/audio/sound-check/sound-check.js')).then(
  ({ default: module }) => module,
)

const minSeconds = 4
const folders = process.argv.slice(2)
const isVerbose = process.env['VERBOSE'] !== undefined

const repeated = (recording) => {
  const { samples, rateHz } = recording
  const pause = Math.round(rateHz * 0.3)
  if (samples.length >= minSeconds * rateHz) return recording
  const times = Math.ceil((minSeconds * rateHz) / (samples.length + pause))
  const long = new Int16Array(times * (samples.length + pause))
  for (let i = 0; i < times; i++) long.set(samples, i * (samples.length + pause))
  return { ...recording, samples: long }
}

/** The warnings about a stream in messages of 20 ms. */
const warningsOf = (format, bytes) => {
  const warnings = []
  const check = new SoundCheck(format, (warning) => warnings.push(warning))
  const chunk = (format.sampleRateHz / 50) * format.channels * (format.encoding === 'pcm' ? 2 : 1)
  for (let at = 0; at < bytes.length; at += chunk) check.push(bytes.subarray(at, at + chunk))
  return warnings
}

/** The first 10 ms of a recording above -45 dBFS, in milliseconds. */
const firstSoundMs = ({ samples, rateHz }) => {
  const count = Math.floor(rateHz / 100)
  for (let at = 0; at + count <= samples.length; at += count) {
    let power = 0
    for (let i = at; i < at + count; i++) power += samples[i] * samples[i]
    if (power / count > (32_768 * 10 ** (-45 / 20)) ** 2) return (at / rateHz) * 1000
  }
  return 0
}

const recordings = (
  await speechRecordings({
    folders: folders.length > 0 ? folders : [join(root, '../shared/audio')],
    sentenceCount: Number(process.env['SENTENCES'] ?? 6),
  })
).map(repeated)

// Right audio

const falseAlarms = []
let rightCount = 0
let rightSeconds = 0
const expectNone = (name, { format, bytes }) => {
  rightCount += 1
  rightSeconds += bytes.length / (format.sampleRateHz * format.channels * (format.encoding === 'pcm' ? 2 : 1))
  for (const { kind, found = '', atMs } of warningsOf(format, bytes)) {
    falseAlarms.push(
      `${name}, ${format.encoding} ${format.sampleRateHz} Hz ${format.channels}: ${kind} ${found} at ${atMs} ms`,
    )
  }
}
for (const [index, recording] of recordings.entries()) {
  const other = recordings[(index + 7) % recordings.length]
  for (const form of await rightFormsOf(recording, other)) expectNone(recording.name, form)
}
for (const rateHz of [8000, 16_000]) {
  for (const sound of otherSounds(rateHz, 20, randomSource(rateHz))) {
    for (const form of await rightFormsOf({ ...sound, rateHz })) expectNone(sound.name, form)
  }
}

// Spoiled audio

const rows = new Map()
for (const [index, recording] of recordings.entries()) {
  const other = recordings[(index + 7) % recordings.length]
  const startMs = firstSoundMs(recording)
  for (const { name, kind, found, channel, format, bytes, speed } of await spoilingsOf(recording, other)) {
    const warnings = warningsOf(format, bytes)
    const warning = warnings.find(
      (each) =>
        each.kind === kind &&
        (found === undefined || each.found === found) &&
        (channel === undefined || each.channel === channel),
    )
    const row = rows.get(name) ?? { count: 0, named: 0, inTime: 0, also: 0, times: [] }
    rows.set(name, row)
    row.count += 1
    if (warnings.some((each) => each !== warning)) row.also += 1
    if (warning === undefined) {
      if (isVerbose)
        console.log(
          `not named: ${name}, ${recording.name}, but ${warnings.map((each) => `${each.kind} ${each.found ?? ''}`).join(', ')}`,
        )
      continue
    }
    row.named += 1
    const afterMs = kind === 'file-header' ? warning.atMs * speed : warning.atMs * speed - startMs
    row.times.push(afterMs)
    if (afterMs <= 2000 || kind === 'file-header') row.inTime += 1
    if (isVerbose && warnings.some((each) => each !== warning))
      console.log(
        `also: ${name}, ${recording.name}: ${warnings.map((each) => `${each.kind} ${each.found ?? ''} ${each.atMs}`).join(', ')}`,
      )
  }
}
const percent = (part, all) => `${((100 * part) / all).toFixed(1)} %`.padStart(8)
const quantile = (times, share) =>
  String(Math.round(times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * share)] ?? 0))
console.log('spoiling                              named     in 2 s  another too   p50 ms  p95 ms')
const total = { count: 0, named: 0, inTime: 0, also: 0, times: [] }
for (const [name, row] of rows) {
  for (const key of ['count', 'named', 'inTime', 'also']) total[key] += row[key]
  console.log(
    `${name.padEnd(36)} ${percent(row.named, row.count)}  ${percent(row.inTime, row.count)}  ${percent(row.also, row.count)}  ${quantile(row.times, 0.5).padStart(9)}  ${quantile(row.times, 0.95).padStart(6)}`,
  )
}
console.log(
  `${'all'.padEnd(36)} ${percent(total.named, total.count)}  ${percent(total.inTime, total.count)}  ${percent(total.also, total.count)}   of ${total.count} (${recordings.length} recordings)`,
)
console.log(
  `right audio: ${falseAlarms.length} warnings in ${rightCount} streams, ${Math.round(rightSeconds / 60)} min`,
)
for (const line of falseAlarms) console.log(`  ${line}`)
