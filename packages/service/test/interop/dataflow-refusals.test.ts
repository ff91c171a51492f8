import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { liveService, type LiveService } from './live-service.js'
import { converse } from './plain-dataflow-client.js'

let live: LiveService
beforeAll(async () => {
  live = await liveService()
})
afterAll(() => live.close())

const audio = { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm' }
const start = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  MessageName: 'Start',
  Audio: audio,
  Tenant: 'Default',
  Token: live.token,
  ProjectName: 'transcribe',
  ...change,
})

describe('an invalid Start', () => {
  const refusals: readonly (readonly [string, () => unknown, RegExp, string])[] = [
    ['a wrong token', () => start({ Token: 'eyJhbGciOiJub25lIn0.e30.' }), /^unauthenticated: /, 'UNAUTHENTICATED'],
    ['no token', () => start({ Token: undefined }), /^invalid-field: Token /, 'INVALID_ARGUMENT'],
    ['an unknown tenant', () => start({ Tenant: 'nobody' }), /^tenant-denied: /, 'PERMISSION_DENIED'],
    ['an unknown project', () => start({ ProjectName: '../etc' }), /^project-denied: /, 'PERMISSION_DENIED'],
    ['an unknown model', () => start({ Settings: { ModelName: 'nope' } }), /^model-denied: /, 'PERMISSION_DENIED'],
    ['JSON that is none', () => '{"MessageName":', /^invalid-json: /, 'INVALID_ARGUMENT'],
    ['JSON that is no object', () => '[1]', /^invalid-json: /, 'INVALID_ARGUMENT'],
    [
      'a rate with a fraction',
      () => start({ Audio: { ...audio, SampleRate: 5.5 } }),
      /^invalid-field: Audio\.SampleRate /,
      'INVALID_ARGUMENT',
    ],
    [
      'a rate of true',
      () => start({ Audio: { ...audio, SampleRate: true } }),
      /^invalid-field: Audio\.SampleRate /,
      'INVALID_ARGUMENT',
    ],
    [
      'a rate that is a list',
      () => start({ Audio: { ...audio, SampleRate: [] } }),
      /^invalid-field: Audio\.SampleRate /,
      'INVALID_ARGUMENT',
    ],
    [
      'a rate of "abc"',
      () => start({ Audio: { ...audio, SampleRate: 'abc' } }),
      /^invalid-field: Audio\.SampleRate /,
      'INVALID_ARGUMENT',
    ],
    [
      'no channel count',
      () => start({ Audio: { ...audio, ChannelCount: undefined } }),
      /^invalid-field: Audio\.ChannelCount /,
      'INVALID_ARGUMENT',
    ],
    [
      'three channels',
      () => start({ Audio: { ...audio, ChannelCount: 3 } }),
      /^invalid-field: Audio\.ChannelCount /,
      'INVALID_ARGUMENT',
    ],
    [
      'an unknown encoding',
      () => start({ Audio: { ...audio, Encoding: 'mp3' } }),
      /^invalid-field: Audio\.Encoding /,
      'INVALID_ARGUMENT',
    ],
    ['no audio', () => start({ Audio: undefined }), /^invalid-field: Audio /, 'INVALID_ARGUMENT'],
    ['an unknown name', () => start({ MessageName: 'Begin' }), /^unknown-message: .*Begin/, 'INVALID_ARGUMENT'],
    ['Finalize first', () => ({ MessageName: 'Finalize' }), /^not-started: /, 'FAILED_PRECONDITION'],
  ]
  it.each(refusals)('is refused with its response and its status for %s', async (_name, request, result, status) => {
    const conversation = await converse(live, (stream) => {
      stream.request(request())
    })
    expect(conversation.responses).toHaveLength(1)
    expect(conversation.responses[0]?.['operation-result']).toMatch(result)
    expect(conversation).toMatchObject({ status, events: [] })
    expect(JSON.stringify(conversation)).not.toContain(live.token)
  })

  it('is accepted in the older kebab form, with integers as strings', async () => {
    const { responses, status } = await converse(live, (stream) => {
      stream.request({
        'message-name': 'START',
        audio: { 'sample-rate': '8000', 'channel-count': '1', encoding: 'ulaw' },
        tenant_id: 'Default',
        token: live.token,
        'project-name': 'transcribe',
      })
      stream.end()
    })
    expect(responses).toMatchObject([{ MessageName: 'StartResponse', 'operation-result': 'success' }])
    expect(status).toBe('OK')
  })
})

describe('a stream with an invalid begin', () => {
  it('is refused for audio before Start', async () => {
    const { responses, status } = await converse(live, (stream) => {
      stream.raw({ binary_content: new Uint8Array(320), content_type: 0 })
    })
    expect(responses[0]?.['operation-result']).toMatch(/^not-started: /)
    expect(status).toBe('FAILED_PRECONDITION')
  })

  it('is refused for a request without content type, which therefore reads as audio', async () => {
    const { responses, status } = await converse(live, (stream) => {
      stream.raw({ content: JSON.stringify(start()) })
    })
    expect(responses[0]?.['operation-result']).toMatch(/^empty-audio: /)
    expect(status).toBe('INVALID_ARGUMENT')
  })

  it.each([1, 3, 7])('is refused for content type %i', async (contentType) => {
    const { responses, status } = await converse(live, (stream) => {
      stream.raw({ content: '{}', content_type: contentType })
    })
    expect(responses[0]?.['operation-result']).toMatch(/^unknown-content-type: /)
    expect(status).toBe('INVALID_ARGUMENT')
  })
})

describe('a running session', () => {
  /** Starts, sends the rest after the start-response, and returns what it received. */
  const running = (
    send: (write: (message: { content?: string; binary_content?: Uint8Array; content_type: number }) => void) => void,
    change: Record<string, unknown> = {},
    end = true,
  ): ReturnType<typeof converse> =>
    converse(
      live,
      (stream) => {
        stream.request(start(change))
      },
      (response, stream) => {
        if (response['MessageName'] !== 'StartResponse' || response['operation-result'] !== 'success') return
        send((message) => stream.write({ message }))
        if (end) stream.end()
      },
    )

  it('refuses a second Start and continues', async () => {
    const { responses, status, events } = await running((write) => {
      write({ content: JSON.stringify(start()), content_type: 2 })
    })
    expect(responses.map((response) => response['operation-result'])).toEqual([
      'success',
      expect.stringMatching(/^already-started: /),
    ])
    expect(status).toBe('OK')
    expect(events.map((event) => event['Name'])).toEqual(['SR Final'])
  })

  it('refuses an unknown request by its name and continues', async () => {
    const { responses, status } = await running((write) => {
      write({ content: '{"MessageName":"Dance"}', content_type: 2 })
    })
    expect(responses[1]?.['operation-result']).toMatch(/^unknown-message: .*Dance/)
    expect(status).toBe('OK')
  })

  it.each([
    [1, 1, 'pcm', '3'],
    [2, 6, 'pcm', '6'],
    [2, 3, 'ulaw', '3'],
  ])(
    'refuses a cut sample of %i channels and names the byte count',
    async (ChannelCount, byteCount, Encoding, shown) => {
      const bytes = new Uint8Array(ChannelCount === 1 ? 3 : byteCount)
      const { responses, status, details } = await running(
        (write) => {
          write({ binary_content: bytes, content_type: 0 })
        },
        { Audio: { ...audio, ChannelCount, Encoding } },
        false,
      )
      expect(responses[1]?.['operation-result']).toMatch(new RegExp(`^cut-sample: .*${shown} bytes`))
      expect(status).toBe('INVALID_ARGUMENT')
      expect(details).toMatch(/^cut-sample: /)
    },
  )

  it('answers Update, then Finalize, and ends with OK after the final', async () => {
    const { responses, status, events } = await running(
      (write) => {
        write({ content: '{"MessageName":"Update","Settings":{"a":1}}', content_type: 2 })
        write({ binary_content: new Uint8Array(16_000), content_type: 0 })
        write({ content: '{"MessageName":"Finalize"}', content_type: 2 })
        write({ binary_content: new Uint8Array(16_000), content_type: 0 })
      },
      {},
      false,
    )
    expect(responses.map((response) => response['MessageName'])).toEqual([
      'StartResponse',
      'UpdateResponse',
      'FinalizeResponse',
    ])
    expect(events.map((event) => event['Name'])).toEqual(['SR Final'])
    expect(status).toBe('OK')
  })

  it('answers Stop and ends without a final', async () => {
    const { responses, status, events } = await running(
      (write) => {
        write({ binary_content: new Uint8Array(16_000), content_type: 0 })
        write({ content: '{"MessageName":"Stop"}', content_type: 2 })
      },
      {},
      false,
    )
    expect(responses[1]).toEqual({ MessageName: 'StopResponse', 'operation-result': 'success' })
    expect(events).toEqual([])
    expect(status).toBe('OK')
  })

  it('sends each channel its final before it refuses a cut sample, and names the bytes', async () => {
    const { responses, events, status } = await running(
      (write) => {
        write({ binary_content: new Uint8Array(322), content_type: 0 })
      },
      { Audio: { ...audio, ChannelCount: 2 } },
      false,
    )
    const error = expect.stringMatching(/^cut-sample: .*322 bytes/) as unknown
    expect(events).toMatchObject([0, 1].map((Channel) => ({ Name: 'SR Final', Channel, Data: { Error: error } })))
    expect(responses.at(-1)).toEqual({ 'operation-result': error })
    expect(status).toBe('INVALID_ARGUMENT')
  })

  it('refuses a message that is too big with RESOURCE_EXHAUSTED', async () => {
    const { status } = await running(
      (write) => {
        write({ binary_content: new Uint8Array(2 * 1_048_576), content_type: 0 })
      },
      {},
      false,
    )
    expect(status).toBe('RESOURCE_EXHAUSTED')
  })
})
