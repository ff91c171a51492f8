import { logLevels } from 'rxspeech-server/operations/logger'
import { metricsCodec } from 'rxspeech-server/operations/merged-metrics'
import type { ProcessIdentity } from 'rxspeech-server/operations/process-identity'
import { readinessTypes } from 'rxspeech-server/operations/readiness'
import { slowSessionsCodec } from 'rxspeech-server/operations/slow-sessions'
import { listOf, recordOf } from 'rxspeech/internal/protocol/collections'
import {
  durationMs,
  type Codec,
  eitherOf,
  flag,
  jsonObject,
  number,
  oneOf,
  optionsCodec,
  text,
  wholeNumber,
} from 'rxspeech/internal/protocol/validation'
import { serverCertificateCodec } from 'rxspeech/internal/transport/listen-address'
import { sentError, type Protocol } from './channel.js'

/** The ports of a service; `plain` is HTTP without TLS beside it. */
export const listenerNames = ['http', 'plain', 'grpc'] as const
export type ListenerName = (typeof listenerNames)[number]

const id = wholeNumber({ min: 0 })
const nothing = optionsCodec({}, {})
const identity: Codec<ProcessIdentity> = optionsCodec({ host: text, process: text, version: text }, {})

/** What a worker receives from the process of the service. */
export const workerProtocol = {
  questions: {
    /** The metrics of this process. */
    metrics: { question: nothing, answer: metricsCodec },
    /** The slow sessions of this process. */
    slowSessions: { question: nothing, answer: slowSessionsCodec },
    /** Answered by a process whose event loop runs. */
    alive: { question: nothing, answer: nothing },
    /** Reads models and projects again, and loads what is new; `reload` says whether it is used. */
    prepareReload: {
      question: nothing,
      answer: optionsCodec({ problems: listOf(sentError), fingerprint: text }, {}),
    },
  },
  notices: {
    /** The first message. `options`: those of the service, with the addresses that it listens on. */
    start: optionsCodec(
      { options: jsonObject, cpus: number({ min: 0 }), warmsUp: flag, hasMetrics: flag, identity },
      {},
    ),
    /** A connection, whose socket comes with it. One that is not counted is counted when its client is known. */
    connection: optionsCodec({ id, listener: oneOf(...listenerNames), isCounted: flag }, { refusal: sentError }),
    /** The session of an `admit` must end. */
    ended: optionsCodec({ id, error: sentError }, {}),
    /** Whether the whole service is ready, for gRPC health. */
    serving: optionsCodec({ isServing: flag }, {}),
    /** New connections get this certificate. */
    certificate: serverCertificateCodec,
    drain: optionsCodec({ drainMs: durationMs(0) }, {}),
    /** Follows `prepareReload`. */
    reload: optionsCodec({ isUsed: flag }, {}),
  },
} satisfies Protocol

const grant = optionsCodec(
  { tenants: listOf(text), projects: listOf(text), models: listOf(text) },
  { clientId: text, tokenId: text, isForPage: flag, isAboveShare: flag },
)

/** What the process of the service receives from a worker. */
export const serviceProtocol = {
  questions: {
    /** Verifies the token of a session and counts the session until `released`. */
    admit: { question: optionsCodec({ id, token: text }, { tenant: text, origin: text }), answer: grant },
    /** Counts a connection whose client a trusted proxy has named; without an address it counts only in total. */
    countConnection: {
      question: optionsCodec({ id }, { address: text }),
      answer: optionsCodec({ isAccepted: flag }, { refusal: sentError }),
    },
    /** Counts a client of a shared connection, until `released`. */
    countClient: {
      question: optionsCodec({ id, address: text }, {}),
      answer: optionsCodec({}, { refusal: sentError }),
    },
    /** Counts a stream without a session, until `released`; without an address it counts only in total. */
    countStream: { question: optionsCodec({ id }, { address: text }), answer: optionsCodec({ isAccepted: flag }, {}) },
    /** An HTTP request for the identity service; bodies are in Base64. */
    http: {
      question: optionsCodec({ method: text, url: text, headers: recordOf(text), body: text }, { address: text }),
      answer: optionsCodec(
        { status: wholeNumber({ min: 100, max: 599 }), headers: listOf(listOf(text)), body: text },
        {},
      ),
    },
  },
  notices: {
    /** The worker serves sessions. */
    opened: nothing,
    /** The worker could not start, and ends. */
    failed: optionsCodec({ error: sentError }, {}),
    readiness: optionsCodec({ type: oneOf(...readinessTypes) }, {}),
    /** A connection has arrived; the process of the service closes its own handle of the socket. */
    taken: optionsCodec({ id }, {}),
    /** A connection has ended. */
    closed: optionsCodec({ id }, {}),
    /** A session was admitted from the address. */
    succeeded: optionsCodec({ address: text }, {}),
    /** A session, client or stream no longer counts. */
    released: optionsCodec({ id }, {}),
    log: optionsCodec(
      { level: oneOf(...logLevels), message: text },
      { fields: recordOf(eitherOf(eitherOf(text, number()), flag)) },
    ),
    fault: optionsCodec({ error: sentError }, {}),
  },
} satisfies Protocol
