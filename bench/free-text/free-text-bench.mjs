// `npm run bench free-text [-- PART… --peers FOLDER]`: any English speech through the whole service on one core, beside
// the bare engine and, on request, beside other servers with weights of the same model. The parts are words,
// non-speech, calls, memory, segments and drop; all but `segments` by default. RECORDINGS has human52.wav and
// callmono.wav with their texts; MODEL names a folder with another model.json. `--peers` names a folder as `peers.mjs`
// describes it.
import { parseArgs } from 'node:util'
import { measureCalls } from './measure-calls.mjs'
import { measureDrop } from './measure-drop.mjs'
import { measureMemory, measureSegments } from './measure-memory.mjs'
import { measureNonSpeech } from './measure-non-speech.mjs'
import { measureWords } from './measure-words.mjs'

const parts = {
  words: measureWords,
  'non-speech': measureNonSpeech,
  calls: measureCalls,
  memory: measureMemory,
  drop: measureDrop,
  segments: measureSegments,
}

export const benchFreeText = async (args) => {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { peers: { type: 'string' } } })
  const unknown = positionals.find((name) => !Object.hasOwn(parts, name))
  if (unknown !== undefined) throw new Error(`There is no part ${unknown}; there are ${Object.keys(parts).join(', ')}.`)
  const wanted = positionals.length > 0 ? positionals : Object.keys(parts).filter((name) => name !== 'segments')
  for (const name of wanted) {
    console.log(`\n${name}\n`)
    await parts[name](values)
  }
}
