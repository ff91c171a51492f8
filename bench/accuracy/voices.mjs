// Speech for measurements: the recordings of the repository and of ../shared/audio, and sentences that the installed
// voices of flite and espeak-ng speak. All at 8 kHz.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordingSets } from '../recordings.mjs'

const voices = [
  ...['slt', 'rms', 'awb', 'kal16'].map((voice) => ({ program: 'flite', voice })),
  ...['en-us', 'en-gb', 'en-us+f2', 'en-us+m3'].map((voice) => ({ program: 'espeak-ng', voice })),
]

/** What each installed program says about its version. */
export const installedPrograms = new Map(
  ['flite', 'espeak-ng'].flatMap((program) => {
    const { error, stdout, stderr } = spawnSync(program, ['--version'], { encoding: 'utf8' })
    const [version = ''] = /(?:\d+\.)+\d+/.exec(`${stdout}${stderr}`) ?? []
    return error === undefined ? [[program, version]] : []
  }),
)

export const installedVoices = () => voices.filter(({ program }) => installedPrograms.has(program))

const taps = 33

/** To 8 kHz by a windowed sinc below 3.6 kHz, sample by sample, since the rates of the voices differ. */
const toTelephone = (samples, fromHz) => {
  const step = fromHz / 8000
  const cutoff = Math.min(0.9 / step, 0.95)
  const half = Math.ceil(taps * step)
  return Int16Array.from({ length: Math.floor(samples.length / step) }, (_none, at) => {
    const center = at * step
    let sum = 0
    for (let index = Math.ceil(center - half); index <= center + half; index += 1) {
      const distance = index - center
      const window = 0.5 + 0.5 * Math.cos((Math.PI * distance) / (half + 1))
      const phase = Math.PI * cutoff * distance
      sum += (samples[index] ?? 0) * window * cutoff * (phase === 0 ? 1 : Math.sin(phase) / phase)
    }
    return Math.round(Math.min(Math.max(sum, -32_768), 32_767))
  })
}

/** The samples and the rate of a WAV file of 16 bits mono, whatever the sizes in its header say. */
const readMono = (bytes) => {
  const data = bytes.indexOf('data')
  const audio = bytes.subarray(data + 8)
  return {
    fromHz: bytes.readUInt32LE(24),
    samples: Int16Array.from({ length: audio.length >> 1 }, (_none, at) => audio.readInt16LE(2 * at)),
  }
}

export const speak = ({ program, voice }, text) => {
  const folder = mkdtempSync(join(tmpdir(), 'rxspeech-voice-'))
  try {
    const file = join(folder, 'speech.wav')
    const options = program === 'flite' ? ['-voice', voice, '-t', text, '-o', file] : ['-v', voice, '-w', file, text]
    const { status } = spawnSync(program, options)
    if (status !== 0) throw new Error(`${program} failed with the voice ${voice}.`)
    const { samples, fromHz } = readMono(readFileSync(file))
    return toTelephone(samples, fromHz)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const shared = new URL('../../../shared/audio', import.meta.url).pathname

/** What people and voices recorded, each without a room around it: `{ name, samples }`. */
export const recordedSpeech = async () => {
  const [call, folder] = await recordingSets(existsSync(shared) ? shared : undefined)
  return [
    ...call.turns.map(({ samples }, at) => ({ name: `call ${at + 1}`, samples })),
    ...(folder?.recordings ?? []).map(({ name, samples }) => ({ name, samples: samples.subarray(4000, -4000) })),
  ]
}
