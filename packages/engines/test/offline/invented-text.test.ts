import { describe, expect, it } from 'vitest'
import { spokenOf, type Evidence } from '../../src/offline/invented-text.js'
import { SoundLevels } from '../../src/offline/sound-levels.js'
import { joinWords, wordsOf } from '../../src/offline/text-words.js'

const rate = 8000
/** 600 ms of a buzz of 120 Hz, as of a voice, within quiet. */
const voice = Int16Array.from({ length: 2 * rate }, (_none, at) =>
  at > 0.5 * rate && at < 1.1 * rate ? 8000 * ((at * 120) / rate - Math.floor((at * 120) / rate) - 0.5) : (at * 7) % 3,
)
/** Noise without a pitch, of one level. */
let seed = 1
const noise = Int16Array.from({ length: 2 * rate }, () => {
  seed = (seed * 16_807) % 2_147_483_647
  return (seed % 4000) - 2000
})

const shown = (text: string, samples: Int16Array, evidence: Partial<Evidence> = {}): string =>
  joinWords(
    spokenOf(wordsOf({ text }, rate / 1000), {
      levels: new SoundLevels(samples, rate),
      purpose: 'final',
      ...evidence,
    }),
  )

describe('what is kept of a reading', () => {
  it.each(['Thank you.', 'you', 'Bye.', 'Okay.'])('is "%s" where there is a voice, and not in noise', (text) => {
    expect(shown(text, voice)).toBe(text)
    expect(shown(text, noise)).toBe('')
    expect(shown(text, voice, { noSpeechProbability: 0.7 })).toBe('')
  })

  it('is no sentence with more words than the sound has time for', () => {
    expect(shown('we will see you', voice)).toBe('we will see you')
    expect(shown('we will see you on friday at half past seven', voice)).toBe('')
  })

  it.each(['Subtitles by the Amara.org community', 'Transcribed by someone'])('is no credit: %s', (text) => {
    expect(shown(text, voice)).toBe('')
  })

  it('is nothing of a loop that is most of the text, and its first part beside other text', () => {
    const long = Int16Array.from({ length: 10 * voice.length }, (_none, at) => voice[at % voice.length] ?? 0)
    expect(shown('no no no no no no no no no', long)).toBe('')
    expect(shown('one five five five six', long)).toBe('one five five five six')
    const partial = shown('we go we go', long, { purpose: 'partial' })
    expect(partial).toBe('we go')
  })
})
