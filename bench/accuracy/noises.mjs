// Sounds that are no speech, the same in every run: noise of several colors, fans, tones of telephones, offsets of a
// line.

export const rateHz = 8000

/** Uniform random numbers from 0 to 1 (mulberry32). */
export const randomSource = (seed) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Gaussian noise with a spread of one (Box-Muller). */
export const gaussian = (random) => {
  let spare
  return () => {
    if (spare !== undefined) {
      const value = spare
      spare = undefined
      return value
    }
    const radius = Math.sqrt(-2 * Math.log(1 - random()))
    const angle = 2 * Math.PI * random()
    spare = radius * Math.sin(angle)
    return radius * Math.cos(angle)
  }
}

export const between = (random, from, to) => from + (to - from) * random()

const white = (random) => gaussian(random)

/** 1/f by the filter of Paul Kellet, whose poles are given for 44.1 kHz and are moved to 8 kHz. */
const pink = (random) => {
  const next = gaussian(random)
  const poles = [0.99765, 0.963, 0.57].map((pole) => pole ** (44_100 / rateHz))
  const gains = [0.099046, 0.2965164, 1.0526913]
  const states = [0, 0, 0]
  return () => {
    const value = next()
    let sum = 0.1848 * value
    for (const [at, pole] of poles.entries()) {
      states[at] = pole * states[at] + gains[at] * value
      sum += states[at]
    }
    return sum
  }
}

/** 1/f², with a corner of about 6 Hz, so that it has a level. */
const brown = (random) => {
  const next = gaussian(random)
  let sum = 0
  return () => {
    sum = 0.995 * sum + next()
    return sum
  }
}

/** A fan: noise of air below a corner, hum of the mains and tones of the blades, which turn a little unevenly. */
const fan = (random) => {
  const next = gaussian(random)
  const mainsHz = random() < 0.5 ? 50 : 60
  const bladesHz = between(random, 70, 320)
  const share = 1 - Math.exp((-2 * Math.PI * between(random, 400, 1500)) / rateHz)
  const tones = [
    ...[1, 2, 3].map((order) => ({ hz: mainsHz * order, gain: between(random, 0.05, 0.3) })),
    ...[1, 2, 3, 4].map((order) => ({ hz: bladesHz * order, gain: between(random, 0.1, 0.5) / order })),
  ]
  const phases = tones.map(() => 2 * Math.PI * random())
  const wobbleHz = between(random, 0.2, 2)
  let low = 0
  let time = 0
  return () => {
    time += 1 / rateHz
    low += share * (next() - low)
    const speed = 1 + 0.004 * Math.sin(2 * Math.PI * wobbleHz * time)
    let sum = (1.2 + 0.15 * Math.sin(2 * Math.PI * wobbleHz * time)) * low * 2
    for (const [at, { hz, gain }] of tones.entries()) {
      phases[at] += (2 * Math.PI * hz * speed) / rateHz
      sum += gain * Math.sin(phases[at])
    }
    return sum
  }
}

/** Scaled to a mean square of one. */
const leveled = (make, seed) => {
  const probe = make(randomSource(seed))
  let power = 0
  const count = 4 * rateHz
  for (let at = 0; at < count; at += 1) power += probe() ** 2
  const next = make(randomSource(seed))
  const scale = 1 / Math.sqrt(power / count)
  return () => scale * next()
}

/** How loud a sound is over time, 0 to 1. */
const courses = {
  /** From the first sample on. */
  steady: () => () => 1,
  /** It sets in and stops at once, in a quiet room. */
  sudden: (random) => {
    let isOn = false
    let until = between(random, 1, 4)
    return (time) => {
      if (time >= until) {
        isOn = !isOn
        until = time + (isOn ? between(random, 0.3, 12) : between(random, 1, 8))
      }
      return isOn ? 1 : 0
    }
  },
  /** It comes and goes within half a second to fifteen seconds. */
  fading: (random) => {
    let begin = 0
    let length = 2
    let from = 0
    let to = 0
    return (time) => {
      if (time >= begin + length) {
        begin = time
        from = to
        to = from === to ? 1 - from : from
        length = from === to ? between(random, 1, 6) : between(random, 0.5, 15)
      }
      if (from === to) return from
      // Evenly in decibels, over 50 of them.
      const share = (time - begin) / length
      return 10 ** ((-50 * (to > from ? 1 - share : share)) / 20)
    }
  },
  /** Its level changes by up to 12 dB at once. */
  stepping: (random) => {
    let until = 0
    let gain = 1
    return (time) => {
      if (time >= until) {
        gain = 10 ** (between(random, -12, 0) / 20)
        until = time + between(random, 0.5, 6)
      }
      return gain
    }
  },
}

const amplitude = (levelDb) => 32_768 * 10 ** (levelDb / 20)
const clip = (value) => Math.round(Math.min(Math.max(value, -32_768), 32_767))

/** The room behind all sounds. */
const roomDb = -68

const noiseSound = (make, course, levelDb, seconds, seed) => {
  const next = leveled(make, seed)
  const random = randomSource(seed + 1)
  const room = gaussian(randomSource(seed + 2))
  const gain = courses[course](random)
  const samples = new Int16Array(seconds * rateHz)
  for (let at = 0; at < samples.length; at += 1) {
    samples[at] = clip(amplitude(levelDb) * gain(at / rateHz) * next() + amplitude(roomDb) * room())
  }
  return samples
}

const rows = [697, 770, 852, 941]
const columnsHz = [1209, 1336, 1477, 1633]

/** Each is a list of tones to play one after another: frequencies, and seconds of sound and of silence. */
const toneLists = {
  'touch tones': (random) => () => ({
    hz: [rows[Math.floor(4 * random())], columnsHz[Math.floor(4 * random())]],
    on: between(random, 0.05, 0.6),
    off: between(random, 0.05, 1),
  }),
  'ring-back (US)': () => () => ({ hz: [440, 480], on: 2, off: 4 }),
  'ring-back (EU)': () => () => ({ hz: [425], on: 1, off: 4 }),
  'ring-back (UK)': () => {
    let count = 0
    return () => ({ hz: [400, 450], on: 0.4, off: count++ % 2 === 0 ? 0.2 : 2 })
  },
  'dial tone': (random) => () => ({ hz: random() < 0.5 ? [350, 440] : [425], on: between(random, 1, 10), off: 1 }),
  'busy tone': (random) => () => ({ hz: random() < 0.5 ? [480, 620] : [425], on: 0.5, off: 0.5 }),
  'special information': () => {
    const tones = [950, 1400, 1800]
    let count = 0
    return () => ({ hz: [tones[count % 3]], on: 0.33, off: count++ % 3 === 2 ? 1 : 0.03 })
  },
}

/** The two tones of a key differ by up to 4 dB, and begin and end at once, as keys do. */
const toneSound = (list, levelDb, seconds, seed) => {
  const random = randomSource(seed)
  const room = gaussian(randomSource(seed + 2))
  const next = toneLists[list](random)
  const samples = new Int16Array(seconds * rateHz)
  for (let at = 0; at < samples.length; at += 1) samples[at] = clip(amplitude(roomDb) * room())
  for (let at = rateHz; at < samples.length;) {
    const { hz, on, off } = next()
    const phases = hz.map(() => 2 * Math.PI * random())
    const twist = 10 ** (between(random, -2, 2) / 20)
    const peak = (amplitude(levelDb) * Math.SQRT2) / Math.sqrt(hz.length)
    const end = Math.min(at + Math.round(on * rateHz), samples.length)
    for (let now = at; now < end; now += 1) {
      let sum = samples[now]
      for (const [tone, frequency] of hz.entries()) {
        sum +=
          (tone === 0 ? peak / twist : peak * twist) *
          Math.sin((2 * Math.PI * frequency * (now - at)) / rateHz + phases[tone])
      }
      samples[now] = clip(sum)
    }
    at = end + Math.round(off * rateHz)
  }
  return samples
}

/** An offset that jumps, and one that drifts, below a quiet room. */
const offsetSound = (levelDb, seconds, seed) => {
  const random = randomSource(seed)
  const room = gaussian(randomSource(seed + 2))
  const samples = new Int16Array(seconds * rateHz)
  let offset = amplitude(levelDb)
  let until = between(random, 1, 5)
  let drift = 0
  for (let at = 0; at < samples.length; at += 1) {
    if (at / rateHz >= until) {
      const target = amplitude(levelDb) * between(random, -1, 1)
      const length = random() < 0.5 ? 1 : Math.round(between(random, 0.02, 2) * rateHz)
      drift = (target - offset) / length
      until = at / rateHz + length / rateHz
      if (random() < 0.5) {
        drift = 0
        until = at / rateHz + between(random, 0.5, 5)
      }
    }
    offset = Math.min(Math.max(offset + drift, -amplitude(levelDb)), amplitude(levelDb))
    samples[at] = clip(offset + amplitude(roomDb) * room())
  }
  return samples
}

export const levelsDb = [-60, -50, -40, -35, -30, -25, -20]

const colors = { white, pink, brown, fan }
const countOfCourses = Object.keys(courses).length

/** Every sound of the set: its kind, level and course, and a function that makes the samples. */
export const notSpeech = (seconds) => {
  let seed = 1000
  const sounds = []
  const add = (kind, course, levelDb, make) => {
    seed += 10
    const own = seed
    sounds.push({ kind, course, levelDb, make: () => make(own) })
  }
  for (const [kind, make] of Object.entries(colors)) {
    for (const levelDb of levelsDb) {
      for (const course of Object.keys(courses)) {
        add(kind, course, levelDb, (own) => noiseSound(make, course, levelDb, seconds / countOfCourses, own))
      }
    }
  }
  for (const list of Object.keys(toneLists)) {
    for (const levelDb of levelsDb) add(list, '', levelDb, (own) => toneSound(list, levelDb, seconds, own))
  }
  for (const levelDb of levelsDb) add('offset', '', levelDb, (own) => offsetSound(levelDb, seconds, own))
  return sounds
}

/** Samples with noise of a color, whose spread is in steps of the samples. */
export const plusNoise = (samples, kind, spread, seed) => {
  const next = leveled(colors[kind], seed)
  return samples.map((sample) => clip(sample + spread * next()))
}

/** White or pink noise at a level below that of the samples with speech. */
export const withNoise = (samples, kind, snrDb, seed) => {
  let power = 0
  let count = 0
  for (const sample of samples) {
    if (Math.abs(sample) < 200) continue
    power += sample ** 2
    count += 1
  }
  const spread = Math.sqrt(power / Math.max(count, 1)) * 10 ** (-snrDb / 20)
  return plusNoise(samples, kind, spread, seed)
}
