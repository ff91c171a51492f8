// What recognizers invent where there is no speech. Whisper reads silence, noise and tones as descriptions in brackets,
// as phrases that end videos, and as loops.
import type { ReadRequest } from './reader.js'
import type { SoundLevels } from './sound-levels.js'
import type { TextWord } from './text-words.js'

/** More words cannot be spoken in a second of sound. */
const maxWordsPerSecond = 7
/** A part of this number of words that repeats itself this often was not spoken. */
const minRepeats: readonly number[] = [8, 5, 4, 3, 3, 3, 3, 3]
/** The same while speech continues: what is left out then may come with the next reading. */
const minRepeatsOfPartial: readonly number[] = [3, 2, 2, 2, 2, 2, 2, 2]
/**
 * Phrases that are also spoken need sound like a voice: minimum time with a pitch, and minimum level above the noise.
 */
const minPitchedMs = 80
const minRangeDb = 10
/** Above this probability of no speech, and below this confidence of the words, there is no speech (openai-whisper). */
const maxNoSpeech = 0.6
const minConfidence = 0.37

/** Phrases that are read where nothing is spoken, by the keys of their words. */
const suspects = new Set(
  [
    ...[
      'you',
      'thank you',
      'thanks',
      'thank you very much',
      'thank you so much',
      'thanks for watching',
      'bye',
      'bye bye',
    ],
    ...[
      'thank you for watching',
      'please subscribe',
      'so',
      'oh',
      'okay',
      'ok',
      'i',
      'the',
      'a',
      'and',
      'uh',
      'um',
      'hmm',
      'mm',
    ],
    ...[
      'yeah',
      'ah',
      'im sorry',
      'ill see you next time',
      'see you next time',
      'well be right back',
      'beep',
      'silence',
    ],
    ...[
      'gracias',
      'gracias por ver el video',
      'merci',
      'merci davoir regardé cette vidéo',
      'vielen dank',
      'tschüss',
      'grazie',
    ],
    ...[
      'obrigado',
      'спасибо',
      'продолжение следует',
      'ご視聴ありがとうございました',
      '谢谢观看',
      '谢谢大家',
      '시청해주셔서 감사합니다',
    ],
  ].map((phrase) => phrase.replaceAll(' ', '')),
)
/** Credits of subtitles, which end many recordings that models were trained with. */
const credits =
  /amara\s?org|(?:^|\s)(?:subtitles|captions|transcription|transcribed|translated) by\s|sous titres|untertitel(?:ung)? (?:der|von|des|im)|legendas pela|字幕/u

/** What is known of the audio of a reading. */
export interface Evidence {
  readonly levels: SoundLevels
  readonly purpose: ReadRequest['purpose']
  readonly noSpeechProbability?: number | undefined
}

/** The words of a reading that were spoken as far as the audio can show; none if all of it was invented. */
export const spokenOf = (words: readonly TextWord[], evidence: Evidence): readonly TextWord[] => {
  const once = evidence.purpose === 'final' ? withoutLoops(words) : untilLoop(words)
  return once.length === 0 || isInvented(once, evidence) ? [] : once
}

const isInvented = (words: readonly TextWord[], { levels, noSpeechProbability = 0 }: Evidence): boolean => {
  const text = words.map(({ text: word }) => word.toLowerCase().replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, ' ')).join(' ')
  if (credits.test(text.replaceAll(/\s+/g, ' ').trim())) return true
  const soundMs = levels.soundMs()
  const spaced = words.filter(({ space }) => space === ' ').length
  if (spaced > 1 + (soundMs * maxWordsPerSecond) / 1000) return true
  const confidences = words.flatMap(({ confidence }) => confidence ?? [])
  const confidence = confidences.reduce((sum, one) => sum + one, 0) / confidences.length
  if (noSpeechProbability > maxNoSpeech && confidence < minConfidence) return true
  const isSuspect = suspects.has(words.map(({ key }) => key).join(''))
  return (
    isSuspect && (noSpeechProbability > maxNoSpeech || levels.rangeDb < minRangeDb || levels.pitchedMs() < minPitchedMs)
  )
}

interface Loop {
  readonly at: number
  readonly size: number
  readonly end: number
}

/** The first part that follows itself at least as often as its length requires; one of the shortest parts first. */
const findLoop = (words: readonly TextWord[], minimum: readonly number[]): Loop | undefined => {
  for (const [index, min] of minimum.entries()) {
    const size = index + 1
    for (let at = 0; at + size * min <= words.length; at += 1) {
      let end = at + size
      while (end < words.length && words[end]?.key === words[end - size]?.key) end += 1
      if (end - at >= size * min) return { at, size, end }
    }
  }
  return undefined
}

/** Without the repetitions of a part; without anything if they are most of the text. */
const withoutLoops = (words: readonly TextWord[]): readonly TextWord[] => {
  const loop = findLoop(words, minRepeats)
  if (loop === undefined) return words
  const { at, size, end } = loop
  return 2 * (end - at) > words.length ? [] : withoutLoops([...words.slice(0, at + size), ...words.slice(end)])
}

/** Up to the first repetition of a part: recognizers repeat what they have when speech breaks off. */
const untilLoop = (words: readonly TextWord[]): readonly TextWord[] => {
  const loop = findLoop(words, minRepeatsOfPartial)
  return loop === undefined ? words : untilLoop(words.slice(0, loop.at + loop.size))
}
