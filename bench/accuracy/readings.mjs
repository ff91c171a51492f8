// What the embedded engine reads in the spoken set, with the features of each reading: made by its own classes, in this
// process.
import { join } from 'node:path'
import { readSamples, segmentParts } from '../recordings.mjs'
import { promptGrammars } from './prompts.mjs'
import { grammars, recordingsOf, utterancesOf } from './spoken-set.mjs'

const engines = join(new URL('../..', import.meta.url).pathname, 'packages/engines/dist')
const load = (file) => import(join(engines, file)).then(({ default: module }) => module)

const { createDecoder, findSoundswallowerModels, loadSoundswallower } = await load('soundswallower/package.js')
const { compareWith, featuresOf } = await load('soundswallower/rated-reading.js')
const { frameSamples, TwoPassDecoder } = await load('soundswallower/segment-decoder.js')
const { Verifier } = await load('soundswallower/verifier.js')
const { WorkerGrammars } = await load('soundswallower/worker-grammars.js')

const cpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Decodes what voice activity cuts out of the samples. */
const decodeSegments = async (decoder, samples) => {
  const texts = []
  for (const part of await segmentParts(samples)) {
    if (part.type === 'open') await decoder.begin()
    else if (part.type === 'audio') {
      for (let at = 0; at < part.samples.length; at += frameSamples)
        decoder.process(part.samples.slice(at, at + frameSamples))
    } else {
      const span = { startMs: 0, endMs: 1_000_000, isCut: part.isCut === true }
      texts.push((await decoder.end(span, () => false)).words.map(({ text }) => text).join(' '))
    }
  }
  return texts
}

const grammarsOf = (group, knows) =>
  group === 'people'
    ? promptGrammars(knows)
    : grammars.map((grammar) => ({ ...grammar, utterances: utterancesOf(grammar, group) }))

/**
 * Reads each utterance of a group of voices on one line after another, or on every line if `isOnEveryLine` says so. A
 * row has the features of its reading; there are none if nothing was read. `cost` sums CPU time and audio in
 * milliseconds.
 */
export const readUtterances = async function* (
  group,
  { isOnEveryLine = () => false, cost = { readMs: 0, compareMs: 0, audioMs: 0 } } = {},
) {
  const soundswallower = await loadSoundswallower(findSoundswallowerModels(), 'en-us')
  const verifier = await Verifier.create(soundswallower)
  const dictionary = await createDecoder(soundswallower)
  const knows = (word) => dictionary.lookup_word(word) !== null
  for (const { jsgf, utterances } of grammarsOf(group, knows)) {
    const decoder = await createDecoder(soundswallower)
    const grammars = new WorkerGrammars(soundswallower, jsgf, knows)
    let readings = []
    const rate = async (reading) => {
      const beforeMs = cpuMs()
      const compared = await compareWith(verifier, decoder, reading)
      const compareMs = cpuMs() - beforeMs
      cost.compareMs += compareMs
      readings.push({ features: featuresOf(decoder, reading), compared, compareMs })
      return 1
    }
    const twoPass = new TwoPassDecoder(decoder, undefined, grammars, { level: 'medium', rate })
    for (const [number, utterance] of utterances.entries()) {
      const recordings = await recordingsOf(utterance, readSamples)
      for (const { samples, ...recording } of isOnEveryLine(utterance)
        ? recordings
        : [recordings[number % recordings.length]]) {
        readings = []
        const beforeMs = cpuMs()
        const read = (await decodeSegments(twoPass, samples)).join(' ').trim()
        const compareMs = readings.reduce((sum, reading) => sum + reading.compareMs, 0)
        cost.readMs += cpuMs() - beforeMs - compareMs
        cost.audioMs += samples.length / 8
        yield { ...recording, read, isRight: recording.kind === 'in' && read === recording.text, readings }
      }
    }
    decoder.delete()
  }
  dictionary.delete()
}
