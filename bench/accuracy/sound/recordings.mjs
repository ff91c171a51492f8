// Right audio for the sound check: speech of people and of synthetic voices, noises, tones and silence.
import { execFileSync } from 'node:child_process'
import { createReadStream, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = new URL('../../..', import.meta.url).pathname
const load = (file) => import(join(root, file)).then(({ default: module }) => module)
const { readWav } = await load('dist/cjs/index.js')
const { deinterleaveChannels } = await load('dist/cjs/audio/channels.js')
const { decodeSamples } = await load('dist/cjs/audio/codec.js')
const { createResampler } = await load('packages/server/dist/recognition/resampler.js')

export const randomSource = (seed) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let value = Math.imul(state ^ (state >>> 15), state | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
}

export const clamp = (value) => Math.max(-32_768, Math.min(32_767, Math.round(value)))

export const resample = async (samples, fromHz, toHz) => {
  if (fromHz === toHz) return samples
  const resampler = await createResampler({ fromHz, toHz, channels: 1 })
  const parts = [resampler.process(samples).slice(), resampler.flush().slice()]
  resampler.free()
  const joined = new Int16Array(parts[0].length + parts[1].length)
  joined.set(parts[0])
  joined.set(parts[1], parts[0].length)
  return joined
}

/** The channels of a file. A file without a header is mono PCM of 16 kHz. */
const readAudio = async (path) => {
  if (!path.endsWith('.wav')) {
    const bytes = readFileSync(path)
    return { rateHz: 16_000, channels: [new Int16Array(new Uint8Array(bytes).buffer)] }
  }
  const { format, audio } = await readWav(createReadStream(path))
  const parts = []
  for await (const part of audio) parts.push(part)
  const bytes = new Uint8Array(Buffer.concat(parts))
  const channels = format.channels === 2 ? deinterleaveChannels(bytes, format.encoding === 'pcm' ? 2 : 1) : [bytes]
  return { rateHz: format.sampleRateHz, channels: channels.map((channel) => decodeSamples(channel, format.encoding)) }
}

export const sentences = [
  'good evening harbor grill how can i help you',
  'the weather in berlin is cold today but tomorrow it will be warmer',
  'peter wilson five five five zero one four two',
  'please move the order of two hundred chairs to next friday morning',
  'she had your dark suit in greasy wash water all year',
  'my account number is nine seven three one six eight',
]

/** Half of the voices are never used for fitting. */
const voices = [
  { program: 'flite', name: 'kal', isFitted: true },
  { program: 'flite', name: 'kal16', isFitted: true },
  { program: 'flite', name: 'awb', isFitted: true },
  { program: 'flite', name: 'slt', isFitted: true },
  { program: 'flite', name: 'rms', isFitted: false },
  ...['en', 'en+f2', 'en+m3', 'en+klatt2', 'en-us+anika', 'de+f3', 'en+linda', 'en+grandma'].map((name) => ({
    program: 'espeak-ng',
    name,
    isFitted: true,
  })),
  ...['en-gb', 'en+f4', 'en+m7', 'en+klatt4', 'en-us+Andrea', 'fr+m1', 'en-us+steph', 'en+paul'].map((name) => ({
    program: 'espeak-ng',
    name,
    isFitted: false,
  })),
]

const isInstalled = (program) => {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
    return true
  } catch (error) {
    return error.code !== 'ENOENT'
  }
}

const synthetic = async (sentenceCount) => {
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-sound-'))
  const recordings = []
  try {
    for (const { program, name, isFitted } of voices.filter((voice) => isInstalled(voice.program))) {
      for (const [index, sentence] of sentences.slice(0, sentenceCount).entries()) {
        const file = join(folder, 'speech.wav')
        const args =
          program === 'flite' ? ['-voice', name, '-t', sentence, '-o', file] : ['-v', name, '-w', file, sentence]
        execFileSync(program, args, { stdio: 'ignore' })
        const { rateHz, channels } = await readAudio(file)
        recordings.push({ name: `${program} ${name} ${index}`, group: program, isFitted, rateHz, samples: channels[0] })
      }
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
  return recordings
}

const filesOf = async (folder, group) => {
  const recordings = []
  for (const file of readdirSync(folder).filter((name) => /\.(wav|raw)$/.test(name) && !name.startsWith('bad-'))) {
    try {
      const { rateHz, channels } = await readAudio(join(folder, file))
      for (const [channel, samples] of channels.entries()) {
        recordings.push({ name: `${file} ${channel}`, group, isFitted: false, rateHz, samples })
      }
    } catch (error) {
      console.error(`${file} is left out: ${error.message}`)
    }
  }
  return recordings
}

/**
 * Speech at its own rate: of the repository, of a folder of recordings if it is there, and of installed synthetic
 * voices.
 */
export const speechRecordings = async ({ folders, sentenceCount = sentences.length }) => [
  ...(await filesOf(join(root, 'samples'), 'sample')),
  ...(await Promise.all(folders.filter(existsSync).map((folder) => filesOf(folder, 'human')))).flat(),
  ...(await synthetic(sentenceCount)),
]

/** Noise whose power falls by `slope` dB per octave, by a chain of first-order filters (Voss and Kellet for -3 dB). */
const noise = (count, slope, random) => {
  const samples = new Float64Array(count)
  let [a, b, c, brown, before] = [0, 0, 0, 0, 0]
  for (let i = 0; i < count; i++) {
    const white = random() + random() + random() + random() - 2
    if (slope === 0) samples[i] = white
    else if (slope === -3) {
      a = 0.997 * a + 0.029591 * white
      b = 0.985 * b + 0.032534 * white
      c = 0.95 * c + 0.048056 * white
      samples[i] = a + b + c + 0.05 * white
    } else if (slope === -6) {
      brown = 0.998 * brown + white
      samples[i] = brown
    } else {
      samples[i] = white - before
      before = white
    }
  }
  return scaled(samples, 1)
}

const scaled = (samples, rms) => {
  const power = samples.reduce((sum, value) => sum + value * value, 0) / samples.length
  return samples.map((value) => (value * rms) / Math.sqrt(power || 1))
}

const levelled = (samples, dbfs) => Int16Array.from(samples, (value) => clamp(value * 32_768 * 10 ** (dbfs / 20)))

/** Notes of one to four voices, of random length, decay, timbre and vibrato. */
const music = (count, rateHz, random) => {
  const samples = new Float64Array(count)
  const noteCount = Math.round(rateHz / (1.5 + 4 * random()))
  const decay = 6 * random()
  const harmonics = 1 + Math.floor(6 * random())
  const vibrato = random() < 0.5 ? 0 : 0.004
  for (let voice = 0; voice < 1 + Math.floor(4 * random()); voice++) {
    for (let from = 0; from < count; from += noteCount) {
      const hz = 110 * 2 ** (Math.floor(random() * 36) / 12)
      for (let i = from; i < Math.min(count, from + noteCount); i++) {
        const t = (i - from) / rateHz
        const turn = 2 * Math.PI * hz * t + ((vibrato * hz) / 5) * Math.sin(2 * Math.PI * 5 * t)
        for (let harmonic = 1; harmonic <= harmonics && harmonic * hz < rateHz / 2; harmonic++) {
          samples[i] += (Math.sin(harmonic * turn) / harmonic) * Math.exp(-decay * t)
        }
      }
    }
  }
  return samples
}

/** Noises, tones and silence at a rate, as `{ name, samples }`. */
export const otherSounds = (rateHz, seconds, random) => {
  const count = rateHz * seconds
  const time = Float64Array.from({ length: count }, (_none, i) => i / rateHz)
  const sine = (hz) => time.map((t) => Math.SQRT2 * Math.sin(2 * Math.PI * hz * t))
  const sounds = []
  for (const [name, slope] of [
    ['white', 0],
    ['pink', -3],
    ['brown', -6],
    ['blue', 6],
  ]) {
    for (const db of [-12, -20, -30, -45, -60, -75]) {
      sounds.push({ name: `${name} noise ${db} dBFS`, samples: levelled(noise(count, slope, random), db) })
    }
  }
  for (const hz of [55, 110, 220, 440, 1000, 2000, 3150]) {
    for (const db of [-6, -20, -40]) sounds.push({ name: `tone ${hz} Hz ${db} dBFS`, samples: levelled(sine(hz), db) })
  }
  for (const [low, high] of [
    [697, 1209],
    [770, 1336],
    [852, 1477],
    [941, 1633],
  ]) {
    const [lowTone, highTone] = [sine(low), sine(high)]
    const digits = time.map((t, i) => (t % 0.2 < 0.1 ? (lowTone[i] + highTone[i]) / 2 : 0))
    for (const db of [-10, -25]) sounds.push({ name: `DTMF ${low}+${high} ${db} dBFS`, samples: levelled(digits, db) })
  }
  for (let song = 0; song < 8; song++) {
    const samples = scaled(music(count, rateHz, random), 1)
    for (const db of [-18, -35]) sounds.push({ name: `music ${song} ${db} dBFS`, samples: levelled(samples, db) })
  }
  sounds.push({ name: 'silence', samples: new Int16Array(count) })
  sounds.push({ name: 'dither', samples: Int16Array.from({ length: count }, () => Math.round(random() * 2 - 1)) })
  return sounds
}
