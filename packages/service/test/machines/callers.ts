import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { filter, firstValueFrom, Subject } from 'rxjs'
import type { LedgerEvent } from '../../../../src/protocol/session-event.js'
import type { Deployment } from './deployment.js'

/** A milestone, and when it arrived. */
export interface Heard {
  readonly channel: number
  readonly text: string
  readonly atMs: number
}

export interface Outcome {
  readonly end: string
  readonly states: readonly string[]
  readonly milestones: readonly Heard[]
  readonly ledgers: readonly LedgerEvent[]
  readonly gapMs: number
  /** When the first audio was sent. */
  readonly startedMs: number
}

export interface CallOptions {
  readonly over: 'grpc' | 'websocket'
  /** An edge. @default the balancer */
  readonly host?: string | undefined
  /** Of the project. @default 'Default' */
  readonly tenant?: string | undefined
  /** The sample call is played in real time until here; without it nothing is said until the session ends. */
  readonly toMs?: number | undefined
  /** Plays it again and again until `finish`. */
  readonly repeats?: boolean | undefined
  /** `marked` resolves when that much was played. */
  readonly markMs?: number | undefined
  readonly heartbeatMs?: number | undefined
}

export interface Call {
  readonly isStreaming: Promise<unknown>
  readonly marked: Promise<unknown>
  readonly outcome: Promise<Outcome>
  /** The session ends at the end of the audio that is played now. */
  readonly finish: () => void
}

export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

type Message = { readonly id: number } & (
  | { readonly type: 'streaming' | 'mark' }
  | ({ readonly type: 'outcome' } & Outcome)
  | ({ readonly type: 'answer' } & Answer)
)

/** Clients in one process on the machine `client`. */
export class Callers {
  readonly #message$ = new Subject<Message>()
  readonly #child: ChildProcess
  readonly #ca: string
  #last = 0

  constructor({ client, caFile, ca }: Pick<Deployment, 'client' | 'caFile' | 'ca'>) {
    this.#ca = ca
    const argv = [process.execPath, join(__dirname, 'caller.mjs')]
    this.#child = client.start(argv, { ipc: true, env: { NODE_EXTRA_CA_CERTS: caFile } })
    let log = ''
    this.#child.stderr?.on('data', (bytes: Buffer) => (log += bytes.toString()))
    this.#child.on('message', (message) => this.#message$.next(message as Message))
    this.#child.once('close', () => this.#message$.error(new Error(`The program of the clients ended. ${log}`)))
  }

  start(token: string, { host, ...options }: CallOptions): Call {
    const [grpc, websocket] =
      host === undefined
        ? ['speech.example.com:444', 'wss://speech.example.com']
        : [`${host}:8444`, `wss://${host}:8443`]
    const id = this.#send({
      type: 'call',
      ca: this.#ca,
      token,
      url: options.over === 'grpc' ? grpc : websocket,
      ...options,
    })
    const call = {
      isStreaming: this.#first(id, 'streaming'),
      marked: this.#first(id, 'mark'),
      outcome: this.#first(id, 'outcome') as Promise<Message & Outcome>,
      finish: () => void this.#child.send({ id, type: 'finish' }),
    }
    // Only some of them are awaited; all of them fail with the program.
    for (const promise of [call.isStreaming, call.marked, call.outcome]) promise.catch(() => undefined)
    return call
  }

  /** Sends a form; the status is 0 if there is no answer. */
  async post(url: string, form: Readonly<Record<string, string>>): Promise<Answer> {
    return this.#first(this.#send({ type: 'post', url, form }), 'answer') as Promise<Message & Answer>
  }

  #first(id: number, type: Message['type']): Promise<Message> {
    return firstValueFrom(this.#message$.pipe(filter((message) => message.id === id && message.type === type)))
  }

  #send(job: object): number {
    this.#last += 1
    this.#child.send({ id: this.#last, ...job })
    return this.#last
  }
}

/** What must be equal however often something was lost: the words of each channel. */
export const wordsOf = ({ milestones }: Outcome): readonly (readonly string[])[] =>
  [0, 1].map((channel) => milestones.filter((one) => one.channel === channel).map(({ text }) => text.trim()))

/** How much later than in another run the latest milestone came after its first audio, in milliseconds. */
export const latenessMs = (outcome: Outcome, before: Outcome): number =>
  Math.max(
    ...[0, 1].flatMap((channel) => {
      const [own = [], others = []] = [outcome, before].map(({ milestones, startedMs }) =>
        milestones.filter((one) => one.channel === channel).map(({ atMs }) => atMs - startedMs),
      )
      return own.map((atMs, index) => atMs - (others[index] ?? atMs))
    }),
  )
