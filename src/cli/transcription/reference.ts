import { readFile } from 'node:fs/promises'
import type { View } from '../view/view.js'
import { wordErrorsText, type WordErrorsStyle } from '../view/word-errors-view.js'
import { comparedWords } from '../view/word-errors.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import { codeOf, SpeechError } from '../../errors/speech-error.js'

/** What was said in a recording: a text for each speaker, or one for the whole recording. */
export interface Reference {
  /** Undefined for the text of the whole recording. */
  readonly speaker?: string | undefined
  readonly text: string
}

/** Reads the file of `--reference`. Rejects with `source-failed` if that is not possible, or if it has no words. */
export const readReference = async (path: string): Promise<string> => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const sentence = `${path} cannot be read (${codeOf(error) ?? 'unknown'}); choose another file for --reference.`
    throw new SpeechError('source-failed', sentence)
  })
  if (comparedWords(text).length > 0) return text
  throw new SpeechError('source-failed', `${path} has no words; write what is said in the recording.`)
}

/**
 * The text of a transcript. Its lines may have the form of `transcribe`, `[mm:ss.s] speaker: text`; if any line names a
 * speaker, lines without a name continue the one before.
 */
export const parseReference = (text: string, speakers: readonly string[]): readonly Reference[] => {
  const lines = text.split(/\r?\n/).map((line) => line.replace(/^\[\d+:\d\d(\.\d)?\]\s*/, ''))
  const bySpeaker = new Map<string, string[]>()
  const whole: string[] = []
  let current: string[] = whole
  for (const line of lines) {
    const speaker = speakers.find((name) => line.startsWith(`${name}:`))
    if (speaker !== undefined) {
      current = bySpeaker.get(speaker) ?? []
      bySpeaker.set(speaker, current)
    }
    current.push(speaker === undefined ? line : line.slice(speaker.length + 1))
  }
  if (bySpeaker.size === 0) return [{ text: whole.join(' ') }]
  return speakers.map((speaker) => ({ speaker, text: (bySpeaker.get(speaker) ?? []).join(' ') }))
}

interface Piece {
  readonly channel: number
  readonly startMs: number
  readonly text: string
}

/** Collects the definitive text of a session, of each channel and of all in the order of time. */
class ReadText {
  readonly #pieces: Piece[] = []
  /** The channels with milestones, whose finals only repeat them. */
  readonly #withMilestones = new Set<number>()

  take(event: SessionEvent): void {
    if (event.type !== 'milestone' && event.type !== 'final') return
    const { type, channel = 0, startMs = Infinity, text } = event
    if (type === 'milestone') this.#withMilestones.add(channel)
    else if (this.#withMilestones.has(channel)) return
    this.#pieces.push({ channel, startMs, text })
  }

  /** Of one channel, or of all. */
  text(channel?: number): string {
    return this.#pieces
      .filter((piece) => channel === undefined || piece.channel === channel)
      .toSorted((a, b) => (a.startMs === b.startMs ? 0 : a.startMs - b.startMs))
      .map(({ text }) => text.trim())
      .join(' ')
  }
}

/** Compares the text of a session with a reference. */
export class ReferenceComparison {
  readonly #reference: string
  readonly #read = new ReadText()
  #speakers: readonly string[] = []

  constructor(reference: string) {
    this.#reference = reference
  }

  /** The same view, whose events are compared; `speakers` are the names of the channels. */
  watch(view: View, speakers: readonly string[]): View {
    this.#speakers = speakers
    return {
      ...view,
      event: (event, transcript) => {
        this.#read.take(event)
        view.event(event, transcript)
      },
    }
  }

  report(style: WordErrorsStyle): string {
    const texts = parseReference(this.#reference, this.#speakers).map(({ speaker, text }) => ({
      speaker,
      said: text,
      read: this.#read.text(speaker === undefined ? undefined : this.#speakers.indexOf(speaker)),
    }))
    return wordErrorsText(texts, style)
  }
}
