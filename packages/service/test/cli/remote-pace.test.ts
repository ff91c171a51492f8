import { afterEach, describe, expect, it } from 'vitest'
import { noopMonitor, type SessionEnd } from '../../../server/src/monitor/service-monitor.js'
import { spoken } from '../../../server/test/sessions/spoken.js'
import { plainService, type PlainService } from '../plain-service.js'
import { runInProcess } from './in-process.js'

let service: PlainService | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

const audioMs = 6_000
/** The service reports the end of a session soon after the client has ended. */
const options = { interval: 10 }

/** Transcribes 6 s of speech with a service that limits the pace, as public services do. */
const transcribed = async (over: 'grpc' | 'websocket', flags: readonly string[] = []) => {
  const ends: SessionEnd[] = []
  const monitor = { ...noopMonitor, sessionEnded: (_facts: unknown, end: SessionEnd) => void ends.push(end) }
  service = await plainService({ monitor, defaultModel: 'paced' })
  const { wsUrl, grpc } = service.service.access
  const address = over === 'grpc' ? ['--grpc', grpc, '--plaintext'] : ['--url', wsUrl]
  const raw = ['--encoding', 'pcm', '--rate', '8000', '--model', 'paced']
  const startedAtMs = performance.now()
  const ended = await runInProcess(['transcribe', '-', ...raw, ...address, ...flags], {
    env: { RXSPEECH_TOKEN: service.token },
    stdin: await spoken(audioMs),
  })
  return { ...ended, ends, tookMs: performance.now() - startedAtMs }
}

// 6 s of audio take 1.7 s at 1.2 times real time after the first 4 s; less than 5 s would not test the limit.
describe('rxspeech transcribe with a service that limits the pace', () => {
  it.each(['grpc', 'websocket'] as const)(
    'keeps to the limit from the start, in one session, over %s',
    async (over) => {
      const { code, stderr, stdout, ends, tookMs } = await transcribed(over)
      expect([code, stderr]).toEqual([0, expect.not.stringMatching(/no connection|too-fast|connected again/)])
      expect(stdout).toContain('hello world')
      await expect.poll(() => ends, options).toMatchObject([{ outcome: 'completed', audioMs }])
      // The last message is sent as soon as the audio before it is due; one message is at most 500 ms.
      expect(tookMs).toBeGreaterThan((audioMs - 500 - 4_000) / 1.2)
    },
  )

  it('is refused, and starts another session, if the limit is switched off', async () => {
    const { code, stderr, ends } = await transcribed('grpc', ['--speed', 'max'])
    expect(code).toBe(0)
    expect(stderr).toContain('no connection (too-fast)')
    const outcomes = () => ends.map(({ outcome, code: error }) => [outcome, error])
    const expected = [
      ['failed', 'too-fast'],
      ['completed', undefined],
    ]
    await expect.poll(outcomes, options).toEqual(expected)
  })
})
