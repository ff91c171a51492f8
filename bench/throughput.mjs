// Pure functions and operators, in bytes or messages per second on this machine, and as a multiple of real time.
import { from } from 'rxjs'
import { chunk, decodeMuLaw, encodeMuLaw, interleave } from '../dist/cjs/index.js'
import { readRecognizerMessage } from '../dist/cjs/protocol/recognizer-messages.js'

const seconds = (work) => {
  const start = process.hrtime.bigint()
  work()
  return Number(process.hrtime.bigint() - start) / 1e9
}

const best = (work) => Math.min(...Array.from({ length: 5 }, () => seconds(work)))

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const minute = new Uint8Array(960_000)
const slices = Array.from({ length: 960 }, (_none, index) => minute.subarray(index * 1000, index * 1000 + 1000))

const run = (observable$) => {
  let done = false
  observable$.subscribe({ complete: () => (done = true) })
  if (!done) throw new Error('The stream did not complete at once.')
}

const message = JSON.stringify({ 'message-name': 'partial-result', 'recognition-id': 'r', text: 'ten of clubs' })

/** The measured function, the number of units in one run, and the unit. */
export const throughputs = [
  ['chunk, 1000-byte slices to 20 ms', () => run(from(slices).pipe(chunk({ format }))), 960_000, 'B'],
  ['interleave, two channels', () => run(interleave(from(slices), from(slices), { format })), 1_920_000, 'B'],
  ['G.711 µ-law decode', () => decodeMuLaw(minute), 960_000, 'B'],
  ['G.711 µ-law encode', () => encodeMuLaw(new Int16Array(480_000)), 480_000, 'B'],
  [
    'codec, partial-result with JSON',
    () => {
      for (let index = 0; index < 20_000; index += 1) readRecognizerMessage(message)
    },
    20_000,
    'msg',
  ],
  [
    'JSON.parse alone of the same',
    () => {
      for (let index = 0; index < 20_000; index += 1) JSON.parse(message)
    },
    20_000,
    'msg',
  ],
].map(([name, work, units, unit]) => ({ name, unit, perSecond: () => units / best(work) }))
