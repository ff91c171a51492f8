import type { Socket } from 'node:net'
import { either } from 'fp-ts'
import type { Any, TypeOf } from 'io-ts'
import { type ErrorCode, isErrorCode } from 'rxspeech/internal/errors/error-table'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import {
  anything,
  codec,
  type Codec,
  eitherOf,
  flag,
  issuesOf,
  issueText,
  isText,
  number,
  oneOf,
  optionsCodec,
  optionsOf,
  text,
  wholeNumber,
} from 'rxspeech/internal/protocol/validation'

/** The questions that a process answers, and the notices that it receives. Messages are decoded before a handler. */
export interface Protocol {
  readonly questions: Readonly<Record<string, { readonly question: Any; readonly answer: Any }>>
  readonly notices: Readonly<Record<string, Any>>
}

type Questions<P extends Protocol> = P['questions']
type Notices<P extends Protocol> = P['notices']
type QuestionOf<P extends Protocol, K extends keyof Questions<P>> = TypeOf<Questions<P>[K]['question']>
type AnswerOf<P extends Protocol, K extends keyof Questions<P>> = TypeOf<Questions<P>[K]['answer']>
type NoticeOf<P extends Protocol, K extends keyof Notices<P>> = TypeOf<Notices<P>[K]>

export interface Handlers<P extends Protocol> {
  readonly questions: {
    readonly [K in keyof Questions<P>]: (question: QuestionOf<P, K>) => Promise<AnswerOf<P, K>>
  }
  /** `socket`: the connection that came with the notice, if it was still open. */
  readonly notices: {
    readonly [K in keyof Notices<P>]: (notice: NoticeOf<P, K>, socket: Socket | undefined) => void
  }
}

/** An error as it is sent between processes. */
export interface SentError {
  readonly code: ErrorCode
  readonly message: string
  readonly retryable?: boolean | undefined
  readonly retryAfterMs?: number | undefined
  /** Of the operator's metrics, such as why a token was refused. */
  readonly reason?: string | undefined
}

export const sentError: Codec<SentError> = optionsOf<SentError>()(
  { code: codec('an error code', (value): value is ErrorCode => isText(value) && isErrorCode(value)), message: text },
  { retryable: flag, retryAfterMs: number(), reason: text },
)

export const toSentError = (error: unknown): SentError => {
  if (!isSpeechError(error))
    return { code: 'internal', message: error instanceof Error ? error.message : String(error) }
  const { code, message, retryable, retryAfterMs, cause } = error
  return { code, message, retryable, retryAfterMs, ...(isText(cause) && { reason: cause }) }
}

export const fromSentError = ({ code, message, reason, ...options }: SentError): SpeechError =>
  new SpeechError(code, message, { ...options, cause: reason })

const id = wholeNumber({ min: 0 })
const envelope = eitherOf(
  optionsCodec({ type: oneOf('question', 'notice'), kind: text, body: anything }, { id }),
  optionsCodec({ type: oneOf('answer'), id }, { body: anything, error: sentError }),
)

/** Sends one message or several, and the socket of a connection with it. */
export type Send = (message: object, socket?: Socket) => void

interface Asked {
  readonly answer: Any
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Questions, answers and notices between two processes, in the order in which they are sent. An answer to a process
 * that has ended never comes; `close` rejects the questions that wait for one.
 */
export class Channel<Local extends Protocol, Remote extends Protocol> {
  readonly #local: Local
  readonly #remote: Remote
  readonly #send: Send
  readonly #onFault: (error: unknown) => void
  readonly #asked = new Map<number, Asked>()
  #handlers: Handlers<Local> | undefined
  readonly #gatherMs: number
  #gathered: object[] = []
  #gathering: ReturnType<typeof setTimeout> | undefined
  #lastId = 0
  #isClosed = false

  /**
   * @param protocols `local`: what this process answers; `remote`: what the other one answers.
   * @param gatherMs how long a notice may wait for others, to be sent with them: most of the cost of a message is its
   * system call; default: not at all
   */
  constructor(
    { local, remote }: { readonly local: Local; readonly remote: Remote },
    send: Send,
    onFault: (error: unknown) => void,
    gatherMs = 0,
  ) {
    this.#local = local
    this.#remote = remote
    this.#send = send
    this.#onFault = onFault
    this.#gatherMs = gatherMs
  }

  handle(handlers: Handlers<Local>): void {
    this.#handlers = handlers
  }

  /** Rejects with the error of the other process, or with `internal` when the channel is closed. */
  ask<K extends keyof Questions<Remote> & string>(
    kind: K,
    question: QuestionOf<Remote, K>,
  ): Promise<AnswerOf<Remote, K>> {
    const answer = this.#remote.questions[kind]?.answer
    if (this.#isClosed || answer === undefined) return Promise.reject(closed())
    this.#lastId += 1
    const asked = this.#lastId
    return new Promise<AnswerOf<Remote, K>>((resolve, reject) => {
      this.#asked.set(asked, { answer, resolve, reject })
      this.flush()
      this.#send({ type: 'question', kind, id: asked, body: question })
    })
  }

  tell<K extends keyof Notices<Remote> & string>(kind: K, notice: NoticeOf<Remote, K>, socket?: Socket): void {
    if (this.#isClosed) return
    const message = { type: 'notice', kind, body: notice }
    if (socket !== undefined || this.#gatherMs === 0) this.#send(message, socket)
    else {
      this.#gathered.push(message)
      this.#gathering ??= setTimeout(() => this.flush(), this.#gatherMs)
    }
  }

  /** Sends the notices that wait; notices and questions are sent in the order in which they were made. */
  flush(): void {
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    const messages = this.#gathered
    this.#gathered = []
    if (messages.length > 0 && !this.#isClosed) this.#send(messages)
  }

  /** What the other process has sent. A malformed message is reported as a fault and otherwise ignored. */
  receive(received: unknown, socket?: Socket): void {
    if (Array.isArray(received)) for (const message of received) this.#receive(message)
    else this.#receive(received, socket)
  }

  #receive(message: unknown, socket?: Socket): void {
    try {
      const sent = decode(envelope, message, 'The message')
      if (sent.type === 'answer') this.#settle(sent.id, sent)
      else if (sent.type === 'question') void this.#answer(sent.kind, sent.id ?? 0, sent.body)
      else this.#notice(sent.kind, sent.body, socket)
    } catch (error) {
      socket?.destroy()
      this.#onFault(error)
    }
  }

  close(): void {
    this.#isClosed = true
    this.flush()
    for (const { reject } of this.#asked.values()) reject(closed())
    this.#asked.clear()
  }

  #settle(asked: number, { body, error }: { readonly body?: unknown; readonly error?: SentError | undefined }): void {
    const question = this.#asked.get(asked)
    this.#asked.delete(asked)
    if (question === undefined) return
    if (error !== undefined) {
      question.reject(fromSentError(error))
      return
    }
    try {
      question.resolve(decode(question.answer, body, 'The answer'))
    } catch (fault) {
      question.reject(fault)
    }
  }

  async #answer(kind: string, asked: number, body: unknown): Promise<void> {
    try {
      const handler = this.#handlers?.questions[kind]
      const question = this.#local.questions[kind]?.question
      if (handler === undefined || question === undefined) throw unknownKind(kind)
      const answer: unknown = await handler(decode<QuestionOf<Local, string>>(question, body, kind))
      this.#reply({ type: 'answer', id: asked, body: answer })
    } catch (error) {
      if (!isSpeechError(error)) this.#onFault(error)
      this.#reply({ type: 'answer', id: asked, error: toSentError(error) })
    }
  }

  #reply(answer: object): void {
    this.flush()
    if (!this.#isClosed) this.#send(answer)
  }

  #notice(kind: string, body: unknown, socket: Socket | undefined): void {
    const handler = this.#handlers?.notices[kind]
    const notice = this.#local.notices[kind]
    if (handler === undefined || notice === undefined) throw unknownKind(kind)
    handler(decode<NoticeOf<Local, string>>(notice, body, kind), socket)
  }
}

const decode = <A>(expected: Codec<A>, value: unknown, subject: string): A => {
  const decoded = expected.decode(value)
  if (either.isRight(decoded)) return decoded.right
  const [issue] = issuesOf(decoded.left)
  throw new SpeechError(
    'internal',
    `A message between processes: ${issue === undefined ? subject : issueText(issue, subject)}`,
  )
}

const unknownKind = (kind: string): SpeechError =>
  new SpeechError('internal', `A message between processes has the unknown kind ${JSON.stringify(kind)}.`)

const closed = (): SpeechError => new SpeechError('internal', 'The other process has ended.')
