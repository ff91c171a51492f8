import { lastValueFrom, materialize, toArray, type Observable, type ObservableInput } from 'rxjs'
import type { SessionEvent } from '../../src/protocol/session-event.js'
import { dataflow } from '../../src/client/dataflow/dataflow.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import type { SessionOptions } from '../../src/client/options.js'
import { faultProxy, type FaultProxy } from '../../src/testing/faults/fault-proxy.js'
import type { FaultScript } from '../../src/testing/faults/fault-script.js'
import { positionAudio } from '../../src/testing/verifying/position-audio.js'
import type { VerifyingBehavior } from '../../src/testing/verifying/recognition.js'
import { verifyingService, type VerifyingService } from '../../src/testing/verifying/verifying-service.js'

export const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
export const transports = ['websocket', 'grpc'] as const
export type Transport = (typeof transports)[number]

/** Chunks of a source with this duration. */
export const sourceOf = (ms: number, chunkMs = 20): readonly Uint8Array[] =>
  Array.from({ length: ms / chunkMs }, (_, chunk) => positionAudio(chunk * chunkMs * 8, chunkMs * 8))

export interface Stage {
  readonly service: VerifyingService
  readonly proxies: Readonly<Record<Transport, FaultProxy>>
  readonly session: (
    over: Transport,
    options?: Partial<SessionOptions>,
  ) => (source: ObservableInput<Uint8Array>) => Observable<SessionEvent>
  readonly close: () => Promise<void>
}

/** A verifying service behind a proxy for each transport, and sessions with short delays between attempts. */
export const stage = async (behavior: VerifyingBehavior = {}, script: FaultScript = []): Promise<Stage> => {
  const service = verifyingService({ milestoneEveryMs: 500, partialEveryMs: 100, ...behavior })
  const listening = await service.listen()
  const { port } = new URL(listening.url)
  const websocket = await faultProxy({ target: Number(port), script })
  const grpc = await faultProxy({ target: listening.address, script })
  return {
    service,
    proxies: { websocket, grpc },
    session: (over, options = {}) => {
      const common = { format, token: 'any', resumption: { firstDelayMs: 20, maxDelayMs: 200 }, ...options }
      return over === 'grpc'
        ? dataflow({ ...common, url: grpc.address, connection: { insecure: true }, tenant: 'T', project: 'p' })
        : recognize({ ...common, url: `ws://${websocket.address}`, model: 'm' })
    },
    close: async () => {
      await Promise.all([websocket.close(), grpc.close()])
      await listening.close()
    },
  }
}

export interface Outcome {
  readonly events: readonly SessionEvent[]
  readonly text: string
  readonly end: string
}

export const outcomeOf = async (session$: Observable<SessionEvent>): Promise<Outcome> => {
  const notes = await lastValueFrom(session$.pipe(materialize(), toArray()))
  const events = notes.flatMap((note) => (note.kind === 'N' ? [note.value] : []))
  const last = notes.at(-1)
  const code = last?.kind === 'E' ? (last.error as { readonly code?: string }).code : undefined
  return {
    events,
    text: events.map((event) => (event.type === 'milestone' ? event.text : '')).join(''),
    end: last?.kind === 'C' ? 'complete' : (code ?? 'untyped'),
  }
}

export const gapsOf = (events: readonly SessionEvent[]): number =>
  events.reduce((sum, event) => (event.type === 'gap' ? sum + event.toMs - event.fromMs : sum), 0)

/** The times of results, in the order of arrival: they never decrease. */
export const timesOf = (events: readonly SessionEvent[]): readonly number[] =>
  events.flatMap((event) => (event.type === 'milestone' && event.endMs !== undefined ? [event.endMs] : []))
