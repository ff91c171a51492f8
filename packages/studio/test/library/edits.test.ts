import { describe, expect, it } from 'vitest'
import {
  applyEdit,
  asRecognized,
  hasCorrections,
  defaultTitle,
  EditedTranscript,
  inverseOf,
  noEdits,
  textOfLine,
  wordKey,
  type Edit,
} from '../../src/library/edits.js'
import type { TranscriptDocument } from '../../src/state/transcript.js'
import { documentOf, lineOf } from './transcripts.js'

const keyIn = (document: TranscriptDocument, line: number, word: number): string => {
  const found = document.lines.find(({ id }) => id === line)
  const spoken = found?.words[word]
  if (found === undefined || spoken === undefined) throw new Error('There is no such word.')
  return wordKey(found, word, spoken)
}

const document = documentOf()
const correction: Edit = { type: 'word', key: keyIn(document, 2, 1), text: ' dear  friend ' }

describe('edits', () => {
  it('keeps a corrected word beside what was recognized', () => {
    const edited = new EditedTranscript().of(document, applyEdit(noEdits, correction))
    expect(edited.lines[1]?.words[1]).toMatchObject({ text: 'dear friend', recognized: 'there', startMs: 4500 })
    expect([hasCorrections(edited), hasCorrections(document)]).toEqual([true, false])
    expect(asRecognized(edited).lines).toEqual(document.lines)
    expect(keyIn(edited, 2, 1)).toBe(keyIn(document, 2, 1))
  })

  it('removes a word, which stays as recognized, and takes it back', () => {
    const removal: Edit = { ...correction, text: '' }
    const removed = applyEdit(noEdits, removal)
    const edited = new EditedTranscript().of(document, removed)
    expect(edited.lines[1]?.words[1]).toMatchObject({ text: '', recognized: 'there' })
    expect(edited.lines.map(textOfLine)).toEqual(['Good morning, how can I help?', 'Hello'])
    expect(applyEdit(removed, inverseOf(noEdits, removal))).toEqual(noEdits)
  })

  it('undoes every kind of change', () => {
    const first = [
      { type: 'title', title: 'A call' },
      { type: 'speaker', channel: 1, name: 'Ann' },
      correction,
    ] satisfies readonly Edit[]
    const before = first.reduce(applyEdit, noEdits)
    const second = [
      { type: 'title' },
      { type: 'speaker', channel: 1, name: 'Bob' },
      { ...correction, text: 'all' },
    ] satisfies readonly Edit[]
    for (const edit of second) {
      expect(applyEdit(before, edit)).not.toEqual(before)
      expect(applyEdit(applyEdit(before, edit), inverseOf(before, edit))).toEqual(before)
    }
    expect(applyEdit(before, { type: 'speaker', channel: 1, name: '  ' }).speakers).toEqual({})
  })

  it('finds its word again when a late result has divided the line', () => {
    const edits = applyEdit(noEdits, { type: 'word', key: keyIn(document, 1, 3), text: 'may' })
    const [line] = document.lines
    if (line === undefined) throw new Error('There is no line.')
    const divided = documentOf({
      lines: [
        { ...line, words: line.words.slice(0, 2) },
        { ...line, id: 9, words: line.words.slice(2) },
      ],
    })
    expect(new EditedTranscript().of(divided, edits).lines[1]?.words[1]).toMatchObject({
      text: 'may',
      recognized: 'can',
    })
  })

  it('corrects one of several words that have no times', () => {
    const line = lineOf(1, 0, 'the cat the dog', 0)
    const untimed = documentOf({
      lines: [{ ...line, words: line.words.map((word) => ({ ...word, startMs: 0, endMs: 0 })) }],
    })
    const edits = applyEdit(noEdits, { type: 'word', key: keyIn(untimed, 1, 2), text: 'a' })
    expect(new EditedTranscript().of(untimed, edits).lines.map(textOfLine)).toEqual(['the cat a dog'])
  })

  it('names speakers and the session, and reads only lines that are new', () => {
    const editor = new EditedTranscript()
    const edits = [
      correction,
      { type: 'speaker', channel: 1, name: 'Ann' } as const,
      { type: 'title', title: 'A call' } as const,
    ].reduce(applyEdit, noEdits)
    const before = editor.of(document, edits)
    expect(before).toMatchObject({ title: 'A call', speakers: ['Agent', 'Ann'] })
    expect(editor.of(document, edits)).toBe(before)
    const after = editor.of({ ...document, lines: [...document.lines, lineOf(3, 0, 'And', 9000)] }, edits)
    expect(after.lines[1]).toBe(before.lines[1])
    expect(after.lines[0]).toBe(document.lines[0])
  })

  it('titles what was spoken by its first words', () => {
    expect(defaultTitle(document)).toBe('Call.wav')
    const spoken = documentOf({ origin: 'microphone', title: 'Microphone' })
    expect(defaultTitle(spoken)).toBe('Good morning, how can I help? …')
    expect(defaultTitle({ ...spoken, lines: [] })).toBe('Microphone')
  })
})
