import { describe, expect, it } from 'vitest'
import { applyEdit, EditedTranscript, noEdits, wordKey } from '../../src/library/edits.js'
import { exportFormats, fileName, fileOf, toText, type ExportFormat } from '../../src/library/export.js'
import { documentOf, lineOf } from './transcripts.js'

const recognized = documentOf({
  lines: [
    { ...lineOf(1, 0, 'good mourning how can I help', 500), starts: [0, 2] },
    { id: 2, channel: 1, startMs: 3600, endMs: 4000, status: 'rejected', words: [], starts: [0] },
    lineOf(3, 1, 'hello there', 4000),
    { id: 4, channel: 0, startMs: 5000, endMs: 7000, status: 'gap', cause: 'buffer-full', words: [], starts: [0] },
  ],
})
const line = recognized.lines[0]
const word = line?.words[1]
const edits =
  line === undefined || word === undefined
    ? noEdits
    : [
        { type: 'word', key: wordKey(line, 1, word), text: 'morning to you' } as const,
        { type: 'speaker', channel: 1, name: 'Ann -->' } as const,
      ].reduce(applyEdit, noEdits)
const document = new EditedTranscript().of(recognized, edits)
const all = { hasTimes: true, hasSpeakers: true, isCorrected: true }
const exported = { document, events: new Blob(['{"type":"partial"}\n']), cassette: undefined }
const contentOf = async (format: ExportFormat, options = all): Promise<string | undefined> =>
  (await fileOf(format, exported, options))?.text()

describe('exports', () => {
  it('writes text with times and speakers, or without', async () => {
    expect(await contentOf('text')).toBe(
      '[0:00] Agent: good morning to you how can I help\n[0:04] Ann -->: hello there\n[0:05] (2.0 s without words: ' +
        'the connection was too slow for the audio)\n',
    )
    const plain = { ...all, hasTimes: false, hasSpeakers: false, isCorrected: false }
    expect(await contentOf('text', plain)).toMatch(/^good mourning how can I help\nhello there\n\(2\.0 s/)
  })

  it('writes captions with the corrected words at the times of those that were recognized', async () => {
    expect(await contentOf('srt')).toBe(
      '1\n00:00:00,500 --> 00:00:01,500\nAgent: good morning to you\n\n' +
        '2\n00:00:01,500 --> 00:00:03,500\nAgent: how can I help\n\n' +
        '3\n00:00:04,000 --> 00:00:05,000\nAnn ->: hello there\n\n',
    )
    expect(await contentOf('vtt', { ...all, hasSpeakers: false, isCorrected: false })).toBe(
      'WEBVTT\n\n1\n00:00:00.500 --> 00:00:01.500\ngood mourning\n\n' +
        '2\n00:00:01.500 --> 00:00:03.500\nhow can I help\n\n' +
        '3\n00:00:04.000 --> 00:00:05.000\nhello there\n\n',
    )
  })

  it('takes any name of a speaker into captions', async () => {
    const named = new EditedTranscript().of(recognized, {
      ...noEdits,
      speakers: { 0: '很'.repeat(60), 1: 'x'.repeat(60) },
    })
    const file = await fileOf('vtt', { ...exported, document: named }, all)
    expect(await file?.text()).toContain(`<v ${'很'.repeat(9)}>`)
  })

  it('writes JSON with the corrected text and what was recognized', async () => {
    const json = JSON.parse((await contentOf('json')) ?? '') as { segments: unknown[] }
    expect(json).toMatchObject({
      title: 'Call.wav',
      startedAt: '2026-05-01T09:00:00.000Z',
      audioMs: 10_000,
      textIs: 'corrected',
      text: 'good morning to you how can I help hello there',
    })
    expect(json.segments[0]).toMatchObject({
      startMs: 500,
      speaker: 'Agent',
      text: 'good morning to you how can I help',
      recognized: 'good mourning how can I help',
    })
    expect(json.segments[0]).toHaveProperty('words.1', {
      text: 'morning to you',
      recognized: 'mourning',
      startMs: 1000,
      endMs: 1500,
    })
    expect(json.segments[2]).not.toHaveProperty('recognized')
    const uncorrected = JSON.parse((await contentOf('json', { ...all, isCorrected: false })) ?? '') as object
    expect(uncorrected).toMatchObject({ textIs: 'recognized', text: 'good mourning how can I help hello there' })
  })

  it('writes the events as they are, and no cassette where there is none', async () => {
    expect(await contentOf('ndjson')).toBe('{"type":"partial"}\n')
    expect(await contentOf('cassette')).toBeUndefined()
  })

  it('leaves out a word that was removed, and a line without words', () => {
    const removed = documentOf({
      lines: [
        {
          ...lineOf(1, 0, 'um', 0),
          words: [
            { ...lineOf(1, 0, 'um', 0).words[0], text: '', recognized: 'um', startMs: 0, endMs: 500, times: 'service' },
          ],
        },
      ],
    })
    expect(toText(removed, all)).toBe('')
  })

  it('names files by the title', () => {
    expect(Object.keys(exportFormats).map((format) => fileName(document, format as ExportFormat))).toEqual([
      'Call.txt',
      'Call.srt',
      'Call.vtt',
      'Call.json',
      'Call.ndjson',
      'Call.jsonl',
    ])
    expect(fileName({ ...document, title: '../a: "b" / c\u0000 …' }, 'text')).toBe('a-b-c.txt')
    expect(fileName({ ...document, title: '…' }, 'text')).toBe('session.txt')
  })
})
