import {
  concat,
  defer,
  EMPTY,
  finalize,
  from,
  map,
  merge,
  mergeMap,
  NEVER,
  of,
  Subscription,
  tap,
  timer,
  type Observable,
  type SchedulerAction,
  type SchedulerLike,
} from 'rxjs'
import { isSpeechError, type SpeechError } from '../../src/errors/speech-error.js'
import type { LedgerEvent, SessionEvent } from '../../src/protocol/session-event.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import type { RecognizeOptions } from '../../src/client/recognizer/recognize-on.js'
import { dataflow, type DataflowOptions } from '../../src/client/dataflow/dataflow.js'
import { scriptedDial } from '../../src/testing/scripted-dial.js'
import type { DataflowMessage, Dial, SocketMessage } from '../../src/transport/link.js'
import type { MemoryLinkOptions } from '../../src/transport/memory/link.js'
import type { AudioFormat } from '../../src/audio/format.js'
import { marbles, type MarbleHelpers } from '../operators/marbles.js'

/** A millisecond is 16 bytes. */
export const format: AudioFormat = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 }
export const audio = (durationMs: number): Uint8Array => new Uint8Array(durationMs * 16)

/** The normal end of a link; a `SpeechError` ends it with its code. */
export const close = { end: 'good order' } as const

/** The response of a scripted service to one message: a delay in ms, then these messages. */
export type Answer<Message> = readonly [
  afterMs: number,
  ...recognizerMessage: readonly (Message | SpeechError | typeof close)[],
]
export type Answers<Message> = Readonly<Record<string, Answer<Message>>>

export const recognizerMessage = (name: string, fields: Readonly<Record<string, string>> = {}): string =>
  JSON.stringify({ 'message-name': name, ...fields })
export const ok = { 'operation-result': 'Success' }
export const response = (content: string): DataflowMessage => ({
  contentType: 3,
  content,
  binaryContent: new Uint8Array(0),
})
export const event = (content: string): DataflowMessage => ({ ...response(content), contentType: 1 })

/** A minimal service, which sends each response after `afterMs`. */
export const plainRecognizer = (afterMs: number): Answers<SocketMessage> => ({
  recognize: [afterMs, recognizerMessage('recognize-response', ok)],
  'finalize-recognition': [
    afterMs,
    recognizerMessage('finalize-recognition-response', ok),
    recognizerMessage('milestone-result', { text: 'hello' }),
    recognizerMessage('final-result', { ...ok, text: 'hello', confidence: '0.9' }),
  ],
  'stop-recognition': [afterMs, recognizerMessage('stop-recognition-response', ok)],
})

export const plainDataflow = (afterMs: number): Answers<DataflowMessage> => ({
  Start: [afterMs, response('{"operation-result":"success"}')],
  Finalize: [afterMs, response('{"MessageName":"FinalizeResponse","operation-result":"success"}'), close],
  Stop: [afterMs, response('{"MessageName":"StopResponse","operation-result":"success"}'), close],
  end: [afterMs, event('{"Name":"SR Final","Channel":0,"Data":{"Text":"hello"}}'), close],
})

/**
 * `20 audio 40`: at 20 ms, audio of 40 ms; otherwise the name of the message; `end`: the client has finished sending.
 */
const kindOf = (message: SocketMessage | DataflowMessage): string => {
  if (typeof message !== 'string' && 'contentType' in message && message.contentType === 2)
    return nameOf(message.content)
  if (typeof message === 'string') return nameOf(message)
  return `audio ${('contentType' in message ? message.binaryContent : message).length / 16}`
}
const nameOf = (json: string): string => {
  const { 'message-name': kebab, MessageName: pascal } = JSON.parse(json) as Record<string, string>
  return kebab ?? pascal ?? ''
}

export interface ScriptedServiceOptions<Message> extends MemoryLinkOptions {
  readonly connectMs?: number
  /** Stops reading after this number of messages. */
  readonly pauseAfter?: number
  readonly onMessage?: (message: Message) => unknown
}

export interface ScriptedService<Message> {
  readonly dial: () => Dial<Message, Message>
  /** The messages that the service received, with times. */
  readonly received: string[]
  /** How many connections were opened, and how many are still open. */
  readonly dials: { made: number; open: number }
}

/**
 * Receives and answers by name, the nth connection with the nth answers; audio by `audio`, the end of the stream by
 * `end`.
 */
export const scriptedService = <Message extends SocketMessage | DataflowMessage>(
  scheduler: SchedulerLike,
  answers: readonly [Answers<Message>, ...Answers<Message>[]],
  { connectMs = 0, pauseAfter, onMessage, ...link }: ScriptedServiceOptions<Message> = {},
): ScriptedService<Message> => {
  const received: string[] = []
  const dials = { made: 0, open: 0 }
  const startMs = scheduler.now()
  const note = (kind: string): void => void received.push(`${scheduler.now() - startMs} ${kind}`)
  const dial = scriptedDial<Message, Message>(({ received$, link: end }) => {
    const ofThis = answers[dials.made - 1] ?? answers.at(-1) ?? answers[0]
    const answer = (kind: string): Observable<Message> => {
      const [afterMs, ...parts] = ofThis[kind.split(' ')[0] ?? ''] ?? []
      if (afterMs === undefined) return EMPTY
      const message$ = from(parts).pipe(
        mergeMap((part) => {
          if (typeof part === 'object' && !('contentType' in part) && !ArrayBuffer.isView(part)) {
            end.close('code' in part ? part : undefined)
            return EMPTY
          }
          return of(part as Message)
        }),
      )
      return afterMs === 0 ? message$ : timer(afterMs, scheduler).pipe(mergeMap(() => message$))
    }
    let count = 0
    const look = (message: Message): void => {
      onMessage?.(message)
      count += 1
      if (count === pauseAfter) end.pause()
    }
    // The end of the incoming messages does not end the outgoing ones, so nothing completes here.
    return merge(
      NEVER,
      concat(received$.pipe(tap(look), map(kindOf)), of('end')).pipe(
        tap(note),
        mergeMap((kind) => answer(kind)),
      ),
    )
  }, link)
  const connected = (): Dial<Message, Message> =>
    defer(() => {
      dials.made += 1
      dials.open += 1
      return dial().pipe(finalize(() => (dials.open -= 1)))
    })
  return {
    dial: () => (connectMs === 0 ? connected() : timer(connectMs, scheduler).pipe(mergeMap(() => connected()))),
    received,
    dials,
  }
}

export const labelOf = (event: SessionEvent): string => {
  switch (event.type) {
    case 'connection':
      return event.state
    case 'resumed':
    case 'silent':
      return event.type
    case 'gap':
      return `gap ${event.fromMs}-${event.toMs} ${event.cause}${event.channel === undefined ? '' : ` on ${event.channel}`}`
    case 'response':
      return `response ${event.request} ${event.operationResult}`
    case 'partial':
    case 'milestone':
    case 'final':
      return `${event.type} ${event.text}${event.channel === undefined ? '' : ` on ${event.channel}`}`
    case 'event':
      return `event ${event.name}`
    case 'ledger':
      return `ledger ${event.capturedMs} = ${event.finalizedMs} + ${event.pendingMs} + ${event.replayedPendingMs} + ${event.droppedMs}`
    case 'audio':
      return `audio ${event.bytes.length}`
    case 'unknown':
      return `unknown ${event.raw}`
  }
}

/** Options of a session in virtual time, with the dial of a scripted service. */
export type Scripted<Options extends RecognizeOptions | DataflowOptions> = Partial<Options> &
  Pick<NonNullable<Options['testing']>, 'dial'>

export interface Tools extends MarbleHelpers {
  /** The virtual clock; counts timers that are neither done nor cancelled. */
  readonly clock: SchedulerLike & { readonly pending: () => number }
  /** Subscribes and logs the events with their times; `at` ms unsubscribes. */
  readonly watch: (session$: Observable<SessionEvent>, unsubscribeAtMs?: number) => Watched
  readonly recognizing: (options: Scripted<RecognizeOptions>) => ReturnType<typeof recognize>
  readonly flowing: (options: Scripted<DataflowOptions>) => ReturnType<typeof dataflow>
}

export interface Watched {
  readonly log: string[]
  /** The ledger events, separate from the log. */
  readonly ledger: LedgerEvent[]
  readonly subscription: Subscription
  error?: SpeechError
}

/** Runs sessions in virtual time, then checks them. */
export const virtually = (test: (tools: Tools) => () => void): void => {
  let look: (() => void) | undefined
  marbles((helpers) => {
    const clock = countingClock(helpers.scheduler)
    // Options for a session that does not resume; `resumption.test.ts` has the others.
    const base = { token: 'secret-token', format, resumption: false }
    look = test({
      ...helpers,
      clock,
      watch: (session$, unsubscribeAtMs) => watch(session$, helpers.scheduler, unsubscribeAtMs),
      recognizing: ({ dial, ...options }) => {
        const testing = { dial, random: () => 0.5, scheduler: clock }
        return recognize({ ...base, url: 'ws://localhost', model: 'm', testing, ...options })
      },
      flowing: ({ dial, ...options }) => {
        const testing = { dial, random: () => 0.5, scheduler: clock }
        return dataflow({ ...base, url: 'grpc://localhost:1', tenant: 't', project: 'p', testing, ...options })
      },
    })
  })
  look?.()
}

const watch = (session$: Observable<SessionEvent>, scheduler: SchedulerLike, unsubscribeAtMs?: number): Watched => {
  const startMs = scheduler.now()
  const watched: Watched = { log: [], ledger: [], subscription: new Subscription() }
  const note = (text: string): void => void watched.log.push(`${scheduler.now() - startMs} ${text}`)
  watched.subscription.add(
    session$.subscribe({
      next: (event) => {
        if (event.type === 'ledger') watched.ledger.push(event)
        else note(labelOf(event))
      },
      complete: () => note('complete'),
      error: (error: unknown) => {
        if (!isSpeechError(error)) throw error
        watched.error = error
        note(`error ${error.code}`)
      },
    }),
  )
  if (unsubscribeAtMs !== undefined) scheduler.schedule(() => watched.subscription.unsubscribe(), unsubscribeAtMs)
  return watched
}

const countingClock = (scheduler: SchedulerLike): Tools['clock'] => {
  const waiting = new Set<object>()
  function schedule<T>(work: (this: SchedulerAction<T>, value: T) => void, delay: number, state: T): Subscription
  function schedule<T>(work: (this: SchedulerAction<T>, value?: T) => void, delay?: number, state?: T): Subscription
  function schedule<T>(work: (this: SchedulerAction<T>, value: T) => void, delay = 0, state?: T): Subscription {
    const ticket = {}
    waiting.add(ticket)
    const subscription = scheduler.schedule<T>(
      function (item) {
        waiting.delete(ticket)
        work.call(this, item)
      },
      delay,
      state as T,
    )
    subscription.add(() => waiting.delete(ticket))
    return subscription
  }
  return { now: () => scheduler.now(), schedule, pending: () => waiting.size }
}
