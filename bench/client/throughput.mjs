// Pure functions and operators, in bytes or messages per second on this machine, and as a multiple of real time. Each
// operator is followed by the plain loop that does the same work on the same memory: the rate that it can reach at
// most.
import { from, Subject } from 'rxjs'
import { decodeMuLaw, encodeMuLaw } from '../../dist/cjs/audio.js'
import { chunk, interleave } from '../../dist/cjs/index.js'
import { readRecognizerMessage } from '../../dist/cjs/protocol/recognizer-messages.js'

const seconds = (work) => {
  const start = process.hrtime.bigint()
  work()
  return Number(process.hrtime.bigint() - start) / 1e9
}

/** The shortest of 40 runs, after 40 runs for the compiler. */
const best = (work) => {
  for (let run = 0; run < 40; run += 1) work()
  return Math.min(...Array.from({ length: 40 }, () => seconds(work)))
}

const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
const minute = Uint8Array.from({ length: 960_000 }, (_none, index) => (index * 7919) >> 3)
const minuteSamples = new Int16Array(minute.buffer)
const slices = Array.from({ length: 960 }, (_none, index) => minute.subarray(index * 1000, index * 1000 + 1000))
const slicesOfSamples = Array.from({ length: 960 }, (_none, index) =>
  minuteSamples.subarray(index * 500, index * 500 + 500),
)

const run = (observable$) => {
  let done = false
  observable$.subscribe({ complete: () => (done = true) })
  if (!done) throw new Error('The stream did not complete at once.')
}

/** Two sources that run in real time: their slices arrive in turns. */
const interleaveInTurns = () => {
  const [left$, right$] = [new Subject(), new Subject()]
  let frames = 0
  interleave(left$, right$, { format }).subscribe((bytes) => (frames += bytes.length / 4))
  for (const slice of slices) {
    left$.next(slice)
    right$.next(slice)
  }
  if (frames !== 480_000) throw new Error('Frames are missing.')
}

const chunkLoop = () => {
  const chunks = []
  let open = new Uint8Array(320)
  let filled = 0
  for (const slice of slices) {
    for (let at = 0; at < slice.length;) {
      const part = slice.subarray(at, at + 320 - filled)
      open.set(part, filled)
      at += part.length
      filled += part.length
      if (filled < 320) continue
      chunks[0] = open
      open = new Uint8Array(320)
      filled = 0
    }
  }
  return chunks
}

const interleaveLoop = () => {
  for (const samples of slicesOfSamples) {
    const frames = new Int32Array(samples.length)
    for (let i = 0; i < frames.length; i++) frames[i] = (samples[i] & 0xffff) | (samples[i] << 16)
  }
}

const codeSamples = decodeMuLaw(Uint8Array.from({ length: 256 }, (_none, code) => code))

const decodeLoop = () => {
  const samples = new Int16Array(minute.length)
  for (let i = 0; i < minute.length; i++) samples[i] = codeSamples[minute[i]]
}

const message = JSON.stringify({ 'message-name': 'partial-result', 'recognition-id': 'r', text: 'ten of clubs' })

/** The measured function, the number of units in one run, and the unit. */
export const throughputs = [
  ['chunk, 1000-byte slices to 20 ms', () => run(from(slices).pipe(chunk({ format }))), 960_000, 'B'],
  ['  a plain loop', chunkLoop, 960_000, 'B'],
  ['interleave, two channels in turns', interleaveInTurns, 1_920_000, 'B'],
  ['  a plain loop', interleaveLoop, 1_920_000, 'B'],
  ['G.711 µ-law decode', () => decodeMuLaw(minute), 960_000, 'B'],
  ['  a plain loop', decodeLoop, 960_000, 'B'],
  ['G.711 µ-law encode', () => encodeMuLaw(minuteSamples), 960_000, 'B'],
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
