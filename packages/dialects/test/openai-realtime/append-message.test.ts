import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runs } from '../../../../test/thorough.js'
import { readUsualAppend } from '../../src/openai-realtime/append-message.js'
import { readAnyEvent, readClientEvent } from '../../src/openai-realtime/client-event.js'

const type = 'input_audio_buffer.append'

const base64 = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64'))
/** Also padding, escapes, quotes and spaces in any place, and characters whose low byte is that of another one. */
const nearlyBase64 = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: base64 },
    fc.constantFrom('=', '\\', '"', '\\u0041', '\n', ' ', 'š', 'Ł', '-', '_', '\\/'),
  ),
  { maxLength: 5 },
)
const text = fc.oneof(
  base64,
  nearlyBase64.map((parts) => parts.join('')),
)

const fields = fc.record(
  {
    type: fc.constantFrom(type, 'input_audio_buffer.commit'),
    audio: fc.oneof(text, fc.integer()),
    event_id: fc.string(),
  },
  { requiredKeys: [] },
)
const space = fc.constantFrom('', ' ', '\n')

/** JSON of an append in any order and spelling, with fields twice, cut, or with something inserted. */
const message = fc.oneof(
  fc.tuple(text, space).map(([audio, gap]) => `{"type":${gap}"${type}",${gap}"audio":${gap}"${audio}"}`),
  text.map((audio) => JSON.stringify({ type, audio })),
  fields.map((all) => JSON.stringify(all)),
  fc.tuple(text, text).map(([one, other]) => `{"type":"${type}","audio":"${one}","audio":"${other}"}`),
  fc.tuple(text, text).map(([one, other]) => `{"type":"${type}","audio":"${one}","event_id":"${other}"}`),
  text.map((audio) => `{"type":"${type}","audio":"${audio}","type":"input_audio_buffer.clear"}`),
  fc.tuple(text, fc.nat(), fc.string({ maxLength: 2 })).map(([audio, place, insert]) => {
    const whole = JSON.stringify({ type, audio })
    const at = place % (whole.length + 1)
    return whole.slice(0, at) + insert + whole.slice(at + (place % 3))
  }),
)

describe('an append that is read without parsing its JSON', () => {
  it('is read as the parser of all messages reads it', () => {
    fc.assert(
      fc.property(message, (json) => {
        expect(readClientEvent(json)).toEqual(readAnyEvent(json))
      }),
      { numRuns: runs(6_000), examples: [[`{"type":"${type}","audio":"}`], [`{"type": "${type}", "audio": "}`]] },
    )
  })

  it.each(['šAAA', 'AAAŁ', 'AA\u0141=', 'AAA\n', 'AA=A', 'A'])('is unreadable if its audio is %j', (audio) => {
    const json = `{"type":"${type}","audio":"${audio}"}`
    expect(readClientEvent(json)).toMatchObject({ type: 'unreadable' })
  })

  it('is what common writers of JSON make of it', () => {
    const audio = Buffer.from([1, 2, 3, 4]).toString('base64')
    const ofPython = `{"type": "${type}", "audio": "${audio}"}`
    for (const json of [JSON.stringify({ type, audio }), ofPython]) {
      expect(readUsualAppend(json)).toEqual(Buffer.from([1, 2, 3, 4]))
    }
    expect(readUsualAppend(JSON.stringify({ audio, type }))).toBeUndefined()
  })
})
