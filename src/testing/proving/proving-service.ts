import type { Subscription } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import type { DataflowMessage, SocketMessage } from '../../transport/link.js'
import { dialMemory, type MemoryLinkOptions, type MemoryPeer } from '../../transport/memory/link.js'
import { resolveBehavior, type ProvingBehavior, type ResolvedBehavior } from './proving-behavior.js'
import { converse } from './proving-conversation.js'
import { ConnectionRecord, prove, type ConnectionEvidence, type Proof } from './proving-evidence.js'
import { presentedToken, type ProvingDoors } from './proving-doors.js'
import { listenForProof, type ListeningProver, type ProvingListenOptions } from './proving-listener.js'
import { dataflowWording, recognizerWording } from './proving-wordings.js'

/**
 * A scripted service that proves what arrived. Spread `recognizer` into the options of `recognize`, and `dataflow` into
 * those of `dataflow`, for links in memory (and virtual time); or `listen` for sockets.
 */
export interface ProvingService extends MemoryPeer {
  /** Takes connections over WebSocket and gRPC, on ports of 127.0.0.1 unless told otherwise. */
  listen(options?: ProvingListenOptions): Promise<ListeningProver>
  /** What each connection brought, in the order in which they were made. */
  readonly connections: readonly ConnectionEvidence[]
  /** Holds what came against a mono source of so many samples (or frames, of stereo over gRPC). */
  prove(source: { readonly sampleCount: number; readonly sampleRateHz: number }): Proof
  /** The words of a source, as its whole transcript must be. */
  transcript(source: { readonly sampleCount: number; readonly sampleRateHz: number }): string
  /** Breaks off all conversations, and forgets them. What listens goes on. */
  reset(): void
}

/**
 * A recognition service for proofs: it hears audio of `positionAudio`, whose samples say their positions, and records
 * for each connection which of them came and which it gave a milestone of. Its transcript of a whole source is
 * `w0 w1 w2 …`, a word each `wordMs`, however many connections that took. Throws `invalid-options`.
 */
export const provingService = (behavior: ProvingBehavior = {}, linkOptions: MemoryLinkOptions = {}): ProvingService => {
  const resolved = resolveBehavior(behavior)
  const { records, doors, reset } = openBooks(resolved)
  const token = 'proving-token'
  return {
    recognizer: {
      url: 'ws://localhost',
      token,
      modelName: 'proving',
      dial: ({ headers, protocols }) =>
        dialMemory<SocketMessage, SocketMessage>((end) => {
          if (!doors.admit(presentedToken(headers?.['Authorization'], protocols))) throw notAccepted()
          doors.socket(end)
        }, linkOptions),
    },
    dataflow: {
      address: 'localhost:0',
      token,
      tenant: 'Default',
      projectName: 'proving',
      dial: () => dialMemory<DataflowMessage, DataflowMessage>(doors.stream, linkOptions),
    },
    listen: (options = {}) => listenForProof(doors, options),
    get connections() {
      return records.map((record) => record.evidence())
    },
    prove: ({ sampleCount, sampleRateHz }) =>
      prove(
        records.map((record) => record.evidence()),
        sampleCount,
        sampleRateHz,
      ),
    transcript: (source) => transcriptOf(source, resolved.wordMs),
    reset,
  }
}

interface Books {
  readonly records: readonly ConnectionRecord[]
  readonly doors: ProvingDoors
  readonly reset: () => void
}

/** Takes connections, talks with them, and keeps the record of each. */
const openBooks = (behavior: ResolvedBehavior): Books => {
  const records: ConnectionRecord[] = []
  const conversations = new Set<Subscription>()
  const accepts = (token: string | undefined, connection: number): boolean =>
    behavior.accepts === undefined || (token !== undefined && behavior.accepts(token, connection))
  const open = (over: 'websocket' | 'grpc'): ConnectionRecord => {
    const record = new ConnectionRecord(records.length + 1, over)
    records.push(record)
    return record
  }
  const keep = (conversation: Subscription, close: () => void): void => {
    conversations.add(conversation)
    conversation.add(() => {
      conversations.delete(conversation)
      close()
    })
  }
  const doors: ProvingDoors = {
    admit: (token) => {
      if (accepts(token, records.length + 1)) return true
      open('websocket').isOpen = false
      return false
    },
    socket: (link) => {
      const terms = { behavior, record: open('websocket'), accepts: () => true }
      keep(converse(link, recognizerWording(behavior.times), terms), () => link.close())
    },
    stream: (link) => {
      const record = open('grpc')
      const connection = records.length
      const terms = { behavior, record, accepts: (token?: string) => accepts(token, connection) }
      keep(converse(link, dataflowWording(behavior.times), terms), () => link.close())
    },
  }
  return {
    records,
    doors,
    reset: () => {
      for (const conversation of [...conversations]) conversation.unsubscribe()
      records.splice(0)
    },
  }
}

const notAccepted = (): SpeechError => new SpeechError('unauthenticated', 'The token is not accepted.')

const transcriptOf = (
  { sampleCount, sampleRateHz }: { readonly sampleCount: number; readonly sampleRateHz: number },
  wordMs: number,
): string => {
  const length = Math.round((wordMs * sampleRateHz) / 1_000)
  const count = Math.max(0, Math.ceil((sampleCount - Math.floor(length / 2)) / length))
  return Array.from({ length: count }, (_, word) => `w${word}`).join(' ')
}
