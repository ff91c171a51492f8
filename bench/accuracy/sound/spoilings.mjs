// What can go wrong with audio on its way to a service, each as a function of right audio.
import { clamp, randomSource, resample } from './recordings.mjs'

const root = new URL('../../..', import.meta.url).pathname
const load = (file) => import(`${root}${file}`).then(({ default: module }) => module)
const { encodeSamples } = await load('dist/cjs/audio/codec.js')
const { wavHeader } = await load('dist/cjs/index.js')

const joined = (...parts) => new Uint8Array(Buffer.concat(parts))

export const bytesOf = (channels, encoding) => {
  const frames = new Int16Array(channels[0].length * channels.length)
  for (const [channel, samples] of channels.entries()) {
    for (let i = 0; i < samples.length; i++) frames[i * channels.length + channel] = samples[i]
  }
  return new Uint8Array(encodeSamples(frames, encoding)).slice()
}

const swapped = (bytes) => {
  const pairs = bytes.slice()
  for (let i = 0; i + 1 < pairs.length; i += 2) [pairs[i], pairs[i + 1]] = [pairs[i + 1], pairs[i]]
  return pairs
}

const amplified = (samples, gain, top = 32_767) =>
  Int16Array.from(samples, (value) => Math.max(-top, Math.min(top, clamp(value * gain))))

const peakOf = (samples) => samples.reduce((peak, value) => Math.max(peak, Math.abs(value)), 1)

const plus = (samples, add) => Int16Array.from(samples, (value, i) => clamp(value + add(i)))

const hum = (rateHz, hz, dbfs, harmonics) => (i) => {
  let value = 0
  for (const [at, share] of harmonics.entries())
    value += share * Math.sin(2 * Math.PI * hz * (at + 1) * (i / rateHz) + at)
  return value * Math.SQRT2 * 32_768 * 10 ** (dbfs / 20)
}

const ascii = (text) => new Uint8Array(Buffer.from(text, 'latin1'))
const random = randomSource(99)
const compressed = (count) => Uint8Array.from({ length: count }, () => Math.floor(random() * 256))
const mp3Frames = () => {
  const bytes = compressed(24_000)
  for (let at = 0; at + 4 < bytes.length; at += 417) bytes.set([0xff, 0xfb, 0x90, 0xc4], at)
  return bytes
}

/** The headers of files that are no samples, with something like their data. */
const files = {
  Ogg: () => joined(ascii('OggS\0\x02'), new Uint8Array(8), compressed(24_000)),
  MP3: () => joined(ascii('ID3\x04\0\0\0\0\0\x23'), compressed(24_000)),
  'MP3 without a tag': mp3Frames,
  FLAC: () => joined(ascii('fLaC\0\0\0\x22'), compressed(24_000)),
  WebM: () => joined(Uint8Array.of(0x1a, 0x45, 0xdf, 0xa3, 0x9f, 0x42, 0x86, 0x81, 1), compressed(24_000)),
  MP4: () => joined(ascii('\0\0\0\x20ftypisom'), compressed(24_000)),
  gzip: () => joined(Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3), compressed(24_000)),
  AMR: () => joined(ascii('#!AMR\n'), compressed(24_000)),
}

const base64 = (bytes) => ascii(Buffer.from(bytes).toString('base64'))
const json = (bytes) =>
  ascii(JSON.stringify({ event: 'media', media: { payload: Buffer.from(bytes).toString('base64') } }))

const format = (encoding, sampleRateHz, channels = 1) => ({ encoding, sampleRateHz, channels })

/**
 * All spoilings of a recording, as `{ name, kind, found, format, bytes, speed }`: `format` is what the session says,
 * `speed` how much shorter the audio is by that format. `other` is another recording, for the second channel.
 */
export const spoilingsOf = async ({ samples, rateHz }, other) => {
  const narrow = await resample(samples, rateHz, 8000)
  const second = await resample(other.samples, other.rateHz, 8000)
  const length = Math.min(narrow.length, second.length)
  const pair = [narrow.subarray(0, length), second.subarray(0, length)]
  const pcm8 = format('pcm', 8000)
  const spoilings = []
  const add = (name, kind, given, bytes, { found, channel, speed = 1 } = {}) =>
    spoilings.push({ name, kind, found, channel, format: given, bytes, speed })

  const encodings = (audio, hz, label) => {
    const pcm = bytesOf([audio], 'pcm')
    add(`µ-law as PCM ${label}`, 'wrong-encoding', format('pcm', hz), bytesOf([audio], 'ulaw'), {
      found: 'ulaw',
      speed: 2,
    })
    add(`A-law as PCM ${label}`, 'wrong-encoding', format('pcm', hz), bytesOf([audio], 'alaw'), {
      found: 'alaw',
      speed: 2,
    })
    add(`PCM as µ-law ${label}`, 'wrong-encoding', format('ulaw', hz), pcm, { found: 'pcm', speed: 0.5 })
    add(`PCM as A-law ${label}`, 'wrong-encoding', format('alaw', hz), pcm, { found: 'pcm', speed: 0.5 })
    add(`A-law as µ-law ${label}`, 'wrong-encoding', format('ulaw', hz), bytesOf([audio], 'alaw'), { found: 'alaw' })
    add(`µ-law as A-law ${label}`, 'wrong-encoding', format('alaw', hz), bytesOf([audio], 'ulaw'), { found: 'ulaw' })
    add(`swapped bytes ${label}`, 'swapped-bytes', format('pcm', hz), swapped(pcm))
    add(`a byte missing ${label}`, 'swapped-bytes', format('pcm', hz), pcm.subarray(1, pcm.length - 1))
  }
  encodings(narrow, 8000, '8 kHz')
  add('µ-law as PCM, stereo', 'wrong-encoding', format('pcm', 8000, 2), bytesOf(pair, 'ulaw'), {
    found: 'ulaw',
    speed: 2,
  })
  add('PCM as µ-law, stereo', 'wrong-encoding', format('ulaw', 8000, 2), bytesOf(pair, 'pcm'), {
    found: 'pcm',
    speed: 0.5,
  })
  add('swapped bytes, stereo', 'swapped-bytes', format('pcm', 8000, 2), swapped(bytesOf(pair, 'pcm')))

  add('8 kHz as 16 kHz', 'wrong-rate', format('pcm', 16_000), bytesOf([narrow], 'pcm'), { found: 'lower', speed: 2 })
  if (rateHz >= 16_000) {
    const wide = await resample(samples, rateHz, 16_000)
    encodings(wide, 16_000, '16 kHz')
    add('16 kHz as 8 kHz', 'wrong-rate', pcm8, bytesOf([wide], 'pcm'), { found: 'higher', speed: 0.5 })
    add('16 kHz µ-law as 8 kHz', 'wrong-rate', format('ulaw', 8000), bytesOf([wide], 'ulaw'), {
      found: 'higher',
      speed: 0.5,
    })
    const widest = await resample(samples, rateHz, 48_000)
    for (const hz of [16_000, 8000]) {
      const given = { found: 'higher', speed: hz / 48_000 }
      add(`48 kHz as ${hz / 1000} kHz`, 'wrong-rate', format('pcm', hz), bytesOf([widest], 'pcm'), given)
    }
  }

  // Named after half a minute of sound.
  const long = new Int16Array(8000 * 120)
  for (let at = 0; at < long.length; at++) long[at] = pair[0][at % length]
  const silent = new Int16Array(long.length)
  add('right channel dead', 'dead-channel', format('pcm', 8000, 2), bytesOf([long, silent], 'pcm'), { channel: 1 })
  add('left channel dead', 'dead-channel', format('ulaw', 8000, 2), bytesOf([silent, long], 'ulaw'), { channel: 0 })
  add('equal channels', 'equal-channels', format('pcm', 8000, 2), bytesOf([narrow, narrow], 'pcm'))
  add(
    'equal channels µ-law',
    'equal-channels',
    format('ulaw', 8000, 2),
    bytesOf([narrow, amplified(narrow, 0.5)], 'ulaw'),
  )

  const peak = peakOf(narrow)
  for (const times of [2.5, 6]) {
    const loud = amplified(narrow, (times * 32_767) / peak)
    add(`clipped, ${times} times too loud`, 'clipping', pcm8, bytesOf([loud], 'pcm'))
    add(`clipped, ${times} times too loud, µ-law`, 'clipping', format('ulaw', 8000), bytesOf([loud], 'ulaw'))
  }
  add(
    'clipped before the end of the scale',
    'clipping',
    pcm8,
    bytesOf([amplified(narrow, 12_000 / (0.3 * peak), 12_000)], 'pcm'),
  )
  add('offset 3 %', 'dc-offset', pcm8, bytesOf([plus(narrow, () => 983)], 'pcm'))
  add('offset -10 %', 'dc-offset', format('ulaw', 8000), bytesOf([plus(narrow, () => -3277)], 'ulaw'))
  add('hum 50 Hz -30 dBFS', 'mains-hum', pcm8, bytesOf([plus(narrow, hum(8000, 50, -30, [1]))], 'pcm'), {
    found: '50 Hz',
  })
  add(
    'hum 60 Hz -38 dBFS with harmonics',
    'mains-hum',
    pcm8,
    bytesOf([plus(narrow, hum(8000, 60.05, -38, [1, 0.5, 0.4, 0.2]))], 'pcm'),
    {
      found: '60 Hz',
    },
  )

  const pcm = bytesOf([narrow], 'pcm')
  const wav = wavHeader(pcm8, pcm.length)
  add('WAV file', 'file-header', pcm8, joined(wav, pcm), { found: 'WAV' })
  const half = 2 * Math.floor(pcm.length / 4)
  add('WAV file joined to audio', 'file-header', pcm8, joined(pcm.subarray(0, half), wav, pcm.subarray(half)), {
    found: 'WAV',
  })
  add('JSON', 'file-header', pcm8, json(pcm), { found: 'text' })
  add('base64', 'file-header', format('ulaw', 8000), base64(bytesOf([narrow], 'ulaw')), { found: 'text' })
  for (const [name, make] of Object.entries(files)) {
    add(`${name} file`, 'file-header', pcm8, make(), { found: name.split(' ')[0] })
  }
  return spoilings
}

/** A recording in all right formats. */
export const rightFormsOf = async ({ samples, rateHz }, other) => {
  const narrow = await resample(samples, rateHz, 8000)
  const forms = []
  const add = (given, channels) => forms.push({ format: given, bytes: bytesOf(channels, given.encoding) })
  add(format('pcm', 8000), [narrow])
  add(format('ulaw', 8000), [narrow])
  add(format('alaw', 8000), [narrow])
  if (other !== undefined) {
    add(format('pcm', 8000), [amplified(narrow, 0.1)])
    add(format('pcm', 8000), [amplified(narrow, Math.min(2, 32_000 / peakOf(narrow)))])
    const second = await resample(other.samples, other.rateHz, 8000)
    const length = Math.min(narrow.length, second.length)
    add(format('pcm', 8000, 2), [narrow.subarray(0, length), second.subarray(0, length)])
    add(format('ulaw', 8000, 2), [second.subarray(0, length), narrow.subarray(0, length)])
    // The leg of a call whose speaker says nothing, or begins late.
    const late = new Int16Array(length)
    add(format('ulaw', 8000, 2), [narrow.subarray(0, length), late])
    late.set(second.subarray(0, length >> 2), length - (length >> 2))
    add(format('ulaw', 8000, 2), [narrow.subarray(0, length), late])
  }
  if (rateHz >= 16_000) {
    add(format('pcm', 16_000), [await resample(samples, rateHz, 16_000)])
    add(format('ulaw', 16_000), [await resample(samples, rateHz, 16_000)])
  }
  if (rateHz > 16_000) add(format('pcm', rateHz), [samples])
  return forms
}
