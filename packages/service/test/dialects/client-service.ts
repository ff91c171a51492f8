import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { filter, firstValueFrom, lastValueFrom, map, merge, NEVER, share, Subject, takeUntil, toArray } from 'rxjs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { wavHeader } from '../../../../src/audio/wav-header.js'
import { nodeFetch } from '../../../../src/auth/node-fetch.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { noopMonitor } from '../../../server/src/monitor/service-monitor.js'
import { credentialsOf, liveService } from '../interop/live-service.js'
import { channelAt, englishModels, hasPeople, ofPeople, people } from '../interop/people.js'
import { callFile } from '../interop/sample-call.js'
import { patience } from '../interop/session-options.js'
import type { ServiceOptions } from '../../src/configuration/service-options.js'
import { comparedWords } from 'rxspeech-engines/word-errors'
import type { InstalledClients, Steps } from './client-programs.js'

/** What is recognized. */
interface Spoken {
  readonly service: (folder: string) => Promise<Partial<ServiceOptions>>
  readonly samples: () => Promise<Int16Array>
  readonly rateHz: number
}

/** The first speaker of the sample call. */
const call: Spoken = {
  service: () => Promise.resolve({}),
  samples: () => channelAt(callFile, 0, 8_000),
  rateHz: 8_000,
}

/** At the rate of the clients, which then change no sample. */
const speechOfPeople: Spoken = {
  service: async (folder) => ({ modelFolders: [await englishModels(folder)], defaultModel: 'English' }),
  samples: () => channelAt(people, 0, 24_000),
  rateHz: 24_000,
}

/** A service with all dialects, and a recording. */
interface ClientService {
  /** What our own client makes of the recording. */
  readonly text: string
  /** The environment of a program: addresses, a token of its own, the recording. */
  readonly newAccess: () => Promise<Readonly<Record<string, string>>>
  /** Runs a program with a token of its own; `sessions` of the result is how many it had. */
  readonly run: (clients: InstalledClients, program: string, steps?: string) => Promise<Steps>
  /** The same, while the service is full for that token until it has refused the program. */
  readonly runWhenFull: (clients: InstalledClients, program: string) => Promise<Steps>
  readonly close: () => Promise<void>
}

const sessionsPerToken = 2

const clientService = async ({ service, samples, rateHz }: Spoken): Promise<ClientService> => {
  const folder = await mkdtemp(join(tmpdir(), 'rxspeech-recording-'))
  const recording = join(folder, 'speech.wav')
  const pcm = bytesOf(await samples())
  const format = { encoding: 'pcm', sampleRateHz: rateHz, channels: 1 } as const
  await writeFile(recording, Buffer.concat([wavHeader(format, pcm.length), pcm]))

  const refused$ = new Subject<void>()
  let sessions = 0
  let refusals = 0
  const live = await liveService({
    ...(await service(folder)),
    plainHttp: { host: '127.0.0.1', port: 0 },
    limits: { sessionsPerToken },
    monitor: {
      ...noopMonitor,
      refused: (_by, code) => {
        if (code !== 'overloaded') return
        refusals += 1
        refused$.next()
      },
      sessionMoved: (_session, from) => {
        if (from === undefined) sessions += 1
      },
    },
  })
  const { access } = live.service
  const tokenOf = async (): Promise<string> => {
    const token$ = requestToken({ ...credentialsOf(access), fetch: nodeFetch({ ca: live.ca }) })
    return (await firstValueFrom(token$)).accessToken
  }
  const session = (token: string) =>
    recognize({
      ...patience,
      url: access.plainWsUrl ?? '',
      token,
      model: live.service.access.model,
      format,
      resumption: false,
    })
  const envOf = (token: string) => ({
    BASE: access.plainAuthUrl ?? '',
    TLS_BASE: access.authUrl,
    NODE_EXTRA_CA_CERTS: access.ca,
    RXSPEECH_URL: access.plainWsUrl ?? '',
    RXSPEECH_TOKEN: token,
    KEY: token,
    OPENAI_BASE_URL: `${access.plainAuthUrl ?? ''}/v1`,
    OPENAI_API_KEY: token,
    RECORDING: recording,
    TURNS: String(turns.length),
  })
  const run = async (clients: InstalledClients, program: string, token: string, only?: string): Promise<Steps> => {
    const before = sessions
    const steps = await clients.run(program, { ...envOf(token), ...(only !== undefined && { ONLY: only }) })
    return { ...steps, sessions: sessions - before }
  }
  const text$ = session(live.token)([pcm]).pipe(
    filter((event) => event.type === 'milestone'),
    map(({ text }) => text.trim()),
    toArray(),
  )
  const turns = await lastValueFrom(text$)
  return {
    text: turns.join(' '),
    newAccess: async () => envOf(await tokenOf()),
    run: async (clients, program, steps) => run(clients, program, await tokenOf(), steps),
    runWhenFull: async (clients, program) => {
      const token = await tokenOf()
      const finished$ = new Subject<void>()
      const holders = Array.from({ length: sessionsPerToken }, () =>
        session(token)(NEVER).pipe(takeUntil(merge(refused$, finished$)), share()),
      )
      const ended = holders.map((events$) => lastValueFrom(events$))
      await Promise.all(
        holders.map((events$) => firstValueFrom(events$.pipe(filter(({ type }) => type === 'response')))),
      )
      const before = refusals
      try {
        const steps = await run(clients, program, token)
        if (refusals === before) throw new Error('The service was full, and has not refused the program.')
        return steps
      } finally {
        finished$.next()
        await Promise.all(ended)
      }
    },
    close: async () => {
      await live.close()
      await rm(folder, { recursive: true })
    },
  }
}

/** The clients and the service of the tests of a file, which are skipped if the clients cannot be had. */
export class ClientTests {
  #clients: InstalledClients | undefined
  #service: ClientService | undefined

  constructor(install: () => Promise<InstalledClients | undefined>) {
    beforeAll(async () => {
      this.#clients = await install()
      if (this.#clients !== undefined) this.#service = await clientService(call)
    })
    afterAll(async () => {
      await this.#service?.close()
      await this.#clients?.remove()
    })
    beforeEach(({ skip }) => {
      skip(this.#clients === undefined, 'the clients cannot be installed')
    })
  }

  get clients(): InstalledClients {
    if (this.#clients === undefined) throw new Error('There are no clients.')
    return this.#clients
  }

  get service(): ClientService {
    if (this.#service === undefined) throw new Error('There is no service.')
    return this.#service
  }

  /** Runs a program, by default while the service is full until it has refused the program. */
  run(program: string, way: 'run' | 'runWhenFull' = 'runWhenFull'): Promise<Steps> {
    return this.service[way](this.clients, program)
  }

  /** Tests that these steps of programs, which each give a text, hear from people what our own client hears. */
  hearPeople(steps: readonly (readonly [program: string, step: string])[]): void {
    describe.skipIf(!hasPeople)(`has the words of our own client of ${ofPeople}`, () => {
      let service: ClientService | undefined
      beforeAll(async () => {
        if (this.#clients !== undefined) service = await clientService(speechOfPeople)
      })
      afterAll(() => service?.close())

      it.each(steps)('with %s: %s', async (program, step) => {
        if (service === undefined) throw new Error('There is no service.')
        const { [step]: seen } = await service.run(this.clients, program, step)
        expect(comparedWords(service.text).length).toBeGreaterThan(100)
        expect(seen).toSatisfy((value) => [value, ...Object.values(Object(value))].includes(service?.text))
      })
    })
  }
}
