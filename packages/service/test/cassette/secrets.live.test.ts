import { lastValueFrom, of, toArray } from 'rxjs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LineWriter } from '../../../../src/cassette/record/line-queue.js'
import { record } from '../../../../src/cassette/record/record.js'
import { parseCassette } from '../../../../src/cassette/format/read-cassette.js'
import { redactSecretFields } from '../../../../src/cassette/record/secrets.js'
import { dataflow, type DataflowOptions } from '../../../../src/client/dataflow/dataflow.js'
import type { PresentToken } from '../../../../src/client/recognizer/address.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { RecognizeOptions } from '../../../../src/client/recognizer/recognize-on.js'
import { inMemoryService } from '../../src/testing/in-memory-service.js'
import { scriptedDial } from '../../../../src/testing/scripted-dial.js'
import type { SocketMessage } from '../../../../src/transport/link.js'
import { liveService, type LiveService } from '../interop/live-service.js'
import { audio, format } from '../../../../test/client/virtual-session.js'
import { keptLines } from '../../../../test/cassette/cassette-lines.js'

let live: LiveService
beforeAll(async () => {
  live = await liveService()
})
afterAll(() => live.close())

/**
 * A token and every text from which it could be restored: the parts of a JWT, the URL-encoded form and the base64 form.
 */
const tracesOf = (token: string): readonly string[] => [
  token,
  ...token.split('.').filter((part) => part.length > 8),
  encodeURIComponent(token),
  Buffer.from(token).toString('base64').slice(0, 40),
]

const recordedOver = async (run: (write: LineWriter['write']) => Promise<unknown>): Promise<string> => {
  const { lines, write } = keptLines()
  await run(write)
  // The cassette is not empty.
  expect(parseCassette(lines).lines.length).toBeGreaterThan(4)
  return lines.join('\n')
}

const socketOptions = (more: Partial<RecognizeOptions> = {}): RecognizeOptions => ({
  url: live.service.access.wsUrl,
  connection: { ca: live.ca },
  token: live.token,
  model: 'call',
  format,
  ...more,
})

const streamOptions = (more: Partial<DataflowOptions> = {}): DataflowOptions => ({
  url: live.service.access.grpc,
  connection: { ca: live.ca },
  token: live.token,
  tenant: live.service.access.tenant,
  project: live.service.access.project,
  format,
  ...more,
})

const ways: readonly (readonly [string, PresentToken])[] = [
  ['header', 'header'],
  ['subprotocol', 'subprotocol'],
  ['query', 'query'],
  ['a path of its own', (url, token) => ({ url: `${url.split('?')[0]}/${token}` })],
  ['a header of its own', (url, token) => ({ url, headers: { 'X-Key': token } })],
  ['a subprotocol of its own', (url, token) => ({ url, protocols: ['rxspeech', `key.${token}`] })],
  ['a query of its own', (url, token) => ({ url: `${url}&key=${token}` })],
  ['the name in an address', (url, token) => ({ url: url.replace('://', `://user:${token.slice(0, 200)}@`) })],
]

describe('a cassette', () => {
  it.each(ways)('of the socket has no token that was presented as %s', async (_name, presentToken) => {
    const lines: string[] = []
    const session$ = record((line) => void lines.push(line))(recognize, socketOptions({ presentToken }))([audio(200)])
    // Requests that the service rejects are recorded as well.
    await lastValueFrom(session$.pipe(toArray())).catch(() => undefined)
    const all = lines.join('\n')
    expect(all).toContain('"event":"dial"')
    expect(all).toMatch(/"event":"end"/)
    for (const trace of tracesOf(live.token)) expect(all).not.toContain(trace)
  })

  it.each(['pascal', 'kebab'] as const)('of the stream has no token, in the %s dialect', async (dialect) => {
    const text = await recordedOver((write) =>
      lastValueFrom(record(write)(dataflow, streamOptions({ dialect }))([audio(200)]).pipe(toArray())),
    )
    expect(text).toContain('[redacted]')
    for (const trace of tracesOf(live.token)) expect(text).not.toContain(trace)
  })

  it('has no token of a source, and none that the service repeats', async () => {
    const token = 'a "quoted" token/with+signs'
    const text = await recordedOver((write) => {
      const dial = scriptedDial<SocketMessage, SocketMessage>(() =>
        of(
          JSON.stringify({ 'message-name': 'recognize-response', 'operation-result': `refused: ${token} is bad.` }),
          JSON.stringify({ 'message-name': 'partial-result', text: encodeURIComponent(token) }),
        ),
      )
      const session$ = record(write)(
        recognize,
        socketOptions({ token: of({ accessToken: token, tokenType: 'Bearer', expiresAtMs: 1e15 }), testing: { dial } }),
      )
      return lastValueFrom(session$([audio(20)]).pipe(toArray())).catch(() => undefined)
    })
    expect(text).toContain('refused: *** is bad.')
    for (const trace of [...tracesOf(token), 'quoted', 'with+signs']) expect(text).not.toContain(trace)
  })

  it('has none of the additional secrets that are named, nor fields with such names', async () => {
    const service = inMemoryService()
    const text = await recordedOver((write) =>
      lastValueFrom(
        record(write, { secrets: ['hunter2-hunter2'] })(
          dataflow,
          service.dataflow({
            format,
            settings: { Note: 'it is hunter2-hunter2', ApiKey: 'x1', Password: 'y1', Words: 'plain' },
          }),
        )([audio(20)]).pipe(toArray()),
      ),
    )
    await service.close()
    const { text: start = '' } = parseCassette(text).lines.find(({ event }) => event === 'sent') as { text?: string }
    expect(JSON.parse(start)).toMatchObject({
      Token: '[redacted]',
      Settings: { Note: 'it is [redacted]', ApiKey: '[redacted]', Password: '[redacted]', Words: 'plain' },
    })
  })
})

describe('redactSecretFields', () => {
  it('returns a text unchanged that has no such field or is not JSON', () => {
    expect(redactSecretFields('{"a": 1}')).toBe('{"a": 1}')
    expect(redactSecretFields('token {')).toBe('token {')
    expect(redactSecretFields('{"Tokens":["a"],"token":5}')).toBe('{"Tokens":["a"],"token":5}')
    expect(redactSecretFields('{"a":{"token":"b"}}')).toBe('{"a":{"token":"[redacted]"}}')
  })
})
