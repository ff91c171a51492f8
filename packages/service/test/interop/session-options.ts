import type { AudioFormat } from '../../../../src/audio/format.js'
import type { SessionEvent } from '../../../../src/protocol/session-event.js'
import type { DataflowOptions } from '../../../../src/client/dataflow/dataflow.js'
import type { RecognizeOptions } from '../../../../src/client/recognizer/recognize-on.js'
import type { ServiceAccess } from '../../src/start/development-service.js'
import type { Reachable } from './live-service.js'

export type Over = 'grpc' | 'websocket'

/** A service with an engine, reached directly or through a proxy. */
export interface SpokenService extends Reachable {
  readonly service: { readonly access: Pick<ServiceAccess, 'wsUrl' | 'grpc' | 'tenant' | 'project'> }
  readonly ca: Buffer
}

/** The audio is sent at once and decoded at the speed of the machine, which may have other work. */
export const patience = { timeouts: { connectMs: 60_000, startMs: 60_000, finalizeMs: 110_000 } }

/** The same session over either transport; over the socket, silence ends none. */
export const sessionOptions = (
  { service: { access }, ca, token }: SpokenService,
  format: AudioFormat,
  model: string,
): { readonly grpc: DataflowOptions; readonly websocket: RecognizeOptions } => ({
  grpc: {
    ...patience,
    url: access.grpc,
    connection: { ca },
    token,
    tenant: access.tenant,
    project: access.project,
    settings: { ModelName: model },
    format,
  },
  websocket: {
    ...patience,
    url: access.wsUrl,
    connection: { ca },
    token,
    model,
    voiceActivity: { gracefulSilenceThresholdMs: 0 },
    format,
  },
})

/** Milestones and finals, channel by channel, without the id of the recognition, which only WebSockets have. */
export const resultsByChannel = (events: readonly SessionEvent[]): readonly (readonly unknown[])[] =>
  [0, 1].map((channel) =>
    events
      .filter((event) => event.type === 'milestone' || event.type === 'final')
      .filter((event) => event.channel === channel)
      .map((event) => ({ ...event, recognitionId: undefined })),
  )
