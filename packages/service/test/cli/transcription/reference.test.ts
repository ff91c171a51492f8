import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { stemOf } from '../../../src/cli/input/file-names.js'
import {
  parseReference,
  readReference,
  readReferences,
  ReferenceComparison,
} from '../../../src/cli/transcription/reference.js'
import { wordErrorsText } from '../../../src/cli/view/word-errors-view.js'
import { emptyTranscript } from '../../../../../src/operators/results/transcript.js'
import type { SessionEvent } from '../../../../../src/protocol/session-event.js'
import { folderOfTest } from '../../../../../test/temporary-folder.js'

const speakers = ['left', 'right']
const style = { paint: (color: string, text: string) => (color === 'red' ? `!${text}` : text), columns: 40 }

const report = (reference: string, events: readonly SessionEvent[], names = speakers): string => {
  const comparison = new ReferenceComparison(reference)
  const seen: string[] = []
  const view = comparison.watch(
    { event: ({ type }) => void seen.push(type), sent: () => undefined, end: () => undefined },
    names,
  )
  for (const event of events) view.event(event, emptyTranscript)
  expect(seen).toEqual(events.map(({ type }) => type))
  return wordErrorsText(comparison.texts(), style)
}

const milestone = (channel: number, startMs: number, text: string): SessionEvent => ({
  type: 'milestone',
  channel,
  startMs,
  endMs: startMs + 100,
  text,
})

const inputs = (...files: readonly string[]) => files.map((file) => ({ file, stem: stemOf(file) }))

describe('a reference', () => {
  it('is one text, or a text for each speaker in lines as transcribe prints them', () => {
    expect(parseReference('good evening\nhow can i help', speakers)).toEqual([{ text: 'good evening how can i help' }])
    expect(parseReference('[59:58.0] right: yes\n[1:02:03.4] left: hello\n[01:02:03.456] left: you', speakers)).toEqual(
      [
        { speaker: 'left', text: ' hello  you' },
        { speaker: 'right', text: ' yes' },
      ],
    )
    expect(parseReference('[00:01.2] left: good\n[00:02.0] right: yes\r\nplease\nleft: bye\n', speakers)).toEqual(
      [
        { speaker: 'left', text: ' good  bye' },
        { speaker: 'right', text: ' yes please ' },
      ].map((reference) => ({ ...reference, text: expect.stringMatching(/\S/) as unknown })),
    )
  })

  it('may be in UTF-8 or UTF-16 with a byte order mark; other bytes are refused', async () => {
    const folder = folderOfTest()
    const read = (bytes: Uint8Array): Promise<string> => {
      writeFileSync(join(folder, 'a.txt'), bytes)
      return readReference(join(folder, 'a.txt'))
    }
    const littleEndian = Buffer.from('\ufeffleft: é', 'utf16le')
    expect(await read(Buffer.from('\ufeffleft: é'))).toBe('left: é')
    expect(await read(littleEndian)).toBe('left: é')
    expect(await read(Buffer.from(littleEndian).swap16())).toBe('left: é')
    await expect(read(Buffer.from('é', 'latin1'))).rejects.toThrow('a.txt is not text in UTF-8; save it as UTF-8.')
    await expect(read(Buffer.from('one\0'))).rejects.toThrow('is not text')
  })

  it('may be a folder with a text for each recording; one file is for one recording', async () => {
    const folder = folderOfTest()
    writeFileSync(join(folder, 'a.txt'), 'one')
    writeFileSync(join(folder, 'b.c.txt'), 'two')
    expect(await readReferences(folder, inputs('/x/b.c.wav', 'a.wav'))).toEqual(['two', 'one'])
    expect(await readReferences(join(folder, 'a.txt'), inputs('x.wav'))).toEqual(['one'])
    await expect(readReferences(folder, inputs('a.wav', 'd.wav'))).rejects.toThrow('d.txt cannot be read (ENOENT)')
    await expect(readReferences(join(folder, 'a.txt'), inputs('x.wav', 'y.wav'))).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringContaining('must be a folder') as unknown,
    })
  })

  it('must be readable and have words', async () => {
    await expect(readReference('/nowhere/call.txt')).rejects.toMatchObject({
      code: 'source-failed',
      message: '/nowhere/call.txt cannot be read (ENOENT); choose another file for --reference.',
    })
    await expect(readReference('/dev/null')).rejects.toMatchObject({
      message: expect.stringContaining('has no words') as unknown,
    })
  })
})

describe('the comparison with a reference', () => {
  it('shows the rows that differ, and counts for each speaker and all', () => {
    const events = [
      milestone(1, 900, 'yes'),
      milestone(0, 100, 'good evening'),
      milestone(0, 2_000, ' how can help you'),
    ]
    expect(report('left: good evening how can i help\nright: yes', events)).toBe(
      [
        'left:',
        'said  good evening how can i help —',
        'read  good evening how can !— help !you',
        '                           D      I',
        'left: 5 of 6 words right, 0 substituted, 1 inserted, 1 deleted: word error rate 33.3 %',
        'right: 1 of 1 words right, 0 substituted, 0 inserted, 0 deleted: word error rate 0.0 %',
        'all: 6 of 7 words right, 0 substituted, 1 inserted, 1 deleted: word error rate 28.6 %',
        '',
      ].join('\n'),
    )
  })

  it('has no rate for a speaker who said nothing', () => {
    expect(report('left: one', [milestone(0, 0, 'one'), milestone(1, 0, 'two')])).toContain(
      '\nright: 0 of 0 words right, 0 substituted, 1 inserted, 0 deleted: no word error rate\nall: 1 of 1 words right,',
    )
    expect(report('left: one', [milestone(0, 0, 'one')])).toContain('right: 0 of 0 words right, 0 substituted')
  })

  it('compares a text without speakers with all channels in the order of time', () => {
    const events = [milestone(1, 900, 'two'), milestone(0, 100, 'one'), milestone(0, 2_000, ' three')]
    expect(report('one two three', events)).toContain('3 of 3 words right')
  })

  it('wraps rows at the width of the terminal, wide characters counted twice', () => {
    const text = report(
      '일이삼 사오육 칠팔구 one two three four five',
      [milestone(0, 0, '일이삼 사오육 칠팔구 one too three four five')],
      [],
    )
    expect(text.split('\n').slice(0, 3)).toEqual([
      'said  일이삼 사오육 칠팔구 one two',
      'read  일이삼 사오육 칠팔구 one !too',
      '                               S',
    ])
  })

  it('takes the text of each final from a service without milestones', () => {
    const finals = ['one two', 'three'].map((text, at): SessionEvent => ({ type: 'final', text, startMs: 100 * at }))
    expect(report('one two three', finals, [])).toContain('3 of 3 words right')
    const final: SessionEvent = { type: 'final', text: 'one two' }
    expect(report('one two', [final], [])).toContain('2 of 2 words right')
    expect(report('one two', [milestone(0, 0, 'one two'), { ...final, channel: 0 }], [])).toContain(
      '2 of 2 words right',
    )
  })
})
