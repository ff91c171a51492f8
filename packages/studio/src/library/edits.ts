import type { TranscriptDocument, TranscriptLine } from '../state/transcript.js'
import type { CaptionWord } from '../state/words.js'

/** What a person has changed of a session, apart from what was recognized. */
export interface Edits {
  readonly title?: string | undefined
  /** The names of speakers, by channel. */
  readonly speakers: Readonly<Record<number, string>>
  /** The texts of words, by `wordKey`; '' removes a word. */
  readonly words: Readonly<Record<string, string>>
}

export const noEdits: Edits = { speakers: {}, words: {} }

/** One change; without a value it takes back to what was there before all changes. */
export type Edit =
  | { readonly type: 'title'; readonly title?: string | undefined }
  | { readonly type: 'speaker'; readonly channel: number; readonly name?: string | undefined }
  | { readonly type: 'word'; readonly key: string; readonly text?: string | undefined }

/** Longer texts are cut. */
const maxLengths = { title: 200, name: 60, text: 200 }

export const applyEdit = (edits: Edits, edit: Edit): Edits => {
  switch (edit.type) {
    case 'title':
      return { ...edits, title: tidyName(edit.title, maxLengths.title) }
    case 'speaker':
      return { ...edits, speakers: put(edits.speakers, edit.channel, tidyName(edit.name, maxLengths.name)) }
    case 'word':
      return { ...edits, words: put(edits.words, edit.key, tidy(edit.text, maxLengths.text)) }
  }
}

/** The change that takes `edit` back. */
export const inverseOf = (edits: Edits, edit: Edit): Edit => {
  switch (edit.type) {
    case 'title':
      return { type: 'title', title: edits.title }
    case 'speaker':
      return { ...edit, name: edits.speakers[edit.channel] }
    case 'word':
      return { ...edit, text: edits.words[edit.key] }
  }
}

const tidy = (text: string | undefined, maxLength: number): string | undefined =>
  text?.replace(/\s+/gu, ' ').trim().slice(0, maxLength)

/** An empty name is none. */
const tidyName = (text: string | undefined, maxLength: number): string | undefined => {
  const name = tidy(text, maxLength)
  return name === '' ? undefined : name
}

const put = <A>(all: Readonly<Record<string, A>>, key: string | number, value: A | undefined): Record<string, A> => {
  const { [String(key)]: _previous, ...others } = all
  return value === undefined ? others : { ...others, [key]: value }
}

/**
 * The identity of a recognized word. It has the times and not the place, because a late result can still divide a line;
 * only where a service sends no times, many words have the same ones.
 */
export const wordKey = ({ id, channel }: TranscriptLine, index: number, word: CaptionWord): string => {
  const { startMs, endMs, recognized = word.text } = word
  const place = endMs > startMs ? [] : [id, index]
  return [channel, startMs, endMs, ...place, recognized].join(' ')
}

/** The transcript with the changes. It is cheap to ask again: lines that are the same as before are not read again. */
export class EditedTranscript {
  #lines = new WeakMap<TranscriptLine, TranscriptLine>()
  #edits: Edits = noEdits
  #document: TranscriptDocument | undefined
  #edited: TranscriptDocument | undefined

  of(document: TranscriptDocument, edits: Edits): TranscriptDocument {
    if (this.#edited !== undefined && document === this.#document && edits === this.#edits) return this.#edited
    if (edits.words !== this.#edits.words) this.#lines = new WeakMap()
    this.#edits = edits
    this.#document = document
    const hasNames = Object.keys(edits.speakers).length > 0
    this.#edited = {
      ...document,
      title: edits.title ?? defaultTitle(document),
      speakers: hasNames ? document.speakers.map((name, at) => edits.speakers[at] ?? name) : document.speakers,
      lines: Object.keys(edits.words).length > 0 ? document.lines.map((line) => this.#line(line)) : document.lines,
    }
    return this.#edited
  }

  #line(line: TranscriptLine): TranscriptLine {
    const known = this.#lines.get(line)
    if (known !== undefined) return known
    let isChanged = false
    const words = line.words.map((word, index) => {
      const text = this.#edits.words[wordKey(line, index, word)]
      if (text === undefined || text === word.text) return word
      isChanged = true
      return { ...word, text, recognized: word.text }
    })
    const edited = isChanged ? { ...line, words } : line
    this.#lines.set(line, edited)
    return edited
  }
}

/** Whether a word of an edited transcript differs from what was recognized. */
export const hasCorrections = ({ lines }: Pick<TranscriptDocument, 'lines'>): boolean =>
  lines.some(({ words }) => words.some(({ recognized }) => recognized !== undefined))

/** The transcript as it was recognized, with the names and the title that a person gave. */
export const asRecognized = (edited: TranscriptDocument): TranscriptDocument => ({
  ...edited,
  lines: edited.lines.map((line) => ({
    ...line,
    words: line.words.map(({ recognized, ...word }) =>
      recognized === undefined ? word : { ...word, text: recognized },
    ),
  })),
})

export const textOfLine = ({ words }: Pick<TranscriptLine, 'words'>): string =>
  words.flatMap(({ text }) => (text === '' ? [] : [text])).join(' ')

const titleWords = 6

/** The title of a session without one: a file has its name, what was spoken its first words. */
export const defaultTitle = ({ origin, title, lines }: TranscriptDocument): string => {
  if (origin !== 'microphone') return title
  const words: string[] = []
  for (const line of lines) {
    if (words.length > titleWords) break
    words.push(...line.words.flatMap(({ text }) => (text === '' ? [] : [text])))
  }
  if (words.length === 0) return title
  return words.slice(0, titleWords).join(' ') + (words.length > titleWords ? ' …' : '')
}
