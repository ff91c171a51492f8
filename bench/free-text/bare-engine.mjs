// node bench/free-text/bare-engine.mjs NAME…: recordings read by the bare engine, whole or cut at the quietest point
// before 28 s.
import { cpuSeconds, openReader, piecesOf, rateHz } from './bare-reader.mjs'
import { recordingOf, resampled } from './free-text-recordings.mjs'
import { wordsWrong } from './play.mjs'

const maxReadingMs = 28_000

const read = openReader()
const results = []
for (const recording of process.argv.slice(2).map(recordingOf)) {
  const samples = await resampled(recording.samples, recording.rateHz, rateHz)
  const before = cpuSeconds()
  const pieces = piecesOf(samples, [0, (1000 * samples.length) / rateHz], maxReadingMs)
  const texts = pieces.map(([fromMs, toMs]) => read(samples.subarray(fromMs * 16, toMs * 16)).text)
  const cpuS = cpuSeconds() - before
  results.push({ name: recording.name, wrong: wordsWrong(recording.text, texts.join(' ')).share, cpuS })
}
console.log(JSON.stringify(results))
