import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { planTranscribe, transcribeFlags } from '../../../src/cli/commands/transcribe.js'
import { hostOf } from '../../../src/cli/parsing/addresses.js'
import { readFlags, type TypedFlags } from '../../../src/cli/parsing/flags.js'
import { folderOfTest } from '../../../../../test/temporary-folder.js'

const plan = (typed: TypedFlags = {}, env = {}) => planTranscribe(['a.wav'], readFlags(transcribeFlags, typed), env)
const secret = { RXSPEECH_CLIENT_SECRET: 's3cret' }
const client = { authUrl: 'https://auth.example.com', clientId: 'acme' }

describe('planTranscribe', () => {
  it('sends a WAV file to the embedded service as fast as possible by default', () => {
    expect(plan()).toEqual({
      files: ['a.wav'],
      service: { where: 'here', modelFolders: [], project: 'transcribe', tenant: 'Default' },
      over: 'grpc',
      pace: { speed: Infinity },
      format: 'text',
      hasWords: false,
      jobs: 1,
    })
  })

  it('joins the phrases that are typed and those of a file', () => {
    const folder = folderOfTest()
    const file = join(folder, 'phrases.txt')
    writeFileSync(file, '# names\nAsk for Maria.\r\n\n  no  # never\n')
    expect(plan({ phrases: file, model: 'call' }).phrases).toEqual(['Ask for Maria.', 'no'])
    const both = plan({ phrases: file, phrase: ['thank you'], model: 'call' })
    expect(both.phrases).toEqual(['thank you', 'Ask for Maria.', 'no'])
    const missing = join(folder, 'missing.txt')
    const message = `--phrases names ${missing}, which cannot be read (ENOENT).`
    expect(() => plan({ phrases: missing })).toThrow(expect.objectContaining({ code: 'invalid-options', message }))
  })

  it('does not choose a model before the given folders are read', () => {
    expect(plan({ models: ['m'] }).service).toHaveProperty('model', undefined)
  })

  it('accepts raw samples, one channel by default', () => {
    expect(plan({ encoding: 'alaw', rate: '8000' }).raw).toEqual({
      encoding: 'alaw',
      sampleRateHz: 8000,
      channels: 1,
    })
  })

  it('connects to another service with the secret of the environment, which a flag replaces', () => {
    const credentials = { type: 'client', ...client, clientSecret: 's3cret' }
    expect(plan({ grpc: 'h:443', ...client }, secret).service).toEqual({
      where: 'elsewhere',
      grpc: 'h:443',
      isPlaintext: false,
      credentials,
      tenant: 'Default',
      project: 'transcribe',
    })
    expect(plan({ grpc: 'h', ...client, clientSecret: 'typed' }, secret).service).toMatchObject({
      credentials: { ...credentials, clientSecret: 'typed' },
    })
  })

  it('uses the proxy that is given, or none, and never prints its address', () => {
    const flags = { grpc: 'h', token: 't' }
    const proxy = 'http://user:hidden@proxy.example:3128'
    expect(plan({ ...flags, proxy }).service).toMatchObject({ proxy })
    expect(plan({ ...flags, proxy: false }).service).toMatchObject({ proxy: false })
    expect(plan(flags).service).toHaveProperty('proxy', undefined)
    const invalid = { code: 'invalid-options', message: expect.not.stringContaining('hidden') as unknown }
    expect(() => plan({ ...flags, proxy: 'user:hidden@proxy.example:3128' })).toThrow(expect.objectContaining(invalid))
    // The embedded service is in the same process.
    expect(() => plan({ proxy })).toThrow(expect.objectContaining(invalid))
    const download = planTranscribe(['https://h/a.wav'], readFlags(transcribeFlags, { proxy }), {})
    expect(download).toMatchObject({ proxy, service: { where: 'here' } })
  })

  it('takes the address of the file of a development service for the transport that is asked for', () => {
    const folder = folderOfTest()
    const access = join(folder, 'development.json')
    const content = {
      ...client,
      wsUrl: 'wss://localhost:8781',
      grpc: 'localhost:8782',
      ca: 'ca.pem',
      clientSecret: 's',
    }
    writeFileSync(access, JSON.stringify({ ...content, model: 'call' }))
    const { service, over } = plan({ access })
    expect({ ...service, over }).toMatchObject({ over: 'grpc', grpc: content.grpc, url: undefined, model: undefined })
    const socket = plan({ access, over: 'websocket' })
    expect(socket).toMatchObject({ over: 'websocket', service: { url: content.wsUrl, model: { name: 'call' } } })
    const other = plan({ access, over: 'websocket', model: 'mine' })
    expect(other).toMatchObject({ service: { model: { name: 'mine' } } })
    writeFileSync(access, JSON.stringify({ ...content, model: '' }))
    expect(() => plan({ access, over: 'websocket' })).toThrow('needs a model; set --model')
  })

  it('prefers a flag to a token of the environment', () => {
    const env = { ...secret, RXSPEECH_TOKEN: 't' }
    expect(plan({ grpc: 'h' }, env).service).toMatchObject({ credentials: { type: 'token', token: 't' } })
    expect(plan({ grpc: 'h', ...client }, env).service).toMatchObject({ credentials: { type: 'client' } })
  })

  it('uses the WebSocket if only its address is given, with a model of the given tenant', () => {
    const flags = { url: 'wss://h', token: 't', model: 'm', tenant: 'Acme' }
    expect(plan(flags)).toMatchObject({ over: 'websocket', service: { model: { name: 'm', tenant: 'Acme' } } })
  })

  it('chooses no transport for two addresses', () => {
    const flags = { url: 'wss://h', grpc: 'h', token: 't', model: 'm' }
    expect(() => plan(flags)).toThrow(/--url and --grpc .* --over/)
    expect(plan({ ...flags, over: 'grpc' }).over).toBe('grpc')
    expect(plan({ ...flags, over: 'websocket' }).over).toBe('websocket')
  })

  it('accepts a gRPC address with the scheme of TLS', () => {
    expect(plan({ grpc: 'grpcs://h:1', token: 't' }).service).toMatchObject({ grpc: 'grpcs://h:1' })
  })

  it('limits the rate of another service to what services accept, by default', () => {
    const remote = { grpc: 'h', token: 't' }
    expect(plan(remote).pace).toEqual({ speed: 1.2, burstMs: 4000 })
    expect(plan({ ...remote, speed: 'max' }).pace).toEqual({ speed: Infinity })
    expect(plan({ ...remote, speed: '3' }).pace).toEqual({ speed: 3 })
    expect(plan({ speed: '3' }).pace).toEqual({ speed: 3 })
  })

  it('distinguishes the tenant of the model from that of the session', () => {
    const flags = { grpc: 'h', token: 't', model: 'm', tenant: 'Acme', modelTenant: 'Default' }
    expect(plan(flags).service).toMatchObject({ tenant: 'Acme', model: { name: 'm', tenant: 'Default' } })
    expect(plan({ model: 'm', modelTenant: 'Acme' }).service).toMatchObject({ tenant: 'Default', modelTenant: 'Acme' })
  })

  it.each<[TypedFlags, RegExp]>([
    [{ grpc: 'h', token: 't', modelTenant: 'Acme' }, /--model-tenant needs a model; set it with --model/],
    [{ modelTenant: ' ' }, /--model-tenant must not be empty/],
    [{ jobs: '0' }, /--jobs must be/],
    [{ words: true, format: 'srt' }, /--words is for text and json; captions have none/],
    [
      { phrase: ['on'] },
      /English reads any English speech as it is.*rxspeech models add NAME --phrases FILE --models DIR/,
    ],
    [{ over: 'udp' }, /--over/],
    [{ format: 'xml' }, /--format/],
    [{ speed: '1e3' }, /--speed/],
    [{ speakers: 'one,' }, /--speakers/],
    [{ speakers: 'one,two,three' }, /--speakers must be one name for each channel, such as agent,customer/],
    [{ channels: '2' }, /--encoding/],
    [{ encoding: 'pcm', rate: '4000' }, /--rate/],
    [{ encoding: 'pcm', rate: '8000', channels: '3' }, /--channels/],
    [{ timeoutMs: '0' }, /--timeout-ms/],
    [{ model: '' }, /--model must not be empty/],
    [{ grpc: 'https://h:1', token: 't' }, /--grpc must be HOST:PORT/],
    [{ url: 'https://h', token: 't' }, /--url/],
    [{ url: 'ws://example.com', token: 't', model: 'm' }, /wss/],
    [{ url: 'wss://user:word@h', token: 't', model: 'm' }, /must not contain a user/],
    [{ url: 'wss://h', token: 't' }, /--model NAME/],
    [{ url: 'wss://h', token: 't', over: 'grpc' }, /--grpc/],
    [{ grpc: 'h', token: 't', over: 'websocket' }, /--url/],
    [{ grpc: 'h', token: 't', models: ['m'] }, /--models/],
    [{ grpc: 'h', token: 't', clientId: 'a' }, /exclude each other/],
    [{ grpc: 'h', token: 'not a token' }, /ASCII/],
    [{ grpc: 'h', ...client }, /RXSPEECH_CLIENT_SECRET/],
    [{ grpc: 'h', clientId: 'a' }, /--auth-url/],
    [{ grpc: 'h', ...client, authUrl: 'http://auth.example.com' }, /https/],
    [{ grpc: 'h:1', token: 't', plaintext: true }, /this machine/],
    [{ grpc: '127.0.0.1:1', token: 't', plaintext: true, ca: 'f' }, /--plaintext and --ca/],
    [{ plaintext: true }, /--grpc or --url/],
  ])('rejects %j', (flags, sentence) => {
    expect(() => plan(flags)).toThrow(
      expect.objectContaining({ code: 'invalid-options', message: expect.stringMatching(sentence) }),
    )
  })
})

describe('hostOf', () => {
  it.each([
    ['speech.example.com:443', 'speech.example.com'],
    ['localhost', 'localhost'],
    ['[::1]:8443', '::1'],
    ['::1', undefined],
    ['h:0', undefined],
    ['h:70000', undefined],
    ['a b:1', undefined],
    ['user@h:1', undefined],
    ['', undefined],
  ])('of %j is %s', (address, host) => expect(hostOf(address)).toBe(host))
})
