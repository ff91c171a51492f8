// A person who says telephone prompts, numbers, letters and the words of the telephone alphabet: the recordings of
// Debian's packages asterisk-core-sounds-en-wav and asterisk-core-sounds-en (what is said in them), version 1.6.1-1 for
// docs/ACCURACY.md. They are not part of the checkout; PROMPTS is the folder into which both are unpacked, by default
// that of installed packages:
//   apt-get download asterisk-core-sounds-en{,-wav} && for file in asterisk-*.deb; do dpkg -x "$file" prompts; done
//   PROMPTS=prompts node bench/accuracy/rejection.mjs
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

const root = process.env['PROMPTS'] ?? '/'
const soundsFolder = join(root, 'usr/share/asterisk/sounds/en_US_f_Allison')
const textFile = join(root, 'usr/share/doc/asterisk-core-sounds-en/core-sounds-en.txt.gz')

export const promptsAreHere = () => existsSync(soundsFolder) && existsSync(textFile)

const digitWords = 'zero one two three four five six seven eight nine'.split(' ')
const numbers = /^digits\/\d+$/

const wordsOf = (text) =>
  text
    .toLowerCase()
    .replace(/\d/g, (digit) => ` ${digitWords[Number(digit)]} `)
    .replace(/[^a-z' ]+/g, ' ')
    .trim()
    .replace(/ +/g, ' ')

/** `{ name, text, file }` of each recording of speech. A text in brackets is of another sound. */
const recordings = () => {
  const lines = gunzipSync(readFileSync(textFile)).toString('utf8').split('\n')
  return lines.flatMap((line) => {
    const [, name, said] = /^([\w/-]+): *([^[\]]+)(?:\[.*\])?$/.exec(line) ?? []
    const file = join(soundsFolder, `${name}.wav`)
    return name === undefined || !existsSync(file) ? [] : [{ name, text: wordsOf(said), file }]
  })
}

const hashOf = (name) =>
  [...name].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16_777_619) >>> 0, 2_166_136_261)

const kindOf = ({ name, text }) => {
  if (name.startsWith('letters/')) return 'letter'
  return text.split(' ').length > 2 ? 'sentence' : 'word'
}

/**
 * Three grammars with their utterances: words of the telephone alphabet, numbers, and a half of the prompts; what is in
 * none of them is foreign to it. `knows` says whether a word has a pronunciation.
 */
export const promptGrammars = (knows) => {
  const all = recordings()
  const named = (pattern) => all.filter(({ name, text }) => pattern.test(name) && text.split(' ').every(knows))
  const prompts = named(/^[^/]+$/).filter(({ name, text }) => text.includes(' ') && (hashOf(name) >>> 4) % 2 === 0)
  const sets = { alphabet: named(/^phonetic\/[a-z]_p$/), numbers: named(numbers), prompts }
  return Object.entries(sets).map(([grammar, own]) => {
    const phrases = [...new Set(own.map(({ text }) => text))]
    const contains = (text) => phrases.some((phrase) => ` ${text} `.includes(` ${phrase} `))
    const utterances = all.flatMap((item) => {
      const voice = { program: 'person', voice: item.name }
      const utterance = { text: item.text, file: item.file, grammar, group: 'people', voice }
      if (phrases.includes(item.text)) return [{ ...utterance, kind: 'in' }]
      return contains(item.text) ? [] : [{ ...utterance, kind: kindOf(item) }]
    })
    return {
      name: grammar,
      jsgf: `#JSGF V1.0;\ngrammar ${grammar};\npublic <all> = ${phrases.join(' | ')};\n`,
      utterances,
    }
  })
}
