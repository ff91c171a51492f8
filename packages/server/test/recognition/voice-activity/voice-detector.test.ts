import { afterEach, describe, expect, it } from 'vitest'
import { decodeChannels } from '../../../../../src/audio/codec.js'
import { decodeALaw, decodeMuLaw } from '../../../../../src/audio/g711.js'
import { openFvad } from '../../../src/recognition/voice-activity/fvad.js'
import { TelephoneBand } from '../../../src/recognition/voice-activity/telephone-band.js'
import { createVoiceDetector, type VoiceDetector } from '../../../src/recognition/voice-activity/voice-detector.js'
import { readRecording } from '../../../../../test/audio/read-recording.js'
import { amplitude, joined, noiseSource, recording, recordingsMissing, sine, sound, throughUlaw } from '../sounds.js'

const rates = [8000, 16_000] as const
const seconds = 10

let opened: VoiceDetector[] = []
afterEach(() => {
  for (const detector of opened) detector.free()
  opened = []
})

const open = async (sampleRateHz: number, sensitivity = 6): Promise<VoiceDetector> => {
  const detector = await createVoiceDetector({ sampleRateHz, sensitivity })
  opened.push(detector)
  return detector
}

/** The verdicts frame by frame, and the longest run of speech among them. */
const judge = (detector: VoiceDetector, samples: Int16Array, sampleRateHz: number) => {
  const hop = sampleRateHz / 100
  let run = 0
  let longestRun = 0
  let frames = 0
  for (let from = 0; from + hop <= samples.length; from += hop) {
    const speech = detector.isSpeech(samples.subarray(from, from + hop))
    run = speech ? run + 1 : 0
    longestRun = Math.max(longestRun, run)
    if (speech) frames += 1
  }
  return { frames, longestRun }
}

const hum = (frequencyHz: number) => (time: number) =>
  amplitude(-20) *
  (sine(frequencyHz, time) +
    0.3 * sine(2 * frequencyHz, time) +
    0.3 * sine(3 * frequencyHz, time) +
    0.15 * sine(5 * frequencyHz, time))
const noise = (levelDb: number): (() => number) => {
  const next = noiseSource()
  return () => amplitude(levelDb) * next()
}
/** Noise whose power falls with the square of its frequency, as that of wind and traffic does. */
const rumble = (levelDb: number): (() => number) => {
  const next = noiseSource(5)
  let sum = 0
  return () => {
    sum = 0.995 * sum + next()
    return amplitude(levelDb) * 0.1 * sum
  }
}
const tones =
  (...frequencies: readonly number[]) =>
  (time: number) =>
    frequencies.reduce((sum, frequency) => sum + amplitude(-16) * sine(frequency, time), 0)
/** Many harmonics with a formant; its level is 1.7 dB below the given level. */
const vowel =
  (levelDb: number) =>
  (time: number): number =>
    Array.from({ length: 20 }, (_, index) => sine(100 * (index + 1), time) / (1 + Math.abs(index - 4)))
      .map((part) => amplitude(levelDb) * 0.8 * part)
      .reduce((sum, part) => sum + part)
const whenever = (isOn: (time: number) => boolean, at: (time: number) => number) => (time: number) =>
  isOn(time) ? at(time) : 0

const neverSpeech: Readonly<Record<string, () => (time: number) => number>> = {
  'digital silence': () => () => 0,
  'an offset of the line': () => () => 1000,
  'hum of 50 Hz': () => hum(50),
  'hum of 60 Hz': () => hum(60),
  'noise at -60 dBFS': () => noise(-60),
  'noise at -45 dBFS': () => noise(-45),
  'noise at -30 dBFS': () => noise(-30),
  'noise at -20 dBFS': () => noise(-20),
  'noise behind two seconds of digital silence': () => whenever((time) => time > 2, noise(-30)),
  'noise at -30 dBFS behind noise at -60 dBFS': () => {
    const [quiet, loud] = [noise(-60), noise(-30)]
    return (time) => (time < 2 ? quiet() : loud())
  },
  'comfort noise at -50 dBFS by turns with silence': () => whenever((time) => time % 4 >= 2, noise(-50)),
  'rumble at -35 dBFS': () => rumble(-35),
  'rumble at -20 dBFS': () => rumble(-20),
  'a dial tone': () => tones(350, 440),
  'a ringing tone': () => whenever((time) => time % 6 < 2, tones(440, 480)),
  'a busy tone': () => whenever((time) => time % 1 < 0.5, tones(480, 620)),
  'a hold tone of one sine': () => whenever((time) => time % 5 < 1, tones(425)),
  'a hold beep of 400 ms': () => whenever((time) => time % 5 < 0.4, tones(1400)),
}

/** Fewer frames than an onset takes, so that no segment opens. */
const shortOfAnOnset = 6

describe('a voice detector', () => {
  for (const rate of rates) {
    for (const [name, make] of Object.entries(neverSpeech)) {
      it(`ignores ${name} at ${rate} Hz, as PCM and through µ-law`, async () => {
        const samples = sound(rate, seconds, make())
        expect(judge(await open(rate), samples, rate).longestRun).toBeLessThan(shortOfAnOnset)
        expect(judge(await open(rate), throughUlaw(samples), rate).longestRun).toBeLessThan(shortOfAnOnset)
      })
    }
  }

  it('ignores touch tones at 16000 Hz, a tenth of a second each, through µ-law', async () => {
    const [rows, columns] = [
      [697, 770, 852, 941],
      [1209, 1336, 1477],
    ] as const
    const keys = sound(16_000, seconds, (time) => {
      const key = Math.floor(time / 0.2)
      return time % 0.2 < 0.1 ? tones(rows[key % 4] ?? 0, columns[key % 3] ?? 0)(time) : 0
    })
    expect(judge(await open(16_000), throughUlaw(keys), 16_000).longestRun).toBeLessThan(shortOfAnOnset)
  })

  it('ignores idle G.711: alternating 0xFF and 0x7F, and A-law 0xD5 and 0x55', async () => {
    const bytes = (first: number, second: number) =>
      Uint8Array.from({ length: 80_000 }, (_, index) => (index % 2 ? first : second))
    expect(judge(await open(8000), decodeMuLaw(bytes(0xff, 0x7f)), 8000).frames).toBe(0)
    expect(judge(await open(8000), decodeALaw(bytes(0xd5, 0x55)), 8000).frames).toBe(0)
  })

  it('ignores a hold tone even while a segment is in speech, after 300 ms', async () => {
    const detector = await open(8000)
    judge(detector, sound(8000, 1, noise(-60)), 8000)
    detector.freezeFloor(true)
    expect(judge(detector, sound(8000, 1, tones(425)), 8000).frames).toBe(29)
  })

  it('keeps detecting a vowel at one level while a segment is in speech', async () => {
    const detector = await open(8000)
    judge(detector, sound(8000, 1, noise(-50)), 8000)
    detector.freezeFloor(true)
    expect(judge(detector, sound(8000, 0.8, vowel(-25)), 8000).frames).toBeGreaterThan(60)
  })

  it('detects the onset of a vowel at a constant level', async () => {
    const detector = await open(8000)
    judge(detector, sound(8000, 1, noise(-60)), 8000)
    expect(judge(detector, sound(8000, 0.3, vowel(-20)), 8000).longestRun).toBeGreaterThanOrEqual(6)
  })

  it('keeps detecting a vowel that falls below the level of an onset', async () => {
    const sunken = -42
    const [begun, fresh] = [await open(8000), await open(8000)]
    for (const detector of [begun, fresh]) {
      judge(detector, sound(8000, 1, noise(-50)), 8000)
      detector.freezeFloor(true)
    }
    judge(begun, sound(8000, 0.3, vowel(-25)), 8000)
    expect(judge(begun, sound(8000, 0.3, vowel(sunken)), 8000).frames).toBe(30)
    expect(judge(fresh, sound(8000, 0.3, vowel(sunken)), 8000).frames).toBe(0)
  })

  it('detects a low voice across the soft frames between its pulses', async () => {
    const detector = await open(8000)
    judge(detector, sound(8000, 1, noise(-50)), 8000)
    detector.freezeFloor(true)
    const pulsed = (time: number): number => vowel(-30)(time) * (Math.floor(time * 100) % 2 === 0 ? 1 : 0.1)
    expect(judge(detector, sound(8000, 0.5, pulsed), 8000).longestRun).toBeGreaterThan(40)
  })

  it('supports 32 and 48 kHz', async () => {
    for (const rate of [32_000, 48_000]) {
      expect(judge(await open(rate), sound(rate, 2, noise(-30)), rate).longestRun).toBeLessThan(shortOfAnOnset)
    }
  })

  it('detects no speech once it is freed, once or twice', async () => {
    const detector = await open(8000)
    detector.free()
    detector.free()
    expect(judge(detector, sound(8000, 1, tones(200, 1100, 2300)), 8000).frames).toBe(0)
  })

  it('rejects other rates and other sensitivities by name', async () => {
    await expect(createVoiceDetector({ sampleRateHz: 11_025, sensitivity: 6 })).rejects.toMatchObject({
      code: 'invalid-format',
    })
    for (const sensitivity of [0, 11, 5.5, NaN]) {
      await expect(createVoiceDetector({ sampleRateHz: 8000, sensitivity })).rejects.toMatchObject({
        code: 'invalid-field',
        message: expect.stringContaining('vad-sensitivity') as string,
      })
    }
  })
})

describe.each([8000, 16_000])('a strong constant in the samples of %d Hz', (rateHz) => {
  it.each([20_000, -20_000])('of %d hides no speech', async (offset) => {
    const { bytes, format } = await readRecording('samples/call.wav')
    const [call = new Int16Array(0)] = decodeChannels(bytes.subarray(0, 4 * 16_000), format)
    const times = rateHz / 8000
    const speech = Int16Array.from(
      { length: times * call.length },
      (_none, at) => (call[Math.floor(at / times)] ?? 0) / 2,
    )
    const plain = judge(await open(rateHz), speech, rateHz).frames
    expect(plain).toBeGreaterThan(100)
    const shifted = judge(
      await open(rateHz),
      speech.map((sample) => sample + offset),
      rateHz,
    ).frames
    expect(Math.abs(shifted - plain)).toBeLessThan(20)
  })
})

describe.skipIf(recordingsMissing !== undefined)(`a voice detector on recordings ${recordingsMissing ?? ''}`, () => {
  it('detects more frames with a higher sensitivity', async () => {
    const samples = recording('librivox-0880.wav')
    const received: number[] = []
    for (const sensitivity of [1, 6, 10]) received.push(judge(await open(16_000, sensitivity), samples, 16_000).frames)
    expect(received[0]).toBeLessThan(received[1] ?? 0)
    expect(received[1]).toBeLessThan(received[2] ?? 0)
  })

  it('finds as much speech in white noise at 16 kHz as in the band of a telephone', async () => {
    const next = noiseSource(9)
    const room = new Int16Array(32_000)
    const samples = joined(room, recording('librivox-0880.wav')).map((sample) => sample + amplitude(-30) * next())
    const narrow = new TelephoneBand(16_000)
    const telephone = Int16Array.from({ length: samples.length >> 1 })
    for (let from = 0; from + 160 <= samples.length; from += 160)
      telephone.set(narrow.take(samples.subarray(from, from + 160)), from >> 1)
    const { frames } = judge(await open(16_000), samples, 16_000)
    expect(frames).toBeGreaterThan(50)
    expect(frames).toBe(judge(await open(8000), telephone, 8000).frames)
  })

  it('detects only frames that WebRTC classifies as voice', async () => {
    const next = noiseSource()
    const room = sound(16_000, 1, () => amplitude(-60) * next())
    const samples = joined(room, recording('go-forward-ten-meters.16k.raw'), recording('librivox-0880.wav'))
    const [detector, fvad, band] = [await open(16_000, 5), await openFvad(2), new TelephoneBand(16_000)]
    detector.freezeFloor(true)
    const beyond: number[] = []
    for (let from = 0; from + 160 <= samples.length; from += 160) {
      const frame = samples.subarray(from, from + 160)
      const voiced = fvad.process(band.take(frame))
      if (detector.isSpeech(frame) && !voiced) beyond.push(from)
    }
    fvad.free()
    expect(beyond).toEqual([])
  })

  it('keeps channels separate: two alternating give the results of each alone', async () => {
    const [item, two] = [recording('ten-of-clubs.wav'), recording('seven-of-clubs.wav').subarray(0, 17_500)]
    const alone = [judge(await open(16_000), item, 16_000).frames, judge(await open(16_000), two, 16_000).frames]
    const [first, second] = [await open(16_000), await open(16_000)]
    const together = [0, 0]
    for (let from = 0; from + 160 <= Math.min(item.length, two.length); from += 160) {
      if (first.isSpeech(item.subarray(from, from + 160))) together[0] = (together[0] ?? 0) + 1
      if (second.isSpeech(two.subarray(from, from + 160))) together[1] = (together[1] ?? 0) + 1
    }
    expect(together).toEqual(alone)
  })

  it('detects speech in audio that begins in the middle of a word', async () => {
    const samples = recording('ten-of-clubs.wav').subarray(9600)
    expect(judge(await open(16_000), samples, 16_000).longestRun).toBeGreaterThanOrEqual(shortOfAnOnset)
  })

  it('detects speech again after a period of noise', async () => {
    const samples = joined(sound(16_000, 4, noise(-30)), sound(16_000, 1, noise(-60)), recording('ten-of-clubs.wav'))
    expect(judge(await open(16_000), samples, 16_000).longestRun).toBeGreaterThanOrEqual(shortOfAnOnset)
  })
})
