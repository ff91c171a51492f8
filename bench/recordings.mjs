// Recordings with what is said in them, and the engine that reads them, for the measurements of recognition.
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { from, lastValueFrom, toArray } from 'rxjs'

const root = new URL('..', import.meta.url).pathname
/** A built checkout: this one, or another to compare with. */
const build = process.env['BEFORE'] ?? root
const load = (file) => import(join(build, file)).then(({ default: module }) => module)

const { readWav } = await load('dist/cjs/index.js')
const { deinterleaveChannels } = await load('dist/cjs/audio/channels.js')
const { decodeSamples } = await load('dist/cjs/audio/codec.js')
const { createResampler } = await load('packages/server/dist/recognition/resampler.js')
const { createSegmenter } = await load('packages/server/dist/recognition/segmenter.js')
const { defaultSegmenterParameters } = await load('packages/server/dist/recognition/segmenter-parameters.js')
const { soundswallower } = await load('packages/engines/dist/soundswallower/soundswallower.js')

const engineRateHz = 8000

const resampled = async (samples, fromHz) => {
  if (fromHz === engineRateHz) return samples
  const resampler = await createResampler({ fromHz, toHz: engineRateHz, channels: 1 })
  const parts = [resampler.process(samples).slice(), resampler.flush().slice()]
  resampler.free()
  return Int16Array.from(parts.flatMap((part) => [...part]))
}

/** The channels of a file at the rate of the engine. A file without a header is mono PCM of 16 kHz. */
const channelsOf = async (path) => {
  if (!path.endsWith('.wav')) {
    const bytes = readFileSync(path)
    const samples = Int16Array.from({ length: bytes.length >> 1 }, (_none, at) => bytes.readInt16LE(2 * at))
    return [await resampled(samples, 16_000)]
  }
  const { format, audio } = await readWav(createReadStream(path))
  const parts = []
  for await (const part of audio) parts.push(part)
  const bytes = Buffer.concat(parts)
  const channels = format.channels === 2 ? deinterleaveChannels(bytes, format.encoding === 'pcm' ? 2 : 1) : [bytes]
  return Promise.all(channels.map((channel) => resampled(decodeSamples(channel, format.encoding), format.sampleRateHz)))
}

/** The first channel of a file at the rate of the engine. */
export const readSamples = async (path) => (await channelsOf(path))[0]

/** The sample call: a recording for each of its channels. */
const sampleCall = async () => {
  const { channels, turns } = JSON.parse(readFileSync(join(root, 'samples/call.json'), 'utf8'))
  const audio = await channelsOf(join(root, 'samples/call.wav'))
  return {
    name: 'samples/call.wav',
    model: join(root, 'samples/models/Default/call/1'),
    channels: audio,
    turns: turns.map(({ channel, text, startMs, endMs }) => ({
      channel,
      text,
      startMs,
      samples: audio[channel].slice(startMs * 8, endMs * 8),
    })),
    recordings: channels.map((name, channel) => ({
      name,
      samples: audio[channel],
      text: turns.flatMap((turn) => (turn.channel === channel ? [turn.text] : [])).join(' '),
    })),
  }
}

/** The rows `| file | rate | says |…` of the README of a folder, of the files that are recordings. */
const transcriptsOf = (folder) =>
  readFileSync(join(folder, 'README.md'), 'utf8')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, file = '', , text = '']) => /^[\w.-]+\.(wav|raw)$/.test(file) && text !== '')
    .map(([, file, , text]) => ({ file, text }))

/** Half a second of a quiet line around a recording, which begins and ends with speech. */
const onQuietLine = (speech) => {
  let state = 12_345
  const margin = engineRateHz / 2
  const samples = Int16Array.from({ length: speech.length + 2 * margin }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.round((state / 2 ** 31 - 1) * 30)
  })
  for (const [at, sample] of speech.entries()) {
    samples[margin + at] = Math.max(-32_768, Math.min(32_767, samples[margin + at] + sample))
  }
  return samples
}

const folderOfRecordings = async (folder, model) => {
  const files = transcriptsOf(folder).filter(({ file }) => existsSync(join(folder, file)))
  const recordings = []
  for (const { file, text } of files) {
    try {
      const [samples] = await channelsOf(join(folder, file))
      recordings.push({ name: basename(file), speech: samples, samples: onQuietLine(samples), text })
    } catch (error) {
      console.error(`${file} is left out: ${error.message}`)
    }
  }
  return { name: folder, model, phrases: recordings.map(({ text }) => text), recordings }
}

/** All sets of recordings. Those of a folder are read with a model, or with a grammar of their own sentences. */
export const recordingSets = async (folder, model) => [
  await sampleCall(),
  ...(folder === undefined ? [] : [await folderOfRecordings(folder, model)]),
]

/** Calls `use` with the engine of a set, with one thread and one decoder. */
export const withEngine = async ({ model, phrases }, limits, use) => {
  const folder = model ?? mkdtempSync(join(tmpdir(), 'rxspeech-accuracy-'))
  if (model === undefined) {
    writeFileSync(join(folder, 'phrases.txt'), `${phrases.join('\n')}\n`)
    writeFileSync(join(folder, 'model.json'), JSON.stringify({ engine: 'soundswallower', phrases: 'phrases.txt' }))
  }
  const options = JSON.parse(readFileSync(join(folder, 'model.json'), 'utf8'))
  const name = basename(dirname(folder))
  const engine = await soundswallower(limits).open({ tenant: 'Default', name, version: '1', folder, options })
  try {
    return await use(engine)
  } finally {
    await engine.close()
    if (model === undefined) rmSync(folder, { recursive: true })
  }
}

export const openSegmenter = () =>
  createSegmenter({ parameters: defaultSegmenterParameters, inputRateHz: engineRateHz })

export const isPart = ({ type }) => type === 'open' || type === 'audio' || type === 'close'

/** What voice activity cuts out of a recording. */
export const segmentParts = async (samples) => {
  const segmenter = await openSegmenter()
  const parts = []
  for (let at = 0; at < samples.length; at += 160) parts.push(...segmenter.push(samples.subarray(at, at + 160)))
  parts.push(...segmenter.finish())
  segmenter.free()
  return parts.filter(isPart)
}

export const recognizeParts = (engine, parts) => lastValueFrom(from(parts).pipe(engine.recognize(), toArray()))

export const seconds = (samples) => samples / engineRateHz
