import { concat, defer, EMPTY, finalize, from, map, merge, mergeMap, NEVER, of, Subscription, tap, timer } from 'rxjs'
import type { Observable, SchedulerAction, SchedulerLike } from 'rxjs'
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

/** The end of a link in good order; a `SpeechError` ends it as its code says. */
export const close = { end: 'good order' } as const

/** What a scripted service says to one message: after so many ms, these. */
export type Answer<Said> = readonly [afterMs: number, ...said: readonly (Said | SpeechError | typeof close)[]]
export type Answers<Said> = Readonly<Record<string, Answer<Said>>>

export const said = (name: string, fields: Readonly<Record<string, string>> = {}): string =>
  JSON.stringify({ 'message-name': name, ...fields })
export const ok = { 'operation-result': 'Success' }
export const response = (content: string): DataflowMessage => ({
  contentType: 3,
  content,
  binaryContent: new Uint8Array(0),
})
export const event = (content: string): DataflowMessage => ({ ...response(content), contentType: 1 })

/** A service of the description, `afterMs` late with each answer. */
export const plainRecognizer = (afterMs: number): Answers<SocketMessage> => ({
  recognize: [afterMs, said('recognize-response', ok)],
  'finalize-recognition': [
    afterMs,
    said('finalize-recognition-response', ok),
    said('milestone-result', { text: 'hello' }),
    said('final-result', { ...ok, text: 'hello', confidence: '0.9' }),
  ],
  'stop-recognition': [afterMs, said('stop-recognition-response', ok)],
})

export const plainDataflow = (afterMs: number): Answers<DataflowMessage> => ({
  Start: [afterMs, response('{"operation-result":"success"}')],
  Finalize: [afterMs, response('{"MessageName":"FinalizeResponse","operation-result":"success"}'), close],
  Stop: [afterMs, response('{"MessageName":"StopResponse","operation-result":"success"}'), close],
  end: [afterMs, event('{"Name":"SR Final","Channel":0,"Data":{"Text":"hello"}}'), close],
})

/** `20 audio 40`: at 20 ms, audio of 40 ms; else the name of the message; `end`: the client says nothing more. */
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

export interface ScriptedServiceOptions<Said> extends MemoryLinkOptions {
  readonly connectMs?: number
  /** Stops reading after so many messages. */
  readonly pauseAfter?: number
  readonly tapHeard?: (message: Said) => unknown
}

export interface ScriptedService<Said> {
  readonly dial: () => Dial<Said, Said>
  /** What the service heard, with times. */
  readonly heard: string[]
  /** How many connections were made, and how many are open. */
  readonly dials: { made: number; open: number }
}

/** Listens and answers by name, the nth connection by the nth answers; audio by `audio`, the end of the stream by `end`. */
export const scriptedService = <Said extends SocketMessage | DataflowMessage>(
  scheduler: SchedulerLike,
  answers: readonly [Answers<Said>, ...Answers<Said>[]],
  { connectMs = 0, pauseAfter, tapHeard, ...link }: ScriptedServiceOptions<Said> = {},
): ScriptedService<Said> => {
  const heard: string[] = []
  const dials = { made: 0, open: 0 }
  const startMs = scheduler.now()
  const note = (kind: string): void => void heard.push(`${scheduler.now() - startMs} ${kind}`)
  const dial = scriptedDial<Said, Said>(({ heard$, link: end }) => {
    const ofThis = answers[dials.made - 1] ?? answers.at(-1) ?? answers[0]
    const say = (kind: string): Observable<Said> => {
      const [afterMs, ...parts] = ofThis[kind.split(' ')[0] ?? ''] ?? []
      if (afterMs === undefined) return EMPTY
      const said$ = from(parts).pipe(
        mergeMap((part) => {
          if (typeof part === 'object' && !('contentType' in part) && !ArrayBuffer.isView(part)) {
            end.close('code' in part ? part : undefined)
            return EMPTY
          }
          return of(part as Said)
        }),
      )
      return afterMs === 0 ? said$ : timer(afterMs, scheduler).pipe(mergeMap(() => said$))
    }
    let count = 0
    const look = (message: Said): void => {
      tapHeard?.(message)
      count += 1
      if (count === pauseAfter) end.pause()
    }
    // The end of what is heard is no reason to end what is said, so nothing completes here.
    return merge(
      NEVER,
      concat(heard$.pipe(tap(look), map(kindOf)), of('end')).pipe(
        tap(note),
        mergeMap((kind) => say(kind)),
      ),
    )
  }, link)
  const connected = (): Dial<Said, Said> =>
    defer(() => {
      dials.made += 1
      dials.open += 1
      return dial().pipe(finalize(() => (dials.open -= 1)))
    })
  return {
    dial: () => (connectMs === 0 ? connected() : timer(connectMs, scheduler).pipe(mergeMap(() => connected()))),
    heard,
    dials,
  }
}

export const labelOf = (one: SessionEvent): string => {
  switch (one.type) {
    case 'connection':
      return one.state
    case 'resumed':
    case 'silent':
      return one.type
    case 'gap':
      return `gap ${one.fromMs}-${one.toMs} ${one.cause}${one.channel === undefined ? '' : ` on ${one.channel}`}`
    case 'response':
      return `response ${one.request} ${one.operationResult}`
    case 'partial':
    case 'milestone':
    case 'final':
      return `${one.type} ${one.text}${one.channel === undefined ? '' : ` on ${one.channel}`}`
    case 'event':
      return `event ${one.name}`
    case 'ledger':
      return `ledger ${one.capturedMs} = ${one.finalizedMs} + ${one.pendingMs} + ${one.replayedPendingMs} + ${one.droppedMs}`
    case 'audio':
      return `audio ${one.bytes.length}`
    case 'unknown':
      return `unknown ${one.raw}`
  }
}

/** Options of a session in virtual time, with the dial of a scripted service. */
export type Scripted<Options extends RecognizeOptions | DataflowOptions> = Partial<Options> &
  Pick<NonNullable<Options['testing']>, 'dial'>

export interface Tools extends MarbleHelpers {
  /** The virtual clock; counts what is scheduled and neither done nor cancelled. */
  readonly clock: SchedulerLike & { readonly pending: () => number }
  /** Subscribes and writes down what happens, with times; `at` ms unsubscribes. */
  readonly watch: (session$: Observable<SessionEvent>, unsubscribeAtMs?: number) => Watched
  readonly recognizing: (options: Scripted<RecognizeOptions>) => ReturnType<typeof recognize>
  readonly flowing: (options: Scripted<DataflowOptions>) => ReturnType<typeof dataflow>
}

export interface Watched {
  readonly log: string[]
  /** The accounts, which stand apart from the log. */
  readonly ledger: LedgerEvent[]
  readonly subscription: Subscription
  error?: SpeechError
}

/** Runs sessions in virtual time, then looks at them. */
export const virtually = (test: (tools: Tools) => () => void): void => {
  let look: (() => void) | undefined
  marbles((helpers) => {
    const clock = countingClock(helpers.scheduler)
    // What it is to lose the one connection; `resumption.test.ts` has the rest.
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
      next: (one) => {
        if (one.type === 'ledger') watched.ledger.push(one)
        else note(labelOf(one))
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
  function schedule<T>(work: (this: SchedulerAction<T>, one: T) => void, delay: number, state: T): Subscription
  function schedule<T>(work: (this: SchedulerAction<T>, one?: T) => void, delay?: number, state?: T): Subscription
  function schedule<T>(work: (this: SchedulerAction<T>, one: T) => void, delay = 0, state?: T): Subscription {
    const ticket = {}
    waiting.add(ticket)
    const subscription = scheduler.schedule<T>(
      function (one) {
        waiting.delete(ticket)
        work.call(this, one)
      },
      delay,
      state as T,
    )
    subscription.add(() => waiting.delete(ticket))
    return subscription
  }
  return { now: () => scheduler.now(), schedule, pending: () => waiting.size }
}
