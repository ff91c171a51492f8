import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { firstValueFrom, tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { failover } from '../../../../src/client/failover/failover.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { callModels, ended, firstLine, start } from '../cli/command.js'
import { sessionOptions, type Over, type SpokenService } from '../interop/session-options.js'
import { gapsOf, outcomeOf } from '../../../../test/faults/proved-session.js'
import { expectSame, SpokenCall, transcriptOf, spokenTests } from './spoken-call.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

const folder = temporaryFolder()
const tests = spokenTests(() => SpokenCall.between(8_800, 18_440))

interface Served extends SpokenService {
  readonly signal: (name: NodeJS.Signals) => void
  readonly end: () => Promise<unknown>
}

/** A service in a process of its own. */
const served = async (name: string): Promise<Served> => {
  const options = ['--models', callModels, '--model', 'call', '--http', '127.0.0.1:0', '--grpc', '127.0.0.1:0']
  const child = start(['serve', '--dev', ...options, '--state', join(folder, name)])
  const end = ended(child)
  const access = JSON.parse(await firstLine(child)) as Readonly<Record<string, string>>
  const { authUrl = '', clientId = '', clientSecret = '', wsUrl = '', grpc = '', tenant = '', project = '' } = access
  const ca = await readFile(access['ca'] ?? '')
  const { accessToken: token } = await firstValueFrom(
    requestToken({ authUrl, clientId, clientSecret, fetch: nodeFetch({ ca }) }),
  )
  return {
    service: { access: { wsUrl, grpc, tenant, project } },
    ca,
    token,
    signal: (signal) => child.kill(signal),
    end: () => {
      child.kill('SIGKILL')
      return end
    },
  }
}

const recognitionOf = (service: SpokenService, over: Over, heartbeatMs?: number) => {
  const { grpc, websocket } = sessionOptions(service, tests.call.format, 'call')
  const common = {
    resumption: { firstDelayMs: 20, maxDelayMs: 200 },
    connection: { ca: service.ca, heartbeatMs },
  }
  return over === 'grpc'
    ? dataflow({ ...grpc, ...common, finalizeBy: 'request' })
    : recognize({ ...websocket, ...common })
}

const expectSameWords = (events: readonly SessionEvent[]): void => {
  const wordsOf = (of: readonly SessionEvent[], channel: number): string =>
    transcriptOf(of, channel).milestones.join('').trim()
  for (const channel of [0, 1]) expect(wordsOf(events, channel)).toBe(wordsOf(tests.reference.events, channel))
  expect(gapsOf(events)).toBe(0)
}

// In real time, all concurrently: each waits for a process to start, and for the notice of its end.
describe.concurrent('a call whose service is a process that gets', () => {
  it.each([
    ['SIGKILL', 'grpc', 'websocket'],
    ['SIGSTOP', 'websocket', 'grpc'],
    ['SIGTERM', 'websocket', 'grpc'],
  ] as const)('%s continues from %s over %s, with the results of the undisturbed call', async (signal, from, to) => {
    const process = await served(`${signal}-${from}`)
    // Where a silence is no sign of a fault, as of a busy machine, a longer one is needed.
    const heartbeatMs = signal === 'SIGSTOP' ? 1_000 : undefined
    const session = failover([recognitionOf(process, from, heartbeatMs), recognitionOf(tests.live, to)])
    const services = new Set<number>()
    let partials = 0
    const observe = (event: SessionEvent): void => {
      if (event.type === 'connection' && 'service' in event && event.service !== undefined) services.add(event.service)
      // In the middle of speech, once all channels stream.
      if (event.type === 'partial' && services.has(0) && (partials += 1) === 3) process.signal(signal)
    }
    const outcome = await outcomeOf(session(tests.call.played(1)).pipe(tap(observe)))
    await process.end()
    expect(services).toEqual(new Set([0, 1]))
    // A service that drains ends its recognition between two words, where the next one begins.
    if (signal === 'SIGTERM') expectSameWords(outcome.events)
    else expectSame({ over: 'websocket', ...outcome }, tests.reference, tests.call)
  })
})
