import * as fc from 'fast-check'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { decodeSamples } from '../../../src/audio/codec.js'
import type { Encoding } from '../../../src/audio/format.js'
import { SoundCheck } from '../../../src/audio/sound-check/sound-check.js'
import { wavHeader } from '../../../src/audio/wav-header.js'
import { readRecording } from '../read-recording.js'
import {
  ascii,
  brief,
  callSpeakers,
  changed,
  encoded,
  formatOf,
  resampled,
  stereo,
  swapped,
  warningsOf,
} from './sounds.js'

/** From the middle of the call: ten seconds in which the speaker speaks about half of the time. */
let speech: Int16Array
let other: Int16Array

beforeAll(async () => {
  const [restaurant = new Int16Array(), guest = new Int16Array()] = await callSpeakers()
  speech = restaurant.slice(8 * 800, 8 * 10_800)
  other = guest.slice(8 * 800, 8 * 10_800)
})

const pcm8 = formatOf('pcm')
const pcm16 = formatOf('pcm', 16_000)
const joined = (...parts: readonly Uint8Array[]): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part]))
const sine = (hz: number, amplitude: number) => (i: number) => amplitude * Math.sin((2 * Math.PI * hz * i) / 8000)
/** A generator of numbers from 0 to 1, the same in every run. */
const randomSource = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** So many times the ten seconds of speech. */
const repeatedSpeech = (times: number): Int16Array => {
  const samples = new Int16Array(times * speech.length)
  for (let at = 0; at < times; at += 1) samples.set(speech, at * speech.length)
  return samples
}

describe('the sound check names what is wrong', () => {
  it.each<[Encoding, Encoding]>([
    ['pcm', 'ulaw'],
    ['pcm', 'alaw'],
    ['ulaw', 'pcm'],
    ['ulaw', 'alaw'],
    ['alaw', 'pcm'],
    ['alaw', 'ulaw'],
  ])('in audio said to be %s that is %s, and nothing that follows from it', (declared, actual) => {
    const warnings = warningsOf(formatOf(declared), encoded(speech, actual))
    expect(brief(warnings)).toEqual([`wrong-encoding ${actual}`])
    // The first two seconds of the recording are speech; in a wrong encoding they are up to twice as long.
    expect(warnings[0]?.atMs).toBeLessThanOrEqual(2000)
    expect(warnings[0]?.message).toContain(`set the encoding to ${actual}`)
  })

  it('in stereo audio of another encoding', () => {
    expect(brief(warningsOf(formatOf('pcm', 8000, 2), stereo(speech, other, 'ulaw')))).toEqual(['wrong-encoding ulaw'])
    expect(brief(warningsOf(formatOf('ulaw', 8000, 2), stereo(speech, other, 'pcm')))).toEqual(['wrong-encoding pcm'])
  })

  it('in swapped bytes, and where a byte is missing', () => {
    const bytes = encoded(speech, 'pcm')
    expect(brief(warningsOf(pcm8, swapped(bytes)))).toEqual(['swapped-bytes'])
    expect(brief(warningsOf(pcm8, bytes.subarray(1)))).toEqual(['swapped-bytes'])
  })

  it('in audio of 8 kHz said to be 16 kHz', () => {
    const warnings = warningsOf(pcm16, encoded(speech, 'pcm'))
    expect(brief(warnings)).toEqual(['wrong-rate lower'])
    expect(warnings[0]?.message).toContain('16000 Hz')
  })

  it.each([
    [16_000, 8000],
    [22_050, 8000],
    [44_100, 8000],
    [48_000, 8000],
    [44_100, 16_000],
    [48_000, 16_000],
  ])('in speech of a telephone that was resampled to %i Hz and is said to be %i Hz', async (actualHz, saidHz) => {
    const bytes = encoded(await resampled(speech, 8000, actualHz), 'pcm')
    expect(brief(warningsOf(formatOf('pcm', saidHz), bytes))).toEqual(['wrong-rate higher'])
  })

  it('in a channel without a signal in half a minute of sound, and in equal channels', () => {
    const given = formatOf('pcm', 8000, 2)
    const call = repeatedSpeech(9)
    const silentCall = new Int16Array(call.length)
    expect(brief(warningsOf(given, stereo(call, silentCall, 'pcm')))).toEqual(['dead-channel 1'])
    expect(brief(warningsOf(given, stereo(silentCall, call, 'pcm')))).toEqual(['dead-channel 0'])
    expect(brief(warningsOf(given, stereo(speech, speech, 'pcm')))).toEqual(['equal-channels'])
    const softer = changed(speech, (sample) => sample / 2)
    expect(brief(warningsOf(formatOf('ulaw', 8000, 2), stereo(speech, softer, 'ulaw')))).toEqual(['equal-channels'])
  })

  it('in equal channels of which one has noise or is inverted, and in the first 2 s of speech with pauses', () => {
    const given = formatOf('pcm', 8000, 2)
    const random = randomSource(5)
    // 50 dB below full scale, which is more than a whisper in the other channel.
    const noisy = changed(speech, (sample) => sample + 180 * (random() + random() + random() - 1.5) * 2)
    expect(brief(warningsOf(given, stereo(speech, noisy, 'pcm')))).toEqual(['equal-channels'])
    const inverted = changed(speech, (sample) => -sample)
    expect(brief(warningsOf(given, stereo(speech, inverted, 'pcm')))).toEqual(['equal-channels'])
    const first = speech.findIndex((sample) => Math.abs(sample) > 1000)
    const paused = changed(speech.subarray(first), (sample, i) => (i % 6400 < 3600 ? sample : 0))
    const [warning] = warningsOf(given, stereo(paused, paused, 'pcm'))
    expect(warning?.kind).toBe('equal-channels')
    expect(warning?.atMs).toBeLessThanOrEqual(2000)
  })

  it('in clipped audio, at full scale and below it', () => {
    const peak = speech.reduce((max, sample) => Math.max(max, Math.abs(sample)), 0)
    const loud = changed(speech, (sample) => (3 * 32_767 * sample) / peak)
    expect(brief(warningsOf(pcm8, encoded(loud, 'pcm')))).toEqual(['clipping 0'])
    expect(brief(warningsOf(formatOf('alaw'), encoded(loud, 'alaw')))).toEqual(['clipping 0'])
    const square = changed(speech, (sample) => sample * 32_768)
    expect(brief(warningsOf(pcm8, encoded(square, 'pcm')))).toEqual(['clipping 0'])
    // The half of full scale is also a step of audio of few bits.
    for (const gain of [0.31, 0.5]) {
      const attenuated = changed(loud, (sample) => sample * gain)
      expect(brief(warningsOf(pcm8, encoded(attenuated, 'pcm')))).toEqual(['clipping 0'])
    }
  })

  it('in audio with a constant offset or with mains hum, on the channel that has it', () => {
    const offset = changed(other, (sample) => sample + 1500)
    expect(brief(warningsOf(formatOf('pcm', 8000, 2), stereo(speech, offset, 'pcm')))).toEqual(['dc-offset 1'])
    for (const hz of [50, 60]) {
      // A tenth of a hertz beside, as mains are.
      const hum = sine(hz + 0.1, 500)
      const warnings = warningsOf(
        pcm8,
        encoded(
          changed(speech, (sample, i) => sample + hum(i)),
          'pcm',
        ),
      )
      expect(brief(warnings)).toEqual([`mains-hum ${hz} Hz 0`])
    }
  })

  it.each<[string, Uint8Array]>([
    ['Ogg', ascii('OggS\0\x02\0\0')],
    ['MP3', ascii('ID3\x04\0\0\0\0\0\x23')],
    ['FLAC', ascii('fLaC\0\0\0\x22')],
    ['WebM', Uint8Array.of(0x1a, 0x45, 0xdf, 0xa3, 0x9f, 0x42)],
    ['MP4', ascii('\0\0\0\x20ftypisom')],
    ['gzip', Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0)],
    ['AMR', ascii('#!AMR\n')],
    ['ZIP', ascii('PK\x03\x04')],
    ['WMA', Uint8Array.of(0x30, 0x26, 0xb2, 0x75, 0x8e, 0x66)],
    ['VOC', ascii('Creative Voice File')],
  ])('in a %s file with its first message, and nothing of its compressed data', (found, header) => {
    const random = randomSource(7)
    const data = Uint8Array.from({ length: 32_000 }, () => Math.floor(random() * 256))
    const warnings = warningsOf(pcm8, joined(header, data))
    expect(brief(warnings)).toEqual([`file-header ${found}`])
    expect(warnings[0]?.atMs).toBeLessThanOrEqual(20)
  })

  it('in MP3 without a tag, by two frames', () => {
    const bytes = new Uint8Array(2000)
    for (let at = 0; at < bytes.length; at += 417) bytes.set([0xff, 0xfb, 0x90, 0xc4], at)
    expect(brief(warningsOf(pcm8, bytes))).toEqual(['file-header MP3'])
    expect(brief(warningsOf(pcm8, bytes.subarray(0, 400)))).toEqual([])
  })

  it('in a WAV file, whose samples are examined too, at the beginning and where files are joined', () => {
    const bytes = encoded(speech, 'pcm')
    const header = wavHeader(pcm8, bytes.length)
    expect(brief(warningsOf(pcm8, joined(header, bytes)))).toEqual(['file-header WAV'])
    const [warning] = warningsOf(pcm8, joined(bytes.subarray(0, 30_000), header, bytes.subarray(30_000)))
    expect(warning).toMatchObject({ kind: 'file-header', found: 'WAV', atMs: 1900 })
    expect(brief(warningsOf(pcm8, joined(header, swapped(bytes))))).toEqual(['file-header WAV', 'swapped-bytes'])
  })

  it('in text, such as JSON and base64, also after silence', () => {
    const payload = Buffer.from(encoded(speech.subarray(0, 8000), 'ulaw')).toString('base64')
    const given = formatOf('ulaw')
    expect(brief(warningsOf(given, ascii(JSON.stringify({ event: 'media', payload }))))).toEqual(['file-header text'])
    expect(brief(warningsOf(given, ascii(payload)))).toEqual(['file-header text'])
    expect(brief(warningsOf(given, ascii('/'.repeat(1600) + payload)))).toEqual(['file-header text'])
  })

  it('in samples as numbers: hexadecimal, and a list in JSON', () => {
    const some = speech.subarray(8000, 16_000)
    for (const text of [
      Buffer.from(encoded(some, 'pcm')).toString('hex'),
      Buffer.from(encoded(some, 'pcm')).toString('hex').toUpperCase(),
      JSON.stringify([...some]),
    ]) {
      expect(brief(warningsOf(pcm8, ascii(text)))).toEqual(['file-header text'])
    }
  })

  it('once for each kind and channel, however long it lasts', () => {
    const offset = changed(speech, (sample) => sample + 1500)
    const minutes = Int16Array.from({ length: 8000 * 120 }, (_none, i) => offset[i % offset.length] ?? 0)
    expect(brief(warningsOf(pcm8, encoded(minutes, 'pcm')))).toEqual(['dc-offset 0'])
  })

  it('in the middle of a session', () => {
    const minute = Int16Array.from({ length: 8000 * 60 }, (_none, i) => speech[i % speech.length] ?? 0)
    const spoiled = changed(minute, (sample, i) => (i < 8000 * 30 ? sample : sample + 1500))
    const [warning] = warningsOf(pcm8, encoded(spoiled, 'pcm'))
    expect(warning?.kind).toBe('dc-offset')
    // Later audio is examined for 2 s of each 12 s.
    expect(warning?.atMs).toBeGreaterThan(30_000)
    expect(warning?.atMs).toBeLessThanOrEqual(44_000)
  })

  it('the same for any length of messages', () => {
    const bytes = swapped(encoded(speech, 'pcm')).subarray(0, 48_000)
    const [expected] = warningsOf(pcm8, bytes)
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20_000 }), (messageBytes) => {
        expect(warningsOf(pcm8, bytes, messageBytes)).toEqual([expected])
      }),
      { numRuns: 20 },
    )
  })
})

describe('the sound check says nothing about right audio', () => {
  it.each<Encoding>(['pcm', 'ulaw', 'alaw'])(
    'of the sample call in %s, mono and stereo, loud and soft',
    async (encoding) => {
      const [left = new Int16Array(), right = new Int16Array()] = await callSpeakers()
      expect(brief(warningsOf(formatOf(encoding), encoded(left, encoding)))).toEqual([])
      expect(brief(warningsOf(formatOf(encoding), encoded(right, encoding)))).toEqual([])
      expect(brief(warningsOf(formatOf(encoding, 8000, 2), stereo(left, right, encoding)))).toEqual([])
      expect(
        brief(
          warningsOf(
            formatOf(encoding),
            encoded(
              changed(left, (sample) => sample / 16),
              encoding,
            ),
          ),
        ),
      ).toEqual([])
      expect(
        brief(
          warningsOf(
            formatOf(encoding),
            encoded(
              changed(left, (sample) => sample * 3),
              encoding,
            ),
          ),
        ),
      ).toEqual([])
    },
  )

  it('of another rate, if it says so', async () => {
    for (const rateHz of [16_000, 44_100, 48_000]) {
      const samples = await resampled(speech, 8000, rateHz)
      expect(brief(warningsOf(formatOf('pcm', rateHz), encoded(samples, 'pcm')))).toEqual([])
    }
  })

  it('of the two speakers of a call of which each hears himself in the other channel, 20 dB softer', () => {
    // Turns of 4 s.
    const isTurn = (i: number) => i % 64_000 < 32_000
    const [caller, agent] = [
      changed(speech, (s, i) => (isTurn(i) ? s : 0)),
      changed(other, (s, i) => (isTurn(i) ? 0 : s)),
    ]
    const left = changed(caller, (sample, i) => sample + (agent[i] ?? 0) / 10)
    const right = changed(agent, (sample, i) => sample + (caller[i] ?? 0) / 10)
    expect(brief(warningsOf(formatOf('pcm', 8000, 2), stereo(left, right, 'pcm')))).toEqual([])
  })

  it('of the hum of a room, 43 dB below full scale', () => {
    const hum = sine(60, 330)
    expect(
      brief(
        warningsOf(
          pcm8,
          encoded(
            changed(speech, (sample, i) => sample + hum(i)),
            'pcm',
          ),
        ),
      ),
    ).toEqual([])
  })

  const random = randomSource(3)
  const noise = (level: number) => (): number => level * (random() + random() + random() - 1.5)
  let brownian = 0
  const brown = (level: number) => (): number => {
    brownian = 0.995 * brownian + random() - 0.5
    return level * brownian
  }
  const digit = (i: number): number => (i % 1600 < 800 ? sine(770, 8000)(i) + sine(1336, 8000)(i) : 0)
  const melody = (i: number): number => {
    const note = 220 * 2 ** (((Math.floor(i / 2000) * 7) % 12) / 12)
    return sine(note, 6000)(i) + sine(2 * note, 3000)(i) + sine(3 * note, 2000)(i)
  }
  it.each<[string, (i: number) => number]>([
    ['silence', () => 0],
    ['dither', noise(1)],
    ['white noise', noise(4000)],
    ['soft white noise', noise(60)],
    ['brown noise', brown(1500)],
    ['a tone', sine(1000, 12_000)],
    ['a tone with a period of a part of a block', sine(500, 12_000)],
    ['a tone beside the mains', sine(55, 12_000)],
    ['DTMF', digit],
    ['a melody', melody],
  ])('of %s', (_name, sound) => {
    const samples = Int16Array.from({ length: 160_000 }, (_none, i) => Math.round(sound(i)))
    for (const encoding of ['pcm', 'ulaw', 'alaw'] as const) {
      expect(brief(warningsOf(formatOf(encoding), encoded(samples, encoding)))).toEqual([])
    }
  })

  it('of noise beside a channel without a signal, but for that channel', () => {
    const hiss = Int16Array.from({ length: 280_000 }, noise(4000))
    const silence = new Int16Array(hiss.length)
    for (const encoding of ['pcm', 'ulaw', 'alaw'] as const) {
      const given = formatOf(encoding, 8000, 2)
      expect(brief(warningsOf(given, stereo(hiss, silence, encoding)))).toEqual(['dead-channel 1'])
      expect(brief(warningsOf(given, stereo(silence, hiss, encoding)))).toEqual(['dead-channel 0'])
    }
  })

  it('of a low tone that begins with letters of ASCII only', () => {
    const samples = Int16Array.from({ length: 16_000 }, (_none, i) => Math.round(-sine(22, 2000)(i + 8)))
    const bytes = encoded(samples, 'ulaw')
    expect([...bytes.subarray(0, 160)].every((byte) => byte >= 0x20 && byte < 0x7f)).toBe(true)
    expect(brief(warningsOf(formatOf('ulaw'), bytes))).toEqual([])
  })

  it('of the silence of each encoding, which are all text in A-law', () => {
    for (const byte of [0x55, 0xd5])
      expect(brief(warningsOf(formatOf('alaw'), new Uint8Array(80_000).fill(byte)))).toEqual([])
    for (const byte of [0x7f, 0xff])
      expect(brief(warningsOf(formatOf('ulaw'), new Uint8Array(80_000).fill(byte)))).toEqual([])
  })
})

const folder = resolve('../shared/audio')
const absent = !existsSync(folder)
const title = absent
  ? 'the sound check on recordings (skipped: ../shared/audio is absent)'
  : 'the sound check on recordings'

/** The recordings whose wrong rate is not named, and by which factor it is wrong. */
const unclear = new Map([
  ['seven-of-clubs', [2, 3]],
  ['ten-of-clubs', [2]],
])

describe.skipIf(absent)(title, () => {
  it.each(['four-queen-of-clubs', 'seven-of-clubs', 'ten-of-clubs', 'librivox-0870', 'librivox-0880'])(
    'says nothing about %s, and names its spoilings',
    async (name) => {
      const { bytes } = await readRecording(resolve(folder, `${name}.wav`))
      const once = decodeSamples(new Uint8Array(bytes), 'pcm')
      // Long enough for a verdict; some are a second.
      const samples = Int16Array.from(
        { length: Math.max(once.length, 64_000) },
        (_none, i) => once[i % once.length] ?? 0,
      )
      expect(brief(warningsOf(pcm16, encoded(samples, 'pcm')))).toEqual([])
      expect(brief(warningsOf(formatOf('ulaw', 16_000), encoded(samples, 'ulaw')))).toEqual([])
      expect(brief(warningsOf(pcm16, swapped(encoded(samples, 'pcm'))))).toEqual(['swapped-bytes'])
      expect(brief(warningsOf(pcm16, encoded(samples, 'ulaw')))).toEqual(['wrong-encoding ulaw'])
      expect(brief(warningsOf(formatOf('alaw', 16_000), encoded(samples, 'ulaw')))).toEqual(['wrong-encoding ulaw'])
      // A second of speech that is repeated is not always clear enough, which is better than a false alarm.
      const slow = (saidHz: number, hz: number): readonly string[] =>
        (unclear.get(name) ?? []).includes(hz / saidHz) ? [] : ['wrong-rate higher']
      expect(brief(warningsOf(pcm8, encoded(samples, 'pcm')))).toEqual(slow(8000, 16_000))
      const microphone = encoded(await resampled(samples, 16_000, 48_000), 'pcm')
      expect(brief(warningsOf(pcm16, microphone))).toEqual(slow(16_000, 48_000))
      expect(brief(warningsOf(pcm8, microphone))).toEqual(slow(8000, 48_000))
    },
  )
})

describe('SoundCheck', () => {
  it.each(['pcm', 'ulaw'] as const)(
    'takes no leg of a call in %s for dead that begins with digital silence, wherever it then speaks',
    (encoding) => {
      const agent = repeatedSpeech(3)
      for (let afterMs = 0; afterMs < 29_000; afterMs += 1700) {
        // A single word, which may be in blocks that are not examined for other faults.
        const word = other.subarray(8 * 2000, 8 * 2300)
        const customer = new Int16Array(agent.length)
        customer.set(word, 8 * afterMs)
        const warnings = warningsOf(formatOf(encoding, 8000, 2), stereo(agent, customer, encoding))
        expect(brief(warnings), `${afterMs} ms`).toEqual([])
      }
    },
  )

  it('withdraws the warning about a channel when it has a signal', () => {
    const agent = repeatedSpeech(9)
    const customer = new Int16Array(agent.length)
    customer.set(other.subarray(8 * 2000, 8 * 2300), 8 * 85_000)
    const warnings = warningsOf(formatOf('ulaw', 8000, 2), stereo(agent, customer, 'ulaw'))
    expect(warnings).toMatchObject([
      { kind: 'dead-channel', channel: 1, message: expect.stringContaining('if somebody speaks there') as string },
      {
        kind: 'dead-channel',
        channel: 1,
        isOver: true,
        message: expect.stringContaining('has a signal now') as string,
      },
    ])
    expect(warnings[1]?.atMs).toBeGreaterThanOrEqual(85_000)
    expect(warnings[1]?.atMs).toBeLessThanOrEqual(85_300)
  })

  it('hears soft noise in a channel, which is not dead', () => {
    const random = randomSource(4)
    const soft = changed(new Int16Array(speech.length), () => 12 * (random() + random() + random() - 1.5))
    expect(brief(warningsOf(formatOf('pcm', 8000, 2), stereo(speech, soft, 'pcm')))).toEqual([])
  })

  it('finds an offset in silence', () => {
    const offset = changed(new Int16Array(speech.length), (_none, i) => 1000 + (i % 3))
    expect(brief(warningsOf(pcm8, encoded(offset, 'pcm')))).toEqual(['dc-offset 0'])
  })

  it('reports when a call has examined all of its bytes, so that the receiver may call again', () => {
    const order: string[] = []
    const check: SoundCheck = new SoundCheck(pcm8, ({ kind, atMs }) => {
      order.push(`${kind} ${atMs}`)
      if (order.length === 1) check.push(encoded(speech, 'pcm'))
    })
    check.push(joined(ascii('OggS\0\x02'), new Uint8Array(8000)))
    expect(order).toEqual(['file-header 100'])
  })
})
