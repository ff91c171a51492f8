// What is said in the measurement of words: by whom, with which grammar, and where in the audio.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSamples, recordingSets } from '../recordings.mjs'
import { rateHz } from './noises.mjs'
import { hop, joined, quietRoom, speechFrames } from './speech-frames.mjs'
import { grammars, spoken, utterancesOf } from './spoken-set.mjs'
import { installedPrograms } from './voices.mjs'

/**
 * A talk is what one session hears: the samples of each channel, and its utterances as
 * `{ channel, text, fromMs, toMs }`, from the first to the last sound.
 *
 * @typedef {{ channels: Int16Array[], utterances: object[] }} Talk
 * @typedef {{ name: string, grammar: string, talks: Talk[] }} SpeechSet `grammar` is JSGF
 */

/** Where there is sound in samples that begin at a time. */
const spanOf = (samples, startMs) => {
  const frames = speechFrames(samples)
  const frameMs = (1000 * hop) / rateHz
  return { fromMs: startMs + frames.indexOf(true) * frameMs, toMs: startMs + (frames.lastIndexOf(true) + 1) * frameMs }
}

/** Utterances one after another, with pauses between them. */
const talkOf = (utterances) => {
  const parts = [quietRoom(0.9, 1)]
  const placed = []
  let { length } = parts[0]
  for (const [at, { text, samples }] of utterances.entries()) {
    const pause = quietRoom(0.9, 2 + at)
    placed.push({ channel: 0, text, ...spanOf(samples, (1000 * length) / rateHz) })
    parts.push(samples, pause)
    length += samples.length + pause.length
  }
  return { channels: [joined(...parts)], utterances: placed }
}

const callSet = ({ model, channels, turns }) => ({
  name: 'sample call',
  grammar: readFileSync(join(model, 'call.gram'), 'utf8'),
  talks: [
    {
      channels,
      utterances: turns.map(({ channel, text, startMs, samples }) => ({ channel, text, ...spanOf(samples, startMs) })),
    },
  ],
})

const grammarOf = (sentences) => `#JSGF V1.0;\ngrammar sentences;\npublic <sentence> = ${sentences.join('\n  | ')};\n`

const peopleSet = ({ phrases, recordings }) => ({
  name: 'people',
  grammar: grammarOf(phrases),
  talks: [talkOf(recordings.map(({ text, speech }) => ({ text, samples: speech })))],
})

/** What the installed voices of a group say of a grammar: one in `every` of its sentences. */
const spokenSet = async (name, grammar, group, every) => {
  const talks = new Map()
  const sentences = utterancesOf(grammar, group).filter(
    ({ kind, voice }) => kind === 'in' && installedPrograms.has(voice.program),
  )
  for (const [at, utterance] of sentences.entries()) {
    if (at % every !== 0) continue
    const { voice } = utterance.voice
    const { speech } = await spoken(utterance, readSamples)
    const samples = Int16Array.from(speech)
    talks.set(voice, [...(talks.get(voice) ?? []), { text: utterance.text, samples }])
  }
  return { name, grammar: grammar.jsgf, talks: [...talks.values()].map(talkOf) }
}

/** The names of all sets, with the ones that may be absent. */
const groups = { '': 'unfitted', ', British voices': 'british' }
export const setNames = [
  'sample call',
  'people',
  ...Object.keys(groups).flatMap((label) => grammars.map(({ name }) => `${name}${label}`)),
]

/** The sample call alone. */
export const sampleCallSet = async () => callSet((await recordingSets())[0])

/**
 * The sets of sentences that their grammars contain; without the recordings of people and the voices that are not
 * there.
 */
export const wordSets = async ({ folder, every }) => {
  const [call, people] = await recordingSets(existsSync(folder) ? folder : undefined)
  const sets = [callSet(call), ...(people === undefined ? [] : [peopleSet(people)])]
  for (const [label, group] of Object.entries(groups)) {
    for (const grammar of grammars) sets.push(await spokenSet(`${grammar.name}${label}`, grammar, group, every))
  }
  return sets.filter(({ talks }) => talks.length > 0)
}
