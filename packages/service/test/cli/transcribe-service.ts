import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { callBeginning, callModels, callSamples, cards, firstLine } from './command.js'
import { startInProcess, type RunningCommand } from './in-process.js'
import { writeCall } from './wav-files.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

export const callFormat = { encoding: 'ulaw', sampleRateHz: 8000, channels: 2 } as const

/** A service with two models for all tests of a file, whose loading takes a second, and recordings. */
export const transcribeService = () => {
  const folder = temporaryFolder()
  const tests = {
    folder,
    /** The first seconds of the call. */
    call: join(folder, 'call.wav'),
    /** The words of the agent in them, and then silence of the same duration. */
    agent: join(folder, 'agent.wav'),
    /** The flags of the service, for either transport. */
    overGrpc: [] as readonly string[],
    overWebSocket: [] as readonly string[],
    env: {} as Readonly<Record<string, string>>,
  }
  let service: RunningCommand
  beforeAll(async () => {
    await writeCall(tests.call, callFormat, callBeginning.durationMs)
    const samples = Buffer.concat([callSamples(3500), Buffer.alloc(3500 * 16, 0xff)])
    writeFileSync(tests.agent, Buffer.concat([wavHeader(callFormat, samples.length), samples]))
    const models = ['--models', cards, '--models', callModels, '--model', 'call']
    service = startInProcess(['serve', '--dev', '--state', join(folder, 'state'), ...models])
    const access = JSON.parse(await firstLine(service)) as Readonly<Record<string, string>>
    const { authUrl = '', wsUrl = '', grpc = '', ca = '', clientId = '', clientSecret = '' } = access
    const client = ['--auth-url', authUrl, '--ca', ca, '--client-id', clientId]
    tests.overGrpc = ['--grpc', grpc, ...client]
    tests.overWebSocket = ['--url', wsUrl, '--model', 'call', ...client]
    tests.env = { RXSPEECH_CLIENT_SECRET: clientSecret }
  })
  afterAll(async () => {
    service.kill('SIGTERM')
    await service.end
  })
  return tests
}

/** The model of the package takes long on a slow machine. */
export const patience = ['--timeout-ms', '110000']

/** After a signal the command waits 3 s for the last words; here a minute, because the machine may be busy. */
export const withLongDeadline =
  (standard: (act: () => void, ms?: number, ...rest: unknown[]) => unknown) =>
  (act: () => void, ms?: number, ...rest: unknown[]): unknown =>
    standard(act, ms === 3_000 ? 60_000 : ms, ...rest)

export const eventsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
