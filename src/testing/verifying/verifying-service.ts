import type { Subscription } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { DataflowMessage, SocketMessage } from '../../transport/link.js'
import { dialMemory, type MemoryLinkOptions } from '../../transport/memory/link.js'
import { memoryPeer, type MemoryPeer } from './memory-peer.js'
import { dataflowCodec, recognizerCodec } from './codecs.js'
import { serveClient } from './session.js'
import {
  listen,
  presentedToken,
  type Endpoints,
  type VerifyingListener,
  type VerifyingListenOptions,
} from './listener.js'
import { resolveBehavior, type ResolvedBehavior, type VerifyingBehavior } from './recognition.js'
import { ConnectionTracker, verifySource, type ConnectionReport, type VerificationReport } from './report.js'

/** The audio source of a test. */
export interface VerifiedSource {
  /** The number of samples, or of frames for stereo over gRPC. */
  readonly sampleCount: number
  /** The rate of the samples, in Hz. */
  readonly sampleRateHz: number
}

/**
 * A service that verifies which audio arrived. `recognizer` and `dataflow` create the options of sessions over links in
 * memory, also in virtual time; or `listen` on ports.
 */
export interface VerifyingService extends MemoryPeer {
  /** Accepts connections over WebSocket and gRPC. */
  listen(options?: VerifyingListenOptions): Promise<VerifyingListener>
  /** A report for each connection, in the order of the connections. */
  readonly connections: readonly ConnectionReport[]
  /** Compares what arrived with a mono source of this many samples, or of this many frames for stereo over gRPC. */
  verify(source: VerifiedSource): VerificationReport
  /** The complete transcript of a source. */
  transcript(source: VerifiedSource): string
  /** Ends all connections and deletes their reports. Listeners continue. */
  reset(): void
}

/**
 * Creates a recognition service for tests of sessions. It recognizes the audio of `positionAudio`, whose samples encode
 * their positions, and records for each connection which samples arrived and which ones a milestone covers. Its
 * transcript of a complete source is `w0 w1 w2 …`, one word each `wordMs`, on any number of connections.
 *
 * @throws SpeechError `invalid-options`
 * @example
 * const service = verifyingService()
 * const chunks = Array.from({ length: 50 }, (_, chunk) => positionAudio(chunk * 160, 160))
 * const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
 * await lastValueFrom(recognize(service.recognizer({ format }))(chunks))
 * console.log(service.verify({ sampleCount: 8000, sampleRateHz: 8000 }).missingMs) // 0
 */
export const verifyingService = (
  behavior: VerifyingBehavior = {},
  linkOptions: MemoryLinkOptions = {},
): VerifyingService => {
  const resolved = resolveBehavior(behavior)
  const { endpoints, reports, reset } = trackConnections(resolved)
  const token = 'verifying-token'
  const testing = { scheduler: linkOptions.scheduler }
  const peer = memoryPeer(
    {
      recognizer: { url: 'ws://localhost', token, model: 'verifying', testing },
      dataflow: { url: 'localhost:0', token, tenant: 'Default', project: 'verifying', testing },
    },
    {
      recognizer: ({ headers, protocols }) =>
        dialMemory<SocketMessage, SocketMessage>((link) => {
          if (!endpoints.admit(presentedToken(headers?.['Authorization'], protocols))) throw tokenRefused()
          endpoints.acceptSocket(link)
        }, linkOptions),
      dataflow: () => dialMemory<DataflowMessage, DataflowMessage>(endpoints.acceptStream, linkOptions),
    },
  )
  return {
    ...peer,
    listen: (options = {}) => listen(endpoints, options),
    get connections() {
      return reports()
    },
    verify: ({ sampleCount, sampleRateHz }) => verifySource(reports(), sampleCount, sampleRateHz),
    transcript: (source) => transcriptOf(source, resolved.wordMs),
    reset,
  }
}

interface TrackedConnections {
  readonly endpoints: Endpoints
  readonly reports: () => readonly ConnectionReport[]
  readonly reset: () => void
}

/** Serves connections and keeps a report of each. */
const trackConnections = (behavior: ResolvedBehavior): TrackedConnections => {
  const trackers: ConnectionTracker[] = []
  const sessions = new Set<Subscription>()
  const accepts = (token: string | undefined, connection: number): boolean =>
    behavior.accepts === undefined || (token !== undefined && behavior.accepts(token, connection))
  const track = (over: 'websocket' | 'grpc'): ConnectionTracker => {
    const tracker = new ConnectionTracker(trackers.length + 1, over)
    trackers.push(tracker)
    return tracker
  }
  const keep = (session: Subscription, close: () => void): void => {
    sessions.add(session)
    session.add(() => {
      sessions.delete(session)
      close()
    })
  }
  const endpoints: Endpoints = {
    admit: (token) => {
      if (accepts(token, trackers.length + 1)) return true
      track('websocket').isOpen = false
      return false
    },
    acceptSocket: (link) => {
      const context = { behavior, tracker: track('websocket'), accepts: () => true }
      keep(serveClient(link, recognizerCodec(behavior.times), context), () => link.close())
    },
    acceptStream: (link) => {
      const tracker = track('grpc')
      const connection = trackers.length
      const context = { behavior, tracker, accepts: (token?: string) => accepts(token, connection) }
      keep(serveClient(link, dataflowCodec(behavior.times), context), () => link.close())
    },
  }
  return {
    endpoints,
    reports: () => trackers.map((tracker) => tracker.report()),
    reset: () => {
      for (const session of [...sessions]) session.unsubscribe()
      trackers.splice(0)
    },
  }
}

const tokenRefused = (): SpeechError => new SpeechError('unauthenticated', 'The token is not accepted.')

const transcriptOf = ({ sampleCount, sampleRateHz }: VerifiedSource, wordMs: number): string => {
  const length = Math.round((wordMs * sampleRateHz) / 1_000)
  const count = Math.max(0, Math.ceil((sampleCount - Math.floor(length / 2)) / length))
  return Array.from({ length: count }, (_, word) => `w${word}`).join(' ')
}
