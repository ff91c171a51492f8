import { catchError, lastValueFrom, of, toArray, type Observable } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import type { AudioFormat } from '../../../../src/audio/format.js'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { failover } from '../../../../src/client/failover/failover.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import type { SessionOptions } from '../../../../src/client/options.js'
import type { Recognition } from '../../../../src/client/session.js'
import { isSpeechError } from '../../../../src/errors/speech-error.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import type { ServiceOptions } from '../../src/configuration/service-options.js'
import { scriptedEngine } from '../../src/testing/scripted-engine.js'
import type { Logger } from '../../../server/src/operations/logger.js'
import { breakingEngine } from '../../../engines/test/breaking-engine.js'
import { plainService, type PlainService } from '../plain-service.js'
import { spoken } from '../../../server/test/sessions/spoken.js'

const open: PlainService[] = []
afterEach(() => Promise.all(open.splice(0).map((service) => service.close())))

/** A service whose engine fails at the second part of no channel, of three (a segment and its retries) or of all. */
const started = async (failing: number, options: Partial<ServiceOptions> = {}): Promise<PlainService> => {
  const engine = scriptedEngine({ texts: ['hello world'] })
  const service = await plainService(
    options,
    [],
    breakingEngine(
      engine,
      Array.from({ length: failing }, () => 2),
    ),
  )
  open.push(service)
  return service
}

type Given = Pick<SessionOptions, 'resumption'> & { readonly channels?: 1 | 2 }
const sessions: Readonly<Record<string, (service: PlainService, given: Given) => Recognition>> = {
  recognize: ({ started: { wsUrl: url }, token }, { channels = 1, resumption }) =>
    recognize({ url, connection: { insecure: true }, token, model: 'm', format: formatOf(channels), resumption }),
  dataflow: ({ started: { grpcAddress: url }, token }, { channels = 1, resumption }) =>
    dataflow({
      url,
      connection: { insecure: true },
      token,
      tenant: 'Default',
      project: 'transcribe',
      format: formatOf(channels),
      resumption,
    }),
}
const formatOf = (channels: 1 | 2): AudioFormat => ({ encoding: 'pcm', sampleRateHz: 8000, channels })

interface Outcome {
  readonly events: readonly SessionEvent[]
  readonly end: string
}

/** The events of a session, and `complete` or the code of its error. */
const outcomeOf = async (session$: Observable<SessionEvent>): Promise<Outcome> => {
  const ended = await lastValueFrom(
    session$.pipe(
      catchError((error: unknown) => of(isSpeechError(error) ? error.code : String(error))),
      toArray(),
    ),
  )
  const last = ended.at(-1)
  const events = ended.flatMap((event) => (typeof event === 'string' ? [] : [event]))
  return { events, end: typeof last === 'string' ? last : 'complete' }
}

const statesOf = ({ events }: Outcome) => events.flatMap((event) => (event.type === 'connection' ? [event.state] : []))
/** Without the id that the service has chosen. */
const finalsOf = ({ events }: Outcome) =>
  events.flatMap((event) => (event.type === 'final' ? [{ ...event, recognitionId: undefined }] : []))
const milestonesOf = ({ events }: Outcome) =>
  events.flatMap((event) => (event.type === 'milestone' ? [event.text] : []))

/** Speech on the left, silence on the right. */
const leftOnly = (left: Uint8Array): Uint8Array => {
  const both = new Uint8Array(2 * left.length)
  for (let at = 0; at < left.length; at += 2) both.set(left.subarray(at, at + 2), 2 * at)
  return both
}

describe.each(Object.entries(sessions))('a session of %s whose engine failed for good', (_name, sessionOf) => {
  it.each([1, 2] as const)(
    'fails after its final with the error if it may not resume, with %d channels',
    async (channels) => {
      const audio = await spoken(2_000)
      const session = sessionOf(await started(3 * channels), { channels, resumption: false })
      const outcome = await outcomeOf(session([channels === 1 ? audio : leftOnly(audio)]))
      expect(outcome.end).toBe('engine-failed')
      expect(statesOf(outcome).at(-1)).toBe('failed')
      expect(finalsOf(outcome)).toContainEqual(
        expect.objectContaining({ error: expect.stringMatching(/^engine-failed: /) as string }),
      )
    },
  )

  it('has every word from another connection if it may resume', async () => {
    const audio = await spoken(2_000)
    const whole = await outcomeOf(sessionOf(await started(0), {})([audio]))
    const resumed = await outcomeOf(sessionOf(await started(3), { resumption: { firstDelayMs: 1 } })([audio]))
    expect(statesOf(resumed)).toContain('reconnecting')
    expect(milestonesOf(resumed)).toEqual(milestonesOf(whole))
    expect([resumed.end, finalsOf(resumed)]).toEqual(['complete', finalsOf(whole)])
    expect(finalsOf(whole)).toHaveLength(1)
  })

  it('fails when the time for attempts is over', async () => {
    const session = sessionOf(await started(30), { resumption: { budgetMs: 50, firstDelayMs: 20, maxDelayMs: 20 } })
    expect((await outcomeOf(session([await spoken(1_000)]))).end).toBe('engine-failed')
  })

  it('has every word from another service', async () => {
    const audio = await spoken(2_000)
    const [broken, working] = [await started(30), await started(0)]
    const whole = await outcomeOf(sessionOf(working, {})([audio]))
    const moved = await outcomeOf(failover([sessionOf(broken, {}), sessionOf(working, {})])([audio]))
    expect([moved.end, milestonesOf(moved), finalsOf(moved)]).toEqual([
      'complete',
      milestonesOf(whole),
      finalsOf(whole),
    ])
  })
})

it.each(Object.entries(sessions))(
  'each fault of a session of %s is a line with its id and attempt',
  async (_name, sessionOf) => {
    const lines: Readonly<Record<string, unknown>>[] = []
    const logger: Logger = {
      log: (level, msg, fields) => {
        if (level !== 'debug') lines.push({ level, msg, ...fields })
      },
    }
    const service = await started(3, { logger, operations: { host: '127.0.0.1', port: 0 } })
    await outcomeOf(sessionOf(service, { resumption: false })([await spoken(2_000)]))
    const { sessionId } = lines.find(({ msg }) => msg === 'Session started') ?? {}
    expect(sessionId).toEqual(expect.any(String))
    const faults = lines.filter(({ level }) => level === 'error')
    expect(faults.map(({ attempt }) => attempt)).toEqual([1, 2, undefined])
    expect(new Set(faults.map((fault) => fault['sessionId']))).toEqual(new Set([sessionId]))
    const metrics = await (await fetch(`${service.started.operationsUrl ?? ''}/metrics`)).text()
    expect(metrics).toMatch(/^rxspeech_engine_faults_total\{model="Default\/m\/1"\} 3$/m)
  },
)
