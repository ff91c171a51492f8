import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { developmentCertificates } from '../../../server/src/identity/keys/development-certificates.js'
import { compileCppClient, cppPackages, runCppClient, type CppOutcome, type CppSession } from './cpp-client.js'
import { liveService, type LiveService } from './live-service.js'
import { callFile, transcriptOf, turnsOf } from './sample-call.js'
import { temporaryFolder } from '../../../../test/temporary-folder.js'

/** 32.781 s in messages of 20 ms. */
const messagesOfCall = 1640

const eventsNamed = ({ events }: CppOutcome, name: string, channel: number) =>
  events.filter((event) => event['Name'] === name && event['Channel'] === channel)
const textsOf = (outcome: CppOutcome, name: string, channel: number): readonly string[] =>
  eventsNamed(outcome, name, channel).map(({ Data }) => (Data as { readonly Text: string }).Text)

// The compiler takes long for the headers of gRPC.
describe.skipIf(cppPackages.areAbsent)(cppPackages.title("a client by gRPC's C++ package"), () => {
  let live: LiveService
  const folder = temporaryFolder()
  let program: string
  beforeAll(async () => {
    ;[live, program] = await Promise.all([liveService(), compileCppClient(folder)])
  })
  afterAll(async () => {
    await live.close()
  })

  const session = (change: Partial<CppSession>): Promise<CppOutcome> => {
    const { grpc, ca, tenant, project } = live.service.access
    const common = { address: grpc, ca, file: callFile, tenant, project, token: live.token } as const
    return runCppClient(program, { api: 'sync', ...common, end: 'half-close', ...change })
  }

  it.each([
    ['sync', 'half-close', []],
    ['async', 'finalize', [{ MessageName: 'FinalizeResponse', 'operation-result': 'success' }]],
  ] as const)('recognizes the complete call with the %s API, ended by %s', async (api, end, responses) => {
    const outcome = await session({ api, end })
    expect(outcome.kinds[0]).toBe('RESPONSE')
    expect(outcome.responses).toMatchObject([
      { MessageName: 'StartResponse', 'operation-result': 'success' },
      ...responses,
    ])
    expect(outcome.sent).toBe(messagesOfCall)
    // Events arrive while audio is still being sent.
    expect(outcome.eventsBeforeSent).toBeGreaterThan(0)
    for (const channel of [0, 1]) {
      const milestones = textsOf(outcome, 'SR Milestone', channel)
      expect(milestones.map((text) => text.trim())).toEqual(turnsOf(channel))
      expect(milestones.join('')).toBe(transcriptOf(channel))
      expect(textsOf(outcome, 'SR Final', channel)).toEqual([transcriptOf(channel)])
      expect(eventsNamed(outcome, 'Speech Started', channel)).toHaveLength(turnsOf(channel).length)
    }
    expect(new Set(outcome.kinds)).toEqual(new Set(['RESPONSE', 'EVENT', 'SENT', 'STATUS']))
    expect(outcome.status).toBe('0 ')
  })

  it.each([
    ['a wrong token', { token: 'wrong' }, 'unauthenticated', 16],
    ['a project that does not exist', { project: 'nothing' }, 'project-denied', 7],
    ['an unknown tenant', { tenant: 'nobody' }, 'tenant-denied', 7],
  ] as const)('reads why %s is refused, and sends no audio', async (_what, change, code, status) => {
    for (const api of ['sync', 'async'] as const) {
      const outcome = await session({ api, ...change })
      expect(outcome.kinds).toEqual(['RESPONSE', 'STATUS'])
      expect(outcome.responses[0]?.['operation-result']).toMatch(new RegExp(`^${code}: .`))
      expect(outcome.status).toMatch(new RegExp(`^${status} ${code}: .`))
    }
  })

  it('sends nothing to a service whose certificate is of another CA', async () => {
    const { caPath } = await developmentCertificates(join(folder, 'other'))
    const outcome = await session({ ca: caPath })
    expect(outcome.kinds).toEqual(['STATUS'])
    // UNAVAILABLE: the handshake has failed.
    expect(outcome.status).toMatch(/^14 /)
  })
})
