import { describe, expect, it } from 'vitest'
import { MessageReader, writeMessage } from '../../src/wyoming/messages.js'

const bytes = (text: string): Buffer => Buffer.from(text)

describe('messages of Wyoming', () => {
  it('are written as a line, data and bytes, with their lengths in bytes', () => {
    const message = Buffer.from(writeMessage('audio-chunk', { name: 'ü' }, Uint8Array.of(1, 2))).toString('latin1')
    const [header = '', rest] = message.split('\n')
    expect(JSON.parse(header)).toEqual({ type: 'audio-chunk', data_length: 13, payload_length: 2 })
    expect(Buffer.from(rest ?? '', 'latin1').toString()).toBe('{"name":"ü"}\u0001\u0002')
    expect(Buffer.from(writeMessage('describe')).toString()).toBe('{"type":"describe"}\n')
  })

  it.each([1, 2, 7, 1000])('are read from pieces of %i bytes', (size) => {
    const stream = Buffer.concat([
      writeMessage('info', { a: 'ü' }, Uint8Array.of(10, 10)),
      writeMessage('ping'),
      bytes('{"type":"x","data":{"a":1,"b":1},"data_length":7}\n{"b":2}'),
    ])
    const reader = new MessageReader()
    const read = Array.from({ length: Math.ceil(stream.length / size) }, (_, at) =>
      reader.read(stream.subarray(at * size, (at + 1) * size)),
    )
    expect(read.flat()).toEqual([
      { type: 'info', data: { a: 'ü' }, payloadBytes: 2 },
      { type: 'ping', data: {}, payloadBytes: 0 },
      { type: 'x', data: { a: 1, b: 2 }, payloadBytes: 0 },
    ])
  })

  it.each([
    ['no JSON', 'HTTP/1.1 400 Bad Request\n'],
    ['no type', '{"data_length":0}\n'],
    ['a list', '[]\n'],
    ['a negative length', '{"type":"x","data_length":-1}\n'],
    ['a length that is no number', '{"type":"x","payload_length":"1"}\n'],
    ['a length of gigabytes', '{"type":"x","payload_length":9000000000}\n'],
    ['a line without an end', 'x'.repeat(70_000)],
  ])('are refused with %s', (_name, text) => {
    expect(new MessageReader().read(bytes(text))).toBeUndefined()
  })
})
