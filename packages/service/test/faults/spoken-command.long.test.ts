import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { faultProxy } from '../../../../src/testing/faults/fault-proxy.js'
import type { FaultScript } from '../../../../src/testing/faults/fault-script.js'
import { run, sampleCall, type Ended } from '../cli/command.js'
import { liveService, type LiveService } from '../interop/live-service.js'
import type { Over } from '../interop/session-options.js'
import { callService, bothTransports } from './spoken-call.js'

let live: LiveService
beforeAll(async () => {
  live = await liveService(callService)
})
afterAll(() => live.close())

/** Breaks the connection after this many bytes of audio, plus their overhead, were sent to the service. */
const cutAfter = (count: number): FaultScript[number] => ({
  at: { when: 'bytes', direction: 'to-service', count },
  fault: { do: 'reset' },
})

const transcribed = async (over: Over, script: FaultScript): Promise<Ended> => {
  const { access } = live.service
  const { hostname, port } = new URL(over === 'grpc' ? `https://${access.grpc}` : access.wsUrl)
  const proxy = await faultProxy({ target: Number(port), script })
  const address = `${hostname}:${proxy.port}`
  const to = over === 'grpc' ? ['--grpc', address] : ['--url', `wss://${address}`, '--over', 'websocket']
  const args = ['transcribe', sampleCall, ...to, '--ca', access.ca, '--model', 'call', '--speed', '8']
  const ended = await run(args, { env: { RXSPEECH_TOKEN: live.token } })
  await proxy.close()
  return ended
}

/** By time: lines are printed as they arrive, so those of two channels may swap with the speed of the service. */
const inOrder = ({ stdout }: Ended): readonly string[] => stdout.trimEnd().split('\n').sort()

const noticesOf = ({ stderr }: Ended): readonly string[] =>
  stderr.split('\n').filter((line) => line.startsWith('rxspeech: '))

let reference: Ended
beforeAll(async () => {
  reference = await transcribed('grpc', [])
})

// Each plays the complete call in 4 s, both concurrently.
describe.concurrent.each(bothTransports)(
  'rxspeech transcribe of a call over %s on a connection that breaks',
  (over) => {
    const of = over === 'grpc' ? '' : ' of (left|right)'
    const lost = new RegExp(`^rxspeech: no connection \\(connection-lost\\); attempt \\d${of} in \\d\\.\\d s\\.$`)
    const again = new RegExp(`^rxspeech: connected again; \\d+\\.\\d s of audio${of} are sent again\\.$`)

    it('prints the same lines as without faults, and reports on stderr what it does about them', async () => {
      const broken = await transcribed(over, [cutAfter(100_000), cutAfter(350_000)])
      expect(broken).toMatchObject({ code: 0 })
      expect(inOrder(broken)).toEqual(inOrder(reference))
      expect(broken.stdout.match(/^\[00:\d\d\.\d\] (left|right): [a-z ]+$/gm)).toHaveLength(14)
      expect([reference.code, noticesOf(reference)]).toEqual([0, []])
      const notices = noticesOf(broken)
      expect(notices.filter((line) => lost.test(line)).length).toBeGreaterThanOrEqual(over === 'grpc' ? 2 : 4)
      expect(notices.filter((line) => again.test(line)).length).toBeGreaterThanOrEqual(over === 'grpc' ? 2 : 4)
      expect(notices.filter((line) => !lost.test(line) && !again.test(line))).toEqual([])
      expect(broken.stderr).toMatch(/^32\.8 s of audio, 86 words, mean confidence 0\.9\d, /m)
    })
  },
)
