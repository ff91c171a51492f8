// 200 inputs without speech, the same in every run: silence, noise, tones, music, and what a room, a desk and a street
// sound like. Those of a telephone have 8 kHz, the others 16 kHz.
import { between, gaussian, notSpeech, randomSource } from '../accuracy/noises.mjs'

const rateHz = 16_000
const seconds = 8
const length = seconds * rateHz
const turn = 2 * Math.PI

/** Band-limits a source by two one-pole filters. */
const band = (next, lowHz, highHz) => {
  const up = 1 - Math.exp((-turn * highHz) / rateHz)
  const down = 1 - Math.exp((-turn * lowHz) / rateHz)
  let smooth = 0
  let slow = 0
  return () => {
    smooth += up * (next() - smooth)
    slow += down * (smooth - slow)
    return smooth - slow
  }
}

/** A resonance with two poles. */
const resonator = (hz, widthHz) => {
  const radius = Math.exp((-Math.PI * widthHz) / rateHz)
  const turnBack = 2 * radius * Math.cos((turn * hz) / rateHz)
  let last = 0
  let before = 0
  return (value) => {
    const now = (1 - radius) * value + turnBack * last - radius * radius * before
    before = last
    last = now
    return now
  }
}

const signal = (sampleAt) => Float64Array.from({ length }, (_none, at) => sampleAt(at / rateHz, at))

/**
 * Sounds that begin at times: each is added from its begin on. `soundOf` returns a function of the samples since then.
 */
const events = (random, { firstS = 0.5, gapS, lastsS }, soundOf) => {
  const samples = new Float64Array(length)
  for (let beginS = firstS; beginS < seconds - 0.5; beginS += gapS()) {
    const begin = Math.round(beginS * rateHz)
    const sound = soundOf(beginS)
    const end = Math.min(length, begin + Math.round(lastsS() * rateHz))
    for (let at = begin; at < end; at += 1) samples[at] += sound((at - begin) / rateHz, at - begin, end - begin)
  }
  return samples
}

const always = (value) => () => value
const semitones = (from, count) => from * 2 ** (count / 12)

/** Harmonics that fall off, as those of an organ or a string section. */
const chordTone = (hz, random) => {
  const phases = Array.from({ length: 6 }, () => turn * random())
  const vibratoHz = between(random, 4, 7)
  return (time) =>
    phases.reduce((sum, phase, order) => {
      const harmonic = hz * (order + 1)
      if (harmonic > 0.45 * rateHz) return sum
      return (
        sum +
        Math.sin(turn * harmonic * time + phase + 0.3 * (order + 1) * Math.sin(turn * vibratoHz * time)) / (order + 1)
      )
    }, 0)
}

/** A string that is plucked (Karplus and Strong). */
const pluck = (hz, random) => {
  const period = Math.max(2, Math.round(rateHz / hz))
  const ring = Float64Array.from({ length: period }, () => 2 * random() - 1)
  return (_time, at) => {
    const place = at % period
    const value = ring[place]
    ring[place] = 0.498 * (value + ring[(place + 1) % period])
    return value
  }
}

const chords = [
  [0, 4, 7],
  [9, 12, 16],
  [5, 9, 12],
  [7, 11, 14],
]

/** A voice that murmurs vowels without words. Several of them are a crowd. */
const murmur = (random) => {
  const pitchHz = between(random, 85, 240)
  let phase = 0
  let until = 0
  let formants = []
  let gain = 0
  let target = 0
  const breath = gaussian(random)
  return (time) => {
    if (time >= until) {
      until = time + between(random, 0.06, 0.35)
      target = random() < 0.25 ? 0 : between(random, 0.3, 1)
      formants = [
        resonator(between(random, 300, 800), 90),
        resonator(between(random, 900, 2200), 120),
        resonator(between(random, 2300, 3200), 200),
      ]
    }
    gain += 0.0008 * (target - gain)
    phase += (pitchHz * (1 + 0.08 * Math.sin(turn * 0.7 * time + pitchHz))) / rateHz
    const isPulse = phase >= 1
    if (isPulse) phase -= 1
    const source = (isPulse ? 12 : 0) + 0.05 * breath()
    return gain * formants.reduce((sum, filter) => sum + filter(source), 0)
  }
}

/** How each kind sounds, of a mean square of any size, and how many of it there are. */
const kinds = {
  silence: [2, (_random, number) => signal((_time, at) => (number === 0 ? 0 : at % 2))],
  'DC offset': [3, (_random, number) => signal(() => [1, -1, 0.5][number])],
  'codec idle': [
    4,
    // The two codes of zero of both laws, in turns or by chance, are steps of 8 and 16 of 32768.
    (random, number) =>
      signal((_time, at) => (number < 2 ? (number === 0 ? 8 : 8 * (at % 2)) : 16 * Math.round(random()))),
  ],
  hum: [
    6,
    (random, number) => {
      const hz = number % 2 === 0 ? 50 : 60
      const gains = [1, 2, 3, 5, 7, 9].map((order) => ({ order, gain: random() / order, phase: turn * random() }))
      return signal((time) =>
        gains.reduce((sum, { order, gain, phase }) => sum + gain * Math.sin(turn * hz * order * time + phase), 0),
      )
    },
  ],
  sweep: [
    8,
    (random, number) => {
      const toHz = between(random, 1500, 7000)
      const lastsS = between(random, 0.3, 6)
      let phase = 0
      return signal((time) => {
        const share = (time % lastsS) / lastsS
        const way = number % 2 === 0 ? share : 0.5 - 0.5 * Math.cos(turn * share)
        phase += (150 + (toHz - 150) * way) / rateHz
        return Math.sin(turn * phase)
      })
    },
  ],
  chord: [
    10,
    (random) => {
      const rootHz = between(random, 100, 330)
      const tones = chords.map((chord) => chord.map((step) => chordTone(semitones(rootHz, step), random)))
      const beatS = between(random, 0.8, 3)
      return signal((time) => {
        const inBeat = (time % beatS) / beatS
        const swell = Math.min(1, 20 * inBeat, 20 * (1 - inBeat))
        return swell * tones[Math.floor(time / beatS) % 4].reduce((sum, tone) => sum + tone(time), 0)
      })
    },
  ],
  'music with a beat': [
    10,
    (random) => {
      const rootHz = between(random, 110, 220)
      const beatS = 60 / between(random, 70, 150)
      const tones = chords.map((chord) => chord.map((step) => chordTone(semitones(rootHz, step), random)))
      const hiss = gaussian(random)
      const scale = [0, 2, 4, 7, 9, 12]
      const melody = Array.from({ length: 64 }, () => semitones(2 * rootHz, scale[Math.floor(6 * random())]))
      return signal((time) => {
        const inBeat = time % beatS
        const drum = Math.exp(-25 * inBeat) * Math.sin(turn * 60 * inBeat * (1 + Math.exp(-40 * inBeat)))
        const hat = 0.3 * Math.exp(-60 * (time % (beatS / 2))) * hiss()
        const note = melody[Math.floor((2 * time) / beatS) % 64]
        const lead =
          Math.exp(-4 * (time % (beatS / 2))) * (Math.sin(turn * note * time) + 0.4 * Math.sin(2 * turn * note * time))
        const pad = tones[Math.floor(time / (4 * beatS)) % 4].reduce((sum, tone) => sum + tone(time), 0)
        return 2 * drum + hat + lead + 0.3 * pad
      })
    },
  ],
  'plucked notes': [
    10,
    (random) => {
      const rootHz = between(random, 80, 300)
      const gapS = between(random, 0.15, 0.9)
      return events(random, { gapS: () => gapS * between(random, 0.7, 1.3), lastsS: always(2) }, () =>
        pluck(semitones(rootHz, Math.floor(24 * random())), random),
      )
    },
  ],
  clicks: [
    8,
    (random, number) => {
      const gapS = [always(0.5), always(1), () => -0.2 * Math.log(1 - random()), always(0.1)][number % 4]
      return events(random, { gapS, lastsS: always(0.003) }, () => {
        const hz = between(random, 1000, 5000)
        return (time) => Math.exp(-2000 * time) * Math.sin(turn * hz * time)
      })
    },
  ],
  keyboard: [
    12,
    (random) => {
      const speed = between(random, 0.08, 0.25)
      const gapS = () => (random() < 0.1 ? between(random, 0.5, 2) : speed * between(random, 0.5, 1.6))
      return events(random, { gapS, lastsS: always(0.12) }, () => {
        const hiss = band(gaussian(random), between(random, 300, 1500), 6500)
        const body = resonator(between(random, 150, 400), 80)
        const upS = between(random, 0.05, 0.09)
        return (time) => {
          const press = Math.exp(-180 * time) + (time > upS ? 0.5 * Math.exp(-250 * (time - upS)) : 0)
          const strike = press * hiss()
          return strike + 4 * body(strike)
        }
      })
    },
  ],
  breath: [
    12,
    (random) => {
      const gapS = () => between(random, 1.5, 3.5)
      const lastsS = () => between(random, 0.4, 1.6)
      return events(random, { gapS, lastsS }, () => {
        const air = band(gaussian(random), between(random, 200, 600), between(random, 1500, 5000))
        const throat = resonator(between(random, 900, 1800), 500)
        return (_time, at, total) => {
          const noise = air()
          return Math.sin((Math.PI * at) / total) ** 2 * (noise + 0.7 * throat(noise))
        }
      })
    },
  ],
  'crowd without words': [
    12,
    (random, number) => {
      const voices = Array.from({ length: 6 + 2 * number }, () => murmur(random))
      return signal((time) => voices.reduce((sum, voice) => sum + voice(time), 0))
    },
  ],
  wind: [
    10,
    (random) => {
      const low = band(gaussian(random), 20, between(random, 150, 700))
      const slow = band(gaussian(random), 0.05, 0.6)
      const whistle = resonator(between(random, 350, 900), 60)
      return signal(() => {
        const gust = Math.exp(120 * slow())
        const air = low() * Math.min(gust, 20)
        return air + 0.3 * whistle(air)
      })
    },
  ],
  knocks: [
    8,
    (random) => {
      const gapS = () => (random() < 0.6 ? between(random, 0.15, 0.3) : between(random, 0.8, 2.5))
      return events(random, { gapS, lastsS: always(0.25) }, () => {
        const body = resonator(between(random, 90, 350), 40)
        return (_time, at) => body(at < 16 ? 30 : 0)
      })
    },
  ],
  'noise modulated like speech': [
    12,
    (random, number) => {
      const voice = band(gaussian(random), 200, between(random, 1500, 3800))
      const hz = between(random, 2, 7)
      const depth = number % 2 === 0 ? 1 : 0.7
      return signal(
        (time) => (1 - depth * (0.5 + 0.5 * Math.sin(turn * hz * time + 2 * Math.sin(turn * 0.6 * time)))) * voice(),
      )
    },
  ],
  chirps: [
    6,
    (random) => {
      const gapS = () => between(random, 0.12, 0.8)
      return events(random, { gapS, lastsS: () => between(random, 0.05, 0.2) }, () => {
        const fromHz = between(random, 2000, 6000)
        const byHz = between(random, -15_000, 15_000)
        return (time, at, total) =>
          Math.sin((Math.PI * at) / total) * Math.sin(turn * (fromHz * time + (byHz * time * time) / 2))
      })
    },
  ],
  rustle: [
    4,
    (random) => {
      const gapS = () => between(random, 0.05, 0.4)
      return events(random, { gapS, lastsS: () => between(random, 0.02, 0.3) }, () => {
        const hiss = band(gaussian(random), between(random, 1000, 3000), 7000)
        const fall = between(random, 8, 40)
        return (time) => Math.exp(-fall * time) * hiss()
      })
    },
  ],
}

const levelsDb = [-18, -24, -32, -42]
const fixedLevel = new Set(['silence', 'codec idle'])

/** Samples whose loudest 100 ms have a level, on a room at -68 dBFS. */
const atLevel = (sound, levelDb, random) => {
  const window = rateHz / 10
  let loudest = 0
  for (let from = 0; from + window <= length; from += window) {
    let power = 0
    for (let at = from; at < from + window; at += 1) power += sound[at] ** 2 / window
    loudest = Math.max(loudest, power)
  }
  const scale = (32_768 * 10 ** (levelDb / 20)) / Math.sqrt(loudest || 1)
  const room = gaussian(random)
  return Int16Array.from(sound, (value) => Math.max(-32_768, Math.min(32_767, Math.round(scale * value + 13 * room()))))
}

/** Of the sounds of a telephone, which `notSpeech` has at more levels. */
const isChosen = ({ kind, levelDb, course }) => {
  if (kind === 'offset') return levelDb === -20
  return course === '' ? levelDb === -35 || levelDb === -20 : [-50, -30, -20].includes(levelDb)
}

/** The inputs as `{ name, rateHz, make }`, in an order that mixes the kinds. */
export const nonSpeechInputs = () => {
  const inputs = notSpeech(4 * seconds)
    .filter(isChosen)
    .map(({ kind, course, levelDb, make }) => ({
      name: [kind, course, `${levelDb} dBFS`].filter((part) => part !== '').join(', '),
      rateHz: 8000,
      make: () => make().subarray(0, seconds * 8000),
    }))
  for (const [at, [kind, [count, soundOf]]] of Object.entries(kinds).entries()) {
    for (let number = 0; number < count; number += 1) {
      const seed = 100_000 + 1000 * at + number
      const levelDb = levelsDb[number % levelsDb.length]
      const isFixed = fixedLevel.has(kind)
      inputs.push({
        name: isFixed ? `${kind} ${number + 1}` : `${kind} ${number + 1}, ${levelDb} dBFS`,
        rateHz,
        make: () => {
          const random = randomSource(seed)
          const sound = soundOf(random, number)
          return isFixed ? Int16Array.from(sound) : atLevel(sound, levelDb, random)
        },
      })
    }
  }
  return inputs
}
