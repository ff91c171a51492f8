import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CassetteHeader, CassetteLine } from '../../../src/cassette/format/cassette.js'
import { writeLine } from '../../../src/cassette/format/codec.js'
import { parseCassette, readCassette } from '../../../src/cassette/format/read-cassette.js'
import { isSpeechError } from '../../../src/errors/speech-error.js'
import { header, line } from '../cassette-lines.js'
import { folderOfTest } from '../../temporary-folder.js'

/** The code and message of the error; undefined if the cassette is valid. */
const refusal = (lines: readonly string[], options = {}): string | undefined => {
  try {
    parseCassette(lines, options)
    return undefined
  } catch (error) {
    if (!isSpeechError(error)) throw error
    return `${error.code}: ${error.message}`
  }
}

const opened = [header('websocket'), line(0, 'dial'), line(1, 'open')]

describe('parseCassette', () => {
  it('reads every line that was written, and ignores unknown fields', () => {
    const headerLine: CassetteHeader = {
      version: 1,
      transport: 'grpc',
      format: { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 },
      startedAt: '2026-01-31T12:00:00Z',
      audio: 'sha256',
    }
    const lines: CassetteLine[] = [
      { atMs: 0, connection: 1, event: 'dial', address: 'localhost:1', headers: ['A'], protocols: ['b'] },
      { atMs: 0.5, connection: 1, event: 'open' },
      { atMs: 1, connection: 1, event: 'sent', contentType: 2, text: '{}' },
      { atMs: 1, connection: 1, event: 'sent', contentType: 0, bytes: 3, sha256: 'a'.repeat(64) },
      { atMs: 2, connection: 1, event: 'received', contentType: 0, bytes: 1, base64: 'AA==' },
      { atMs: 2, connection: 1, event: 'finish' },
      { atMs: 3, connection: 1, event: 'ended', code: 'going-away', message: 'Soon.' },
      { atMs: 4, event: 'lost', lines: 2, bytes: 100 },
      { atMs: 5, event: 'end', outcome: 'error', code: 'going-away', message: 'Soon.' },
    ]
    const text = [headerLine, ...lines].map((value) => writeLine(value)).join('\n')
    expect(parseCassette(`${text}\n`)).toEqual({ header: headerLine, lines })
    expect(parseCassette(text.replaceAll('{"atMs"', '{"later":true,"atMs"')).lines).toEqual(lines)
  })

  it.each([
    ['nothing', [], 'invalid-json: The cassette is empty; line 1 must be its header.'],
    ['no JSON', ['junk'], 'invalid-json: Line 1 of the cassette: The text is not JSON'],
    ['another version', [header('grpc', { version: 2 })], 'invalid-field: Line 1 of the cassette: version must be 1'],
    ['another transport', [header('grpc', { transport: 'fax' })], 'transport must be "grpc" or "websocket"'],
    ['a cut line', [...opened, '{"atMs":2,"conn'], 'invalid-json: Line 4 of the cassette: The text is not JSON'],
    ['an unknown event', [...opened, line(2, 'read')], 'Line 4 of the cassette: event must be "dial", "open", "sent"'],
    ['a field of Object', [...opened, line(2, 'constructor')], 'Line 4 of the cassette: event must be "dial"'],
    ['no time', [...opened, line(2, 'sent', { atMs: 'x' })], 'Line 4 of the cassette: atMs must be a number of ms'],
    ['a time that decreases', [...opened, line(0.5, 'close')], 'Line 4 of the cassette: atMs must be at least'],
    ['no message', [...opened, line(2, 'sent')], 'Line 4 of the cassette: text or bytes must be given.'],
    ['bytes of another length', [...opened, line(2, 'sent', { bytes: 2, base64: 'AA==' })], 'bytes must be the number'],
    ['no bytes', [...opened, line(2, 'sent', { bytes: 2 })], 'one of base64 and sha256 must be given.'],
    ['base64 without a length', [...opened, line(2, 'sent', { base64: 'AA==' })], 'bytes must be given.'],
    ['no base64', [...opened, line(2, 'sent', { bytes: 1, base64: '?A==' })], 'base64 must be base64.'],
    ['an unknown connection', [...opened, line(2, 'sent', { connection: 2, text: '' })], 'connection must be one'],
    ['a second dial', [...opened, line(2, 'dial')], 'Line 4 of the cassette: connection must be new'],
    [
      'a message after the end of the connection',
      [...opened, line(2, 'close'), line(2, 'received', { text: '' })],
      'must be one that is open',
    ],
    [
      'a line after the end of the session',
      [...opened, line(2, 'end', { outcome: 'complete' }), line(2, 'close')],
      'one file is one session',
    ],
  ])('rejects %s, with the line number and what was expected', (_name, lines, expected) => {
    expect(refusal(lines)?.replace(/milliseconds/, 'ms')).toContain(expected)
  })

  it('never repeats the content of a line', () => {
    expect(refusal([...opened, line(2, 'secret-in-a-wrong-place')])).not.toContain('secret')
    expect(refusal([...opened, line(2, 'sent', { bytes: 'secret' })])).not.toContain('secret')
  })

  it('limits the size of a line and of the cassette', () => {
    expect(refusal(opened, { maxLineBytes: 100 })).toMatch(/^message-too-big: Line 1 of the cassette/)
    expect(refusal(opened, { maxBytes: 200 })).toMatch(/^message-too-big: The cassette is larger than the 200 bytes/)
    expect(refusal(opened, { maxBytes: 0 })).toMatch(/^invalid-options/)
  })

  it('throws only SpeechErrors, for any input', () => {
    const part = fc.oneof(
      fc.constantFrom(...opened),
      fc.string(),
      fc.json(),
      fc.constant(line(2, 'sent', { text: 'a' })),
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (lines) => {
        refusal(lines)
      }),
      { numRuns: 300 },
    )
  })
})

describe('readCassette', () => {
  it('reads a file line by line, and rejects a missing file and a line without an end', async () => {
    const folder = folderOfTest()
    const file = join(folder, 'a.jsonl')
    writeFileSync(file, `${opened.join('\n')}\n`)
    expect((await readCassette(file)).lines).toHaveLength(2)
    writeFileSync(file, `${header('grpc')}\n${' '.repeat(300_000)}`)
    await expect(readCassette(file, { maxLineBytes: 100_000 })).rejects.toMatchObject({
      code: 'message-too-big',
      message: expect.stringContaining('Line 2') as unknown,
    })
    await expect(readCassette(join(folder, 'none'))).rejects.toMatchObject({ code: 'source-failed' })
  })
})
