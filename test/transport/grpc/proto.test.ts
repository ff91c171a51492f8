import { fromJSON, loadSync, type ServiceDefinition } from '@grpc/proto-loader'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { dataflowDescriptor } from '../../../src/transport/grpc/dataflow-descriptor.js'
import type { DataflowMessage } from '../../../src/transport/link.js'
import { loadDataflow, undecodableContentType } from '../../../src/transport/grpc/proto.js'
import { temporaryFolder } from '../../temporary-folder.js'

const message = (fields: Partial<DataflowMessage>): DataflowMessage => ({
  contentType: 0,
  content: '',
  binaryContent: new Uint8Array(0),
  ...fields,
})

/** Text is compared faster than bytes. */
const comparable = ({ binaryContent, ...rest }: DataflowMessage): object => ({
  ...rest,
  base64: Buffer.from(binaryContent).toString('base64'),
})

describe('loadDataflow', () => {
  it('has no package, so that the path is /dataflow/Stream', () => {
    expect(loadDataflow().Stream).toMatchObject({ path: '/dataflow/Stream', requestStream: true, responseStream: true })
  })

  it('has the field numbers of DECISIONS', () => {
    const { requestSerialize, responseSerialize } = loadDataflow().Stream
    const bytes = Buffer.from([0x0a, 8, 0x0a, 1, 0x61, 0x12, 1, 7, 0x18, 2])
    const sent = message({ contentType: 2, content: 'a', binaryContent: Uint8Array.of(7) })
    expect(requestSerialize(sent)).toEqual(bytes)
    expect(responseSerialize(sent)).toEqual(bytes)
  })

  it.each([
    message({ contentType: 2, content: '{"MessageName":"Start"}' }),
    message({ contentType: 0, binaryContent: Uint8Array.from({ length: 640 }, (_, index) => index % 256) }),
    message({ contentType: 3, content: 'žluť' }),
    message({ contentType: 77, content: 'of a later version' }),
    message({}),
  ])('decodes what it encoded: %j', (given) => {
    const { requestSerialize, requestDeserialize, responseSerialize, responseDeserialize } = loadDataflow().Stream
    expect(requestDeserialize(requestSerialize(given))).toStrictEqual(given)
    expect(responseDeserialize(responseSerialize(given))).toStrictEqual(given)
  })

  it('reads an empty message as empty audio', () => {
    expect(loadDataflow().Stream.requestDeserialize(Buffer.alloc(0))).toStrictEqual(message({}))
  })

  it('decodes bytes that are not a message to a value, in both directions', () => {
    const junk = Buffer.from([0x0a, 0xff, 1, 2])
    const { requestDeserialize, responseDeserialize } = loadDataflow().Stream
    const expected = message({ contentType: undecodableContentType, binaryContent: Uint8Array.of(0x0a, 0xff, 1, 2) })
    expect(requestDeserialize(junk)).toStrictEqual(expected)
    expect(responseDeserialize(junk)).toStrictEqual(expected)
  })

  it('is that of proto/dataflow.proto', () => {
    const options = { keepCase: true }
    const file = loadSync('proto/dataflow.proto', options)
    const own = fromJSON(dataflowDescriptor, options)
    expect(own['Content']).toMatchObject({ fileDescriptorProtos: file['Content']?.fileDescriptorProtos })
  })

  it('reads its own proto once', () => {
    expect(loadDataflow()).toBe(loadDataflow())
  })
})

describe('loadDataflow of another proto', () => {
  const folder = temporaryFolder()

  const fields = 'string content = 4; bytes binary_content = 9; Kind content_type = 2;'
  const proto = (changes: { service?: string; content?: string; input?: string; output?: string } = {}): string => `
    syntax = "proto3";
    package speech.v2;
    enum Kind { AUDIO = 0; EVENT = 1; REQUEST = 2; RESPONSE = 3; }
    message Part { ${changes.content ?? fields} }
    message In { ${changes.input ?? 'Part message = 7;'} }
    message Out { ${changes.output ?? 'Part message = 3;'} }
    ${changes.service ?? 'service dataflow { rpc Stream (stream In) returns (stream Out); }'}`

  const loadText = async (text: string) => {
    const protoPath = join(folder, 'other.proto')
    await writeFile(protoPath, text)
    return loadDataflow({ protoPath })
  }

  it('requires only the names: any package and any field numbers are accepted', async () => {
    const { Stream } = await loadText(proto())
    expect(Stream.path).toBe('/speech.v2.dataflow/Stream')
    const given = message({ contentType: 1, content: 'x', binaryContent: Uint8Array.of(1) })
    expect(Stream.responseDeserialize(Stream.responseSerialize(given))).toStrictEqual(given)
  })

  it.each([
    ['the own proto', undefined],
    ['other field numbers', {}],
    ['tags of two bytes', { input: 'Part message = 700;', content: fields.replace('9', '900') }],
  ])('writes audio of any length as proto-loader does: %s', async (_name, changes) => {
    const protoPath = join(folder, 'same.proto')
    if (changes !== undefined) await writeFile(protoPath, proto(changes))
    const path = changes === undefined ? 'proto/dataflow.proto' : protoPath
    const definition = loadSync(path, { keepCase: true, defaults: true })
    const service = definition[changes === undefined ? 'dataflow' : 'speech.v2.dataflow'] as ServiceDefinition
    const { Stream } = loadDataflow({ protoPath: path })
    for (const length of [0, 1, 2, 110, 115, 118, 120, 125, 127, 128, 300, 640, 16_370, 16_383, 16_384, 70_000]) {
      const bytes = Uint8Array.from({ length }, (_none, index) => index % 251)
      const written = Stream.requestSerialize(message({ binaryContent: bytes }))
      const wire = { message: { content: '', binary_content: bytes, content_type: 0 } }
      expect(written.equals(service['Stream']?.requestSerialize(wire) ?? Buffer.alloc(0)), String(length)).toBe(true)
    }
  })

  it.each([
    ['the own proto', undefined],
    ['other field numbers', {}],
    ['tags of two bytes', { input: 'Part message = 700;', content: fields.replace('9', '900') }],
  ])('reads audio of any length, and bytes around it, as proto-loader does: %s', async (_name, changes) => {
    const protoPath = join(folder, 'read.proto')
    if (changes !== undefined) await writeFile(protoPath, proto(changes))
    const path = changes === undefined ? 'proto/dataflow.proto' : protoPath
    const definition = loadSync(path, { keepCase: true, defaults: true })
    const service = definition[changes === undefined ? 'dataflow' : 'speech.v2.dataflow'] as ServiceDefinition
    const method = service['Stream']
    const { Stream } = loadDataflow({ protoPath: path })
    const expected = (bytes: Buffer): DataflowMessage => {
      try {
        const { message: read } = method?.requestDeserialize(bytes) as {
          message: { content: string; binary_content: Uint8Array; content_type: number } | null
        }
        if (read === null) return message({})
        return message({
          contentType: read.content_type,
          content: read.content,
          binaryContent: Uint8Array.from(read.binary_content),
        })
      } catch {
        return message({ contentType: undecodableContentType, binaryContent: Uint8Array.from(bytes) })
      }
    }
    const wires = [0, 1, 2, 119, 120, 123, 124, 127, 128, 640, 16_383, 16_384].flatMap((length) => {
      const binary_content = Uint8Array.from({ length }, (_none, index) => index % 251)
      return [
        { binary_content },
        { binary_content, content_type: 0 },
        { content: '', binary_content },
        { content: '', binary_content, content_type: 0 },
        { content: 'text', binary_content },
        { binary_content, content_type: 1 },
      ]
    })
    for (const wire of wires) {
      const bytes = method?.requestSerialize({ message: wire }) ?? Buffer.alloc(0)
      // The same field twice, a field that is not known, a message twice, a text after the audio.
      const others = [[18, 1, 7], [56, 1], [10, 2, 24, 0], [10, 0], [24, 0], [0]].map((tail) =>
        Buffer.concat([bytes, Buffer.from(tail)]),
      )
      const changed = Array.from({ length: Math.min(12, bytes.length) }, (_none, at) => {
        const copy = Buffer.from(bytes)
        copy[at] = (copy[at] ?? 0) + 1
        return copy
      })
      for (const given of [bytes, ...others, ...changed, bytes.subarray(0, -1)]) {
        expect(comparable(Stream.requestDeserialize(given))).toEqual(comparable(expected(given)))
      }
    }
  })

  it('reads the defaults of a proto2', async () => {
    const content = 'optional string content = 4; optional bytes binary_content = 9;'
    const kind = 'optional Kind content_type = 2 [default = EVENT];'
    const { Stream } = await loadText(
      proto({
        content: content + kind,
        input: 'optional Part message = 7;',
        output: 'optional Part message = 3;',
      }).replace('proto3', 'proto2'),
    )
    const bytes = Buffer.from([0x3a, 3, 0x4a, 1, 5])
    expect(Stream.requestDeserialize(bytes)).toStrictEqual(message({ contentType: 1, binaryContent: Uint8Array.of(5) }))
  })

  it.each([
    [
      'the service',
      'no service named dataflow',
      { service: 'service other { rpc Stream (stream In) returns (stream Out); }' },
    ],
    ['the method', 'no method Stream', { service: 'service dataflow { rpc Talk (stream In) returns (stream Out); }' }],
    ['the stream', 'does not stream', { service: 'service dataflow { rpc Stream (In) returns (stream Out); }' }],
    ['message of the client', 'no field message in what the client sends', { input: 'Part content = 1;' }],
    ['message of the service', 'no field message in what the service sends', { output: 'Part content = 1;' }],
    ['content', 'message.content', { content: 'string text = 1; bytes binary_content = 2; Kind content_type = 3;' }],
    ['binary_content', 'message.binary_content', { content: 'string content = 1; Kind content_type = 3;' }],
    ['content_type', 'message.content_type', { content: 'string content = 1; bytes binary_content = 2;' }],
    ['a plain content_type', 'other types', { content: 'string content = 1; Part content_type = 3;' }],
  ])('rejects one that lacks %s, by name', async (_missing, words, changes) => {
    await expect(loadText(proto(changes))).rejects.toMatchObject({
      code: 'invalid-options',
      message: expect.stringMatching(`other.proto.*${words}`),
    })
  })

  it('rejects a file that is not a proto, or is missing, without its folder', async () => {
    await expect(loadText('message {')).rejects.toMatchObject({ code: 'invalid-options' })
    expect(() => loadDataflow({ protoPath: join(folder, 'absent.proto') })).toThrow(
      expect.objectContaining({ code: 'invalid-options', message: expect.not.stringContaining(folder) }),
    )
  })
})
