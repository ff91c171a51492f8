import { afterEach, describe, expect, it } from 'vitest'
import { faultProxy } from '../../../../src/testing/faults/fault-proxy.js'
import type { FaultScript } from '../../../../src/testing/faults/fault-script.js'
import { positionAudio } from '../../../../src/testing/verifying/position-audio.js'
import { verifyingService } from '../../../../src/testing/verifying/verifying-service.js'
import { serveTokens } from '../../../../test/auth/token-server.js'
import { runInProcess } from './in-process.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const secondMs = 8_000
const speech = positionAudio(0, 4 * secondMs)

/**
 * Transcribes 4 s of audio without pacing, over a connection with faults, with a token endpoint that numbers its
 * tokens.
 */
const transcribed = async (over: 'websocket' | 'grpc', script: FaultScript) => {
  const presented: string[] = []
  const service = verifyingService({ accepts: (token) => presented.push(token) > 0 })
  const listening = await service.listen()
  closing.push(() => listening.close())
  const target = over === 'grpc' ? listening.address : Number(new URL(listening.url).port)
  const proxy = await faultProxy({ target, script })
  closing.push(() => proxy.close())
  let given = 0
  const tokens = await serveTokens((_request, response) => {
    given += 1
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ access_token: `token-${given}`, token_type: 'Bearer', expires_in: 3600 }))
  })
  closing.push(() => tokens.close())
  const address =
    over === 'grpc' ? ['--grpc', proxy.address, '--plaintext'] : ['--url', `ws://${proxy.address}`, '--model', 'm']
  const ended = await runInProcess(
    [
      'transcribe',
      '-',
      ...['--encoding', 'pcm', '--rate', '8000'],
      ...['--auth-url', tokens.authUrl, '--client-id', 'acme'],
      ...address,
    ],
    { env: { RXSPEECH_CLIENT_SECRET: 'a secret of enough characters' }, stdin: speech },
  )
  const text = service.transcript({ sampleCount: 4 * secondMs, sampleRateHz: 8000 })
  return { ...ended, presented, given: () => given, text }
}

const cutAfter = (count: number, connection = 1): FaultScript[number] => ({
  at: { when: 'bytes', direction: 'to-service', count, connection },
  fault: { do: 'reset' },
})

describe('rxspeech transcribe on a connection that breaks', () => {
  it.each(['websocket', 'grpc'] as const)(
    'reports on stderr that it reconnects over %s, with the token that it has, and loses no word',
    async (over) => {
      const { code, stdout, stderr, presented, given, text } = await transcribed(over, [
        cutAfter(20_000),
        cutAfter(30_000, 2),
      ])
      expect(
        stdout
          .replace(/^\[[\d:.]+\] /gm, '')
          .replace(/\s+/g, ' ')
          .trim(),
      ).toBe(text)
      const lines = stderr.split('\n').filter((line) => line.startsWith('rxspeech: '))
      const lost = /^rxspeech: no connection \(connection-lost\); attempt [12] in \d\.\d s\.$/
      const again = /^rxspeech: connected again; \d\.\d s of audio are sent again\.$/
      expect(lines).toEqual([lost, again, lost, again].map((line) => expect.stringMatching(line) as unknown))
      expect(presented).toEqual(['token-1', 'token-1', 'token-1'])
      expect([given(), code]).toEqual([1, 0])
    },
  )

  it('reports which audio has no result when it is refused permanently, in captions too', async () => {
    for (const format of ['text', 'vtt']) {
      const refusing = verifyingService({ accepts: (_token, connection) => connection === 1 })
      const listening = await refusing.listen()
      closing.push(() => listening.close())
      const proxy = await faultProxy({ target: Number(new URL(listening.url).port), script: [cutAfter(30_000)] })
      closing.push(() => proxy.close())
      const { code, stderr } = await runInProcess(
        [
          'transcribe',
          '-',
          ...['--encoding', 'pcm', '--rate', '8000', '--format', format],
          ...['--url', `ws://${proxy.address}`, '--model', 'm', '--token', 'fixed'],
        ],
        { stdin: speech },
      )
      expect(stderr).toMatch(/^rxspeech: no connection \(connection-lost\); attempt 1 in \d\.\d s\.$/m)
      expect(stderr).toMatch(/^rxspeech: the audio from 00:0\d\.\d to 00:04\.0 has no result: the session failed\.$/m)
      expect(code).toBe(1)
    }
  })
})
