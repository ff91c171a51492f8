import { describe, expect, it } from 'vitest'
import { readDataflowRequest } from '../../src/protocol/dataflow-requests.js'
import { readRecognizerRequest } from '../../src/protocol/recognizer-requests.js'
import { isLoopback } from '../../src/protocol/loopback.js'
import { shownName } from '../../src/protocol/twin-fields.js'
import { readRecognitionSettings } from '../../src/service/nodes/speech/recognition-settings.js'

const start = {
  MessageName: 'Start',
  Audio: { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm' },
  Tenant: 'Acme',
  Token: 'x',
  ProjectName: 'p',
}
const read = (change: object) => readDataflowRequest(JSON.stringify({ ...start, ...change }))

describe('a field under two of its names', () => {
  it.each([
    ['message-name', { 'message-name': 'Finalize' }],
    ['tenant_id', { tenant_id: 'Other' }],
    ['tenant', { tenant: 'acme' }],
    ['token', { token: 'y' }],
    ['project-name', { 'project-name': 7 }],
    ['settings', { Settings: {}, settings: { a: 1 } }],
    ['sample-rate', { Audio: { ...start.Audio, 'sample-rate': 16000 } }],
    ['encoding', { Audio: { ...start.Audio, encoding: 'ulaw' } }],
  ])('is refused by both where %s differs', (name, change) => {
    expect(read(change)).toMatchObject({
      left: {
        request: 'Start',
        error: { code: 'invalid-field', message: expect.stringContaining(` and ${name} are one field`) as unknown },
      },
    })
  })

  it.each([
    [{ 'message-name': 'start' }],
    [{ tenant_id: 'Acme', tenant: 'Acme' }],
    [{ Audio: { ...start.Audio, 'sample-rate': '8000' }, audio: undefined }],
  ])('is taken where both say the same: %j', (change) => {
    expect(read(change)).toMatchObject({ right: { tenant: 'Acme' } })
  })

  it('is refused among the settings too', () => {
    expect(readRecognitionSettings({ ModelName: 'a', 'model-name': 'b' })).toMatchObject({
      left: { code: 'invalid-field', message: 'ModelName and model-name are one field and differ; give one of them.' },
    })
    expect(readRecognitionSettings({ VadSensitivity: 7, 'vad-sensitivity': '7' })).toMatchObject({
      right: { parameters: { sensitivity: 7 } },
    })
  })
})

describe('an unknown name of a message', () => {
  it.each(['<script>', ' lead', 'x'.repeat(33), 'naïve', 'a"b', '', 'line\nline', '7', '__proto__'])(
    'is not repeated where it is %j',
    (name) => {
      expect(shownName(name)).toBe('')
      const answers = [
        readDataflowRequest(JSON.stringify({ MessageName: name })),
        readRecognizerRequest(JSON.stringify({ 'message-name': name })),
      ]
      for (const answer of answers) {
        expect(answer).toMatchObject({ left: { error: { code: 'unknown-message' } } })
        if (name !== '') expect(JSON.stringify(answer)).not.toContain(name.slice(0, 5).trim())
      }
    },
  )

  it('is repeated where it is plain', () => {
    expect(readDataflowRequest('{"MessageName":"Dance"}')).toMatchObject({
      left: { error: { message: expect.stringContaining('MessageName "Dance" is unknown') as unknown } },
    })
  })
})

describe('loopback', () => {
  it.each(['localhost', 'LOCALHOST', 'a.localhost', '127.0.0.1', '127.9.9.9', '::1', '[::1]'])('is %s', (host) => {
    expect(isLoopback(host)).toBe(true)
  })
  it.each(['localhost.example.com', '127.0.0.1.example.com', '0.0.0.0', '::', 'example', '', '128.0.0.1', 'localhos'])(
    'is not %j',
    (host) => {
      expect(isLoopback(host)).toBe(false)
    },
  )
})
