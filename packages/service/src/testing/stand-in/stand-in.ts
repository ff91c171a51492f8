import { access, constants, mkdir } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { asyncScheduler, concat, defer, from, Subject, type Observable, type SchedulerLike } from 'rxjs'
import type { Dialect } from 'rxspeech-server/listen/dialect'
import { dialectHandlers } from 'rxspeech-server/listen/dialect-listener'
import { recognizerUpgrades } from 'rxspeech-server/listen/recognizer-listener'
import { answerUpgrade, urlOf } from 'rxspeech-server/listen/upgrade-request'
import { codeOf, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { listOf } from 'rxspeech/internal/protocol/collections'
import {
  anything,
  checkOptions,
  eitherOf,
  flag,
  nonEmptyText,
  number,
  oneOf,
  optionsOf,
  schedulerValue,
  text,
  wholeNumber,
} from 'rxspeech/internal/protocol/validation'
import type { AppliedFault } from 'rxspeech/internal/testing/faults/fault-director'
import { faultProxy, type FaultProxy } from 'rxspeech/internal/testing/faults/fault-proxy'
import type { Fault } from 'rxspeech/internal/testing/faults/fault-script'
import type { RecognitionScript } from 'rxspeech/internal/testing/scripted/recognition-script'
import { hostPort } from 'rxspeech/internal/transport/listen-address'
import { dialectsOf } from '../../start/built-ins.js'
import { recordSession } from './cassette.js'
import { openCertificate } from './certificate.js'
import { FaultRunner } from './fault-runner.js'
import { faultSteps, type StandInFault, type StandInFaults, type StandInFaultStep } from './faults.js'
import { openListener, type StandInHandlers } from './listener.js'
import { observeDialect, observeRecognizer } from './observed-dialect.js'
import { openRecognition, type StandInRecognition } from './recognition.js'
import { answerReport, nothingHere } from './report.js'
import { ClientSession, ownDialect, type StandInSession } from './session.js'
import { vendors, type StandInAddress, type StandInDialect } from './vendors.js'

/** What a stand-in stands for, and what it answers. */
export interface StandInOptions {
  /** The service that it stands for, or several on the same port. */
  readonly dialect: StandInDialect | readonly StandInDialect[]
  /** The words that sessions hear. @default 'hello world' */
  readonly script?: RecognitionScript | undefined
  /**
   * Recognizes what was said instead of a script: folders of models, with the layout
   * `<tenant>/<name>/<version>/model.json`. Every name of a client means the first model. @default none
   */
  readonly models?: readonly string[] | undefined
  /** What goes wrong. @default nothing */
  readonly faults?: StandInFaults | undefined
  /** The only key that is accepted. @default every key is */
  readonly key?: string | undefined
  /**
   * Listens with TLS, which some clients insist on, with a certificate for localhost that is made for this: in a
   * folder, where it is kept, or with `true` in one that `close` removes. @default false
   */
  readonly tls?: boolean | string | undefined
  /** The address to listen on, also without TLS. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** The port to listen on. @default 0: a free one */
  readonly port?: number | undefined
  /** A folder, in which the socket of each session is recorded as a cassette. @default none */
  readonly record?: string | undefined
  /**
   * How fast the clock of a script runs; results then also wait for it: 1 is real time. @default Infinity, results come
   * as soon as their audio has arrived
   */
  readonly speed?: number | undefined
  /** The clock of `speed` and of faults. @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const dialectName = oneOf(...(Object.keys(vendors) as StandInDialect[]))

const standInOptions = optionsOf<StandInOptions>()(
  { dialect: eitherOf(dialectName, listOf(dialectName)) },
  {
    script: anything,
    models: listOf(text),
    faults: anything,
    key: nonEmptyText,
    tls: eitherOf(flag, nonEmptyText),
    host: nonEmptyText,
    port: wholeNumber({ min: 0, max: 65_535 }),
    record: nonEmptyText,
    speed: number({ min: 0.01 }),
    scheduler: schedulerValue,
  },
)

/** A stand-in that listens. */
export interface StandIn extends StandInAddress {
  /** The port on which it listens. */
  readonly port: number
  /** The certificate to trust, if it listens with TLS: PEM, and the path of its file for `NODE_EXTRA_CA_CERTS`. */
  readonly ca: { readonly pem: string; readonly path: string } | undefined
  /** The environment variables that clients read, such as `OPENAI_BASE_URL`. */
  readonly env: Readonly<Record<string, string>>
  /** The sockets and requests of clients, in the order of their arrival. */
  readonly sessions: readonly StandInSession[]
  /** Each session as it arrives, also those before the subscription. */
  readonly sessions$: Observable<StandInSession>
  /** The faults that were applied. */
  readonly applied: readonly AppliedFault<StandInFault>[]
  /** Applies a fault now. Faults of connections need the option `faults`, which may be empty. Throws `invalid-options`. */
  apply(fault: StandInFault): void
  /** Applies the steps that wait for this signal. */
  signal(name: string): void
  /** Closes all connections. */
  close(): Promise<void>
}

/**
 * Starts a local stand-in of a speech service for tests of its unmodified clients. It speaks the same dialects as the
 * service, with the words of a script instead of a recognizer, or with one; it can fail in many ways, and knows which
 * audio has arrived. Rejects with `invalid-options` or `listen-failed`.
 *
 * @example
 * const vendor = await standIn({ dialect: 'openai', script: 'seven of clubs' })
 * // new OpenAI({ baseURL: `${vendor.url}/v1`, apiKey: vendor.key })
 * console.log(vendor.sessions.map(({ audio }) => audio.samples))
 */
export const standIn = async (options: StandInOptions): Promise<StandIn> => {
  checkOptions(standInOptions, options)
  const { script = 'hello world', speed, scheduler = asyncScheduler, models: modelFolders, key, tls = false } = options
  const names = typeof options.dialect === 'string' ? [options.dialect] : options.dialect
  if (names.length === 0) throw new SpeechError('invalid-options', `dialect must name ${dialectName.name}.`)
  const steps = faultSteps(options.faults ?? [])
  const clients = new Clients(scheduler, options)
  const faults = new FaultRunner({
    steps: steps.filter(({ at }) => at.when !== 'bytes'),
    scheduler,
    sessions: () => clients.sessions.filter(({ isOpen }) => isOpen),
    toConnections: (fault) => {
      if (proxy === undefined) throw needsProxy(fault)
      proxy.apply(fault)
    },
  })
  const recognition = openRecognition({ script, modelFolders, key, speed, scheduler })
  if (options.record !== undefined) await openFolder('record', options.record)
  if (typeof tls === 'string') await openFolder('tls', tls)
  const certificate = await openCertificate(tls)
  const handlers = handlersOf(names, clients, faults, recognition)
  const asked = { host: options.host ?? '127.0.0.1', port: options.port ?? 0 }
  const isProxied = options.faults !== undefined
  const listener = await openListener(isProxied ? { host: '127.0.0.1', port: 0 } : asked, certificate, handlers)
  let proxy: FaultProxy | undefined
  if (isProxied) proxy = await faultProxy({ target: listener.port, listen: asked, script: byteSteps(steps), scheduler })
  const { port } = proxy ?? listener
  const at = `${tls === false ? '' : 's'}://${hostPort(asked, port)}`
  const address: StandInAddress = { url: `http${at}`, wsUrl: `ws${at}`, key: key ?? anyKey }
  return {
    ...address,
    port,
    ca: certificate?.ca,
    env: Object.fromEntries(names.flatMap((name) => Object.entries(vendors[name].env(address)))),
    sessions: clients.sessions,
    sessions$: clients.sessions$,
    get applied() {
      return faults.applied
    },
    apply: (fault) => faults.apply(fault),
    signal: (name) => faults.signal(name),
    close: async () => {
      faults.close()
      await recognition.close()
      await proxy?.close()
      await listener.close()
      await certificate?.remove()
      clients.close()
    },
  }
}

/** Fails now, and not when a client has come. */
const openFolder = async (option: 'record' | 'tls', folder: string): Promise<void> => {
  try {
    await mkdir(folder, { recursive: true, ...(option === 'tls' && { mode: 0o700 }) })
    await access(folder, constants.W_OK)
  } catch (error) {
    const message = `The folder ${folder} of ${option} cannot be written (${codeOf(error) ?? 'unknown'}); name another.`
    throw new SpeechError('invalid-options', message, { cause: error })
  }
}

/** Given to clients when any key is accepted. */
const anyKey = 'stand-in-key'

/** Of more sessions the audio is not kept. */
const maxKeptSessions = 50

/** The sessions of clients, by their requests. */
class Clients {
  readonly sessions: ClientSession[] = []
  /** Those so far, then each as it arrives. */
  readonly sessions$: Observable<StandInSession> = defer(() => concat(from([...this.sessions]), this.#arrived$))
  readonly #arrived$ = new Subject<StandInSession>()
  readonly #byRequest = new WeakMap<IncomingMessage, ClientSession>()
  readonly #scheduler: SchedulerLike
  readonly #options: Pick<StandInOptions, 'record' | 'key'>

  constructor(scheduler: SchedulerLike, options: Pick<StandInOptions, 'record' | 'key'>) {
    this.#scheduler = scheduler
    this.#options = options
  }

  readonly of = (request: IncomingMessage): ClientSession | undefined => this.#byRequest.get(request)

  begin(dialect: string, kind: StandInSession['kind'], request: IncomingMessage, until: NodeJS.EventEmitter): void {
    const { record, key = anyKey } = this.#options
    const session = new ClientSession({ number: this.sessions.length + 1, dialect, kind }, request, this.#scheduler)
    if (record !== undefined && kind === 'socket') session.observer = recordSession(record, session, key)
    this.sessions.push(session)
    this.sessions.at(-1 - maxKeptSessions)?.forget()
    this.#byRequest.set(request, session)
    until.once('close', () => session.end())
    this.#arrived$.next(session)
  }

  close(): void {
    this.#arrived$.complete()
  }
}

const handlersOf = (
  names: readonly StandInDialect[],
  clients: Clients,
  faults: FaultRunner,
  { context, sessions, recognizer, model }: StandInRecognition,
): StandInHandlers => {
  const server = {
    context,
    sessions,
    recognizer: observeRecognizer(recognizer, faults, clients.of),
    maxMessageBytes: 16 * 1_048_576,
    allowQueryToken: true,
    connections: {
      addressOf: () => '127.0.0.1',
      refuseSession: (request: IncomingMessage) =>
        Promise.resolve(clients.of(request) === undefined ? undefined : faults.connecting()),
      succeeded: () => undefined,
    },
  }
  const dialects = dialectsOf({ development: true }).filter(({ name }) =>
    names.some((vendor) => name.startsWith(vendors[vendor].dialects)),
  )
  const observed = dialects.map((dialect) => observeDialect(dialect, faults, clients.of))
  const own = recognizerUpgrades(server)
  const others: StandInHandlers = {
    request: (request, response) => answerReport(request, response, clients.sessions, names),
    upgrade: (...upgrade) => {
      if (!names.includes('rxspeech')) {
        answerUpgrade(upgrade[1], { status: 404, headers: {}, body: nothingHere(names) })
        return
      }
      clients.begin(ownDialect, 'socket', upgrade[0], upgrade[1])
      own(...upgrade)
    },
  }
  const served = dialectHandlers({ ...server, dialects: observed, modelNames: { '*': model } }, others)
  return {
    request: (request, response) => {
      const dialect = dialectAt(dialects, 'routes', request)
      // Reading the list of models is no session.
      if (dialect !== undefined && request.method === 'POST') clients.begin(dialect.name, 'request', request, response)
      served.request(request, response)
    },
    upgrade: (...upgrade) => {
      const dialect = dialectAt(dialects, 'sockets', upgrade[0])
      if (dialect !== undefined) clients.begin(dialect.name, 'socket', upgrade[0], upgrade[1])
      served.upgrade(...upgrade)
    },
  }
}

const dialectAt = (dialects: readonly Dialect[], kind: 'routes' | 'sockets', request: IncomingMessage) => {
  const { pathname = '' } = urlOf(request) ?? {}
  return dialects.find((dialect) => dialect[kind].some(({ path }) => path.test(pathname)))
}

/** The steps that only a proxy can count; its codec refuses the faults that it does not know. */
const byteSteps = (steps: readonly StandInFaultStep[]) =>
  steps.flatMap(({ at, fault }) => (at.when === 'bytes' ? [{ at, fault: fault as Fault }] : []))

const needsProxy = ({ do: name }: Fault): SpeechError =>
  new SpeechError(
    'invalid-options',
    `${name} is a fault of connections; start the stand-in with faults, such as faults: [].`,
  )
