import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { filter, firstValueFrom, lastValueFrom, map, tap, type Observable } from 'rxjs'
import { dataflow } from '../../../../src/client/dataflow/dataflow.js'
import { recognize } from '../../../../src/client/recognizer/recognize.js'
import { requestToken } from '../../../../src/auth/request-token.js'
import { pace } from '../../../../src/operators/audio/pace.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import { memoryClients } from '../../../server/src/identity/clients/client.js'
import { decodeRequest, engineSubject } from '../../src/engines/protocol.js'
import { createBus, type MessageBus } from '../../src/connection/bus.js'
import { connectNats } from '../../src/connection/connection.js'
import type { Service } from '../../../service/src/start/running-service.js'
import { startService } from '../../../service/src/start/service.js'
import type { ServiceOptions } from '../../../service/src/configuration/service-options.js'
import type { OpenTelemetry } from '../../../../src/tracing/open-telemetry.js'
import { readRecording } from '../../../../test/audio/read-recording.js'
import { callModels, firstLine, start } from '../../../service/test/cli/command.js'
import { noLoadLimits, plainSecret, subscriptionOf } from '../../../service/test/plain-service.js'
import { startNatsServer, type NatsServer, type NatsServerOptions } from '../connection/nats-server.js'

export interface LiveEngine {
  readonly name: string
  readonly child: ChildProcess
  /** As kill -9. */
  readonly kill: () => Promise<void>
  /** SIGTERM; resolves with the exit code. */
  readonly end: () => Promise<number | null>
}

/** A milestone, and when it arrived, in milliseconds since the first audio was sent. */
export interface Heard {
  readonly channel: number | undefined
  readonly text: string
  readonly startMs: number | undefined
  readonly endMs: number | undefined
  readonly atMs: number
}

export interface CallOptions {
  readonly over?: 'grpc' | 'websocket' | undefined
  /** Empty if the call names none, which only gRPC can. @default the default model of the service */
  readonly model?: string | undefined
  /** @default none */
  readonly phrases?: readonly string[] | undefined
  /** Whether the client tries again. @default true */
  readonly resumption?: boolean | undefined
  /** Times real time. */
  readonly speed?: number | undefined
  /** @default sessions are not traced */
  readonly openTelemetry?: OpenTelemetry | undefined
  /** Where the client connects. @default the service itself */
  readonly wsUrl?: string | undefined
}

/** NATS, engine processes of the built command, and a service in this process. */
export class LiveFleet {
  readonly faults: unknown[] = []
  readonly #cleanups: (() => Promise<unknown>)[] = []
  readonly #engines = new Set<LiveEngine>()
  #started = 0

  readonly nats: NatsServer
  readonly bus: MessageBus

  constructor(nats: NatsServer, bus: MessageBus) {
    this.nats = nats
    this.bus = bus
  }

  static async start(options?: NatsServerOptions): Promise<LiveFleet> {
    const nats = await startNatsServer(options)
    const bus = createBus(await connectNats({ servers: [nats.url] }, { name: 'test' }))
    const fleet = new LiveFleet(nats, bus)
    fleet.#cleanups.push(nats.close, () => bus.close())
    return fleet
  }

  async startEngine(flags: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<LiveEngine> {
    this.#started += 1
    const name = `engine-${this.#started}`
    const child = start(['engine', '--nats', this.nats.url, '--name', name, '--models', callModels, ...flags], { env })
    const kill = async (signal: NodeJS.Signals): Promise<void> => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill(signal)
      await once(child, 'exit')
    }
    const engine = {
      ...{ name, child },
      kill: () => kill('SIGKILL'),
      end: async () => {
        await kill('SIGTERM')
        return child.exitCode
      },
    }
    this.#engines.add(engine)
    this.#cleanups.push(() => kill('SIGKILL'))
    await firstLine(child)
    return engine
  }

  async startService(options: Partial<ServiceOptions> = {}): Promise<Service> {
    const service = await startService({
      modelFolders: [],
      natsEngines: { servers: [this.nats.url], name: 'edge' },
      clients: memoryClients([await subscriptionOf('client')]),
      limits: { ...noLoadLimits, maxPacePercent: 0 },
      onFault: (error) => this.faults.push(error),
      ...options,
    })
    this.#cleanups.push(() => service.close({ drainMs: 0 }))
    return service
  }

  /**
   * The next engine that gets audio within a segment, at that moment: a quarter of a second of the segment precedes it.
   */
  busy(): Promise<LiveEngine> {
    return firstValueFrom(
      this.bus.messages(engineSubject({ name: '*', instance: '*' })).pipe(
        filter(({ payload }) => {
          const request = decodeRequest(payload)
          return request?.type === 'audio' && request.from >= 2_000
        }),
        map(({ subject }) => this.running.find(({ name }) => subject.startsWith(`rxspeech.engine.${name}.`))),
        filter((engine) => engine !== undefined),
      ),
    )
  }

  get running(): readonly LiveEngine[] {
    return [...this.#engines].filter(({ child }) => child.exitCode === null && child.signalCode === null)
  }

  async close(): Promise<void> {
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup()
  }
}

/** Transcribes the sample call at its own pace; `during` runs meanwhile. */
export const callThrough = async (
  service: Service,
  {
    over = 'grpc',
    speed = 1,
    resumption,
    openTelemetry,
    wsUrl = service.wsUrl,
    model = service.defaultModel ?? '',
    phrases,
  }: CallOptions = {},
  during: () => Promise<unknown> = () => Promise.resolve(),
): Promise<readonly Heard[]> => {
  const { format, bytes } = await readRecording('samples/call.wav')
  const token$ = requestToken({ authUrl: service.authUrl, clientId: 'client', clientSecret: plainSecret })
  const recognizeCall = (audio$: Observable<Uint8Array>): Observable<SessionEvent> =>
    over === 'grpc'
      ? audio$.pipe(
          dataflow({
            ...{ url: service.grpcAddress, tenant: 'Default', project: 'transcribe', token: token$, format },
            ...(model !== '' && { model }),
            phrases,
            connection: { insecure: true },
            openTelemetry,
            ...(resumption === false && { resumption }),
          }),
        )
      : audio$.pipe(
          recognize({
            ...{ url: wsUrl, model, phrases, token: token$, format, openTelemetry },
            ...(resumption === false && { resumption }),
          }),
        )
  const heard: Heard[] = []
  let startedMs = 0
  const audio$ = pace({ format, speed, maxCatchUpMs: 1000 })([bytes]).pipe(tap(() => (startedMs ||= performance.now())))
  const session = lastValueFrom(
    recognizeCall(audio$).pipe(
      tap((event) => {
        if (event.type !== 'milestone') return
        const { channel, text, startMs, endMs } = event
        heard.push({ channel, text, startMs, endMs, atMs: performance.now() - startedMs })
      }),
    ),
  )
  await Promise.all([session, during()])
  return heard.toSorted((a, b) => (a.startMs ?? 0) - (b.startMs ?? 0) || (a.channel ?? 0) - (b.channel ?? 0))
}

/** What must be equal, however often engines died. */
export const wordsOf = (heard: readonly Heard[]) => heard.map(({ atMs: _, ...words }) => words)

/** How much later than in another run each milestone came. */
export const latenessMs = (heard: readonly Heard[], before: readonly Heard[]): readonly number[] =>
  heard.map(({ atMs }, at) => atMs - (before[at]?.atMs ?? 0))
