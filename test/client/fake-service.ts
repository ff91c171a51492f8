import {
  concat,
  defer,
  EMPTY,
  merge,
  mergeMap,
  NEVER,
  of,
  Subject,
  throwError,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import { SpeechError } from '../../src/errors/speech-error.js'
import { scriptedDial } from '../../src/testing/scripted-dial.js'
import type { DataflowMessage, Dial, SocketMessage } from '../../src/transport/link.js'
import type { MemoryLinkOptions } from '../../src/transport/memory/link.js'
import { chunkMs, FakeRecognition, type FakeResult, type Milestones } from './fake-recognition.js'
import { dataflowWire, recognizerWire, type FakeWire } from './fake-wires.js'

/** How a connection ends early. */
export interface Break {
  readonly afterChunks: number
  /** With an unrequested final, this long before. */
  readonly finalBeforeMs?: number
  /** Whether that final has an error. */
  readonly finalError?: boolean
  /** The results of the same message are sent before it. */
  readonly sendsResults?: boolean
  /** `undefined`: closed normally. */
  readonly cause?: SpeechError | undefined
}

/** What a fake service does. Without any of these it answers at once and ends no recognition by itself. */
export interface Behaviour extends Milestones {
  /** @default 1 */
  readonly channels?: 1 | 2
  /** Whether its results have times. @default true */
  readonly timed?: boolean
  /** Whether finals say how far the audio was read. @default false */
  readonly heard?: boolean
  /** The delay of each answer. @default 0 */
  readonly answerMs?: number
  /** The delay of milestones, by channel; with it, finals follow 1 ms after the last milestone. */
  readonly lateMs?: readonly [number, number]
  /** Whether words without a milestone are in the final only. @default false */
  readonly restInFinal?: boolean
  /** Sends each final twice. @default false */
  readonly finalsTwice?: boolean

  /** How long the nth connection takes to answer its start; Infinity rejects it. @default answerMs */
  readonly startMs?: (nth: number) => number
  /** How long the nth connection stops reading after its first five chunks. */
  readonly deafMs?: readonly number[]
  readonly breaks?: readonly Break[]
  /** The nth connection breaks after this number of chunks. */
  readonly cutAfterChunks?: readonly number[]
  /** The error of a break of `cutAfterChunks` and `cutAt`. @default connection-lost */
  readonly cause?: SpeechError
  /** Breaks the first connection at this point of the conversation. */
  readonly cutAt?: 'start' | 'finalize' | 'final'
  /** The time after a break during which no connection is accepted. */
  readonly outageMs?: number

  /** Silence of this length ends a recognition. @default Infinity */
  readonly gracefulMs?: number
  /** This time without audio ends a recognition. @default never */
  readonly idleMs?: number
  /** The nth recognition ends after this number of chunks. */
  readonly endsAfterChunks?: readonly number[]
  /** The delay after an unrequested final until the service closes the connection. @default never */
  readonly closesAfterMs?: number
  readonly link?: MemoryLinkOptions
}

export interface FakeService<Message> {
  readonly dial: () => Dial<Message, Message>
  /** The words that arrived on each connection, on its first channel. */
  readonly arrived: readonly number[][]
  /** The words that arrived on any connection, by channel; a socket has one. */
  readonly words: readonly ReadonlySet<number>[]
  readonly counts: { connections: number; refused: number; recognitions: number }
}

export const fakeRecognizer = (scheduler: SchedulerLike, behaviour: Behaviour): FakeService<SocketMessage> =>
  fakeService(recognizerWire, scheduler, behaviour, 1)

export const fakeDataflow = (scheduler: SchedulerLike, behaviour: Behaviour): FakeService<DataflowMessage> =>
  fakeService(dataflowWire, scheduler, behaviour, behaviour.channels ?? 1)

const fakeService = <Message>(
  wire: FakeWire<Message>,
  scheduler: SchedulerLike,
  behaviour: Behaviour,
  channels: 1 | 2,
): FakeService<Message> => {
  const { timed = true, heard = false, answerMs = 0, cutAfterChunks = [], cutAt } = behaviour
  const { cause: cut = new SpeechError('connection-lost', 'Cut.') } = behaviour
  const breaks = behaviour.breaks ?? cutAfterChunks.map((afterChunks): Break => ({ afterChunks, cause: cut }))
  const arrived: number[][] = []
  const words = Array.from({ length: channels }, () => new Set<number>())
  const counts = { connections: 0, refused: 0, recognitions: 0 }
  let closedUntilMs = 0
  const after = (delayMs: number, message$: Observable<Message>): Observable<Message> =>
    delayMs === 0 ? message$ : timer(delayMs, scheduler).pipe(mergeMap(() => message$))

  const dial = scriptedDial<Message, Message>(({ received$, link }) => {
    const nth = counts.connections++
    const own: number[] = []
    arrived.push(own)
    const broken = breaks[nth]
    const lateMs = broken?.finalBeforeMs === undefined ? (behaviour.lateMs ?? [0, 0]) : [0, 0]
    const unasked$ = new Subject<Message>()
    let running: FakeRecognition | undefined
    let count = 0
    let limit = Infinity
    let isBroken = false
    let idle = { unsubscribe: (): void => undefined }

    const breakNow = (cause: SpeechError | undefined): Observable<never> => {
      isBroken = true
      idle.unsubscribe()
      closedUntilMs = scheduler.now() + (behaviour.outageMs ?? 0)
      link.close(cause)
      return EMPTY
    }
    const resultOf = (result: FakeResult): Message => wire.result(timed ? result : { ...result, times: undefined })
    const endOf = (recognition: FakeRecognition, error: boolean): Message[] => {
      running = undefined
      idle.unsubscribe()
      const rest = behaviour.restInFinal === true ? [] : recognition.rest().map(resultOf)
      const heardMs = heard ? recognition.receivedMs : undefined
      const finals = recognition
        .finals()
        .map(({ channel, text, times }) =>
          wire.final({ channel, text, times: timed ? times : undefined, heardMs, error }),
        )
      return [...rest, ...finals, ...(behaviour.finalsTwice === true ? finals : [])]
    }
    const closed$ = (afterMs: number | undefined): Observable<never> => {
      if (afterMs === undefined) return EMPTY
      return (afterMs === 0 ? of(0) : timer(afterMs, scheduler)).pipe(mergeMap(() => (link.close(), EMPTY)))
    }
    const finish = (recognition: FakeRecognition): Observable<Message> => {
      running = undefined
      idle.unsubscribe()
      return after(
        behaviour.lateMs === undefined ? 0 : Math.max(...lateMs) + 1,
        defer(() => concat(of(...endOf(recognition, false)), closed$(wire.endsLink ? 0 : undefined))),
      )
    }
    const endUnasked = (recognition: FakeRecognition): Observable<Message> =>
      concat(of(...endOf(recognition, false)), closed$(wire.endsLink ? 0 : behaviour.closesAfterMs))
    const watchIdle = (recognition: FakeRecognition): void => {
      idle.unsubscribe()
      if (behaviour.idleMs === undefined) return
      const end = (): unknown => endUnasked(recognition).subscribe((message) => unasked$.next(message))
      idle = scheduler.schedule(end, behaviour.idleMs)
    }
    const send = (found: readonly FakeResult[]): Observable<Message> =>
      merge(
        ...found.map((result) => {
          const ownLateMs = result.kind === 'milestone' ? (lateMs[result.channel] ?? 0) : 0
          return after(
            answerMs + ownLateMs,
            defer(() => (isBroken && ownLateMs > 0 ? EMPTY : of(resultOf(result)))),
          )
        }),
      )
    const breakIn = (recognition: FakeRecognition, found: readonly FakeResult[], how: Break): Observable<Message> => {
      const { finalBeforeMs, finalError = false, sendsResults = false, cause } = how
      if (finalBeforeMs === undefined) {
        return concat(
          sendsResults ? of(...found.map(resultOf)) : EMPTY,
          defer(() => breakNow(cause)),
        )
      }
      isBroken = true
      const messages = [...found.map(resultOf), ...endOf(recognition, finalError)]
      return concat(of(...messages), timer(finalBeforeMs, scheduler).pipe(mergeMap(() => breakNow(cause))))
    }
    const pauseReading = (): void => {
      const deafMs = behaviour.deafMs?.[nth] ?? 0
      if (deafMs === 0) return
      link.pause()
      scheduler.schedule(() => link.resume(), deafMs)
    }
    const receive = (recognition: FakeRecognition, bytes: Uint8Array): Observable<Message> => {
      watchIdle(recognition)
      const found: FakeResult[] = []
      for (const spoken of recognition.chunksIn(bytes)) {
        count += 1
        if (count === 5) pauseReading()
        for (const [channel, word] of spoken.entries()) if (word !== undefined) words[channel]?.add(word)
        if (spoken[0] !== undefined) own.push(spoken[0])
        found.push(...recognition.receive(spoken))
        if (broken !== undefined && count >= broken.afterChunks) return breakIn(recognition, found, broken)
        if (recognition.silentMs >= (behaviour.gracefulMs ?? Infinity) || recognition.receivedMs >= limit) {
          return concat(send(found), endUnasked(recognition))
        }
      }
      return send([...found, ...recognition.partials()])
    }
    const answer = (message: Message): Observable<Message> => {
      if (isBroken) return EMPTY
      switch (wire.request(message)) {
        case 'start': {
          if (cutAt === 'start' && nth === 0) return breakNow(cut)
          limit = (behaviour.endsAfterChunks?.[counts.recognitions] ?? Infinity) * chunkMs
          counts.recognitions += 1
          running = new FakeRecognition(channels, behaviour)
          watchIdle(running)
          const startMs = behaviour.startMs?.(nth) ?? answerMs
          const isRefused = startMs === Infinity
          return after(isRefused ? 1 : startMs, of(wire.started(isRefused)))
        }
        case 'finalize': {
          if (running === undefined) return of(wire.finalizing(true))
          if (nth > 0 || (cutAt !== 'finalize' && cutAt !== 'final'))
            return after(answerMs, concat(of(wire.finalizing(false)), finish(running)))
          const rest = cutAt === 'final' ? running.rest().map(resultOf) : []
          return after(
            cutAt === 'final' ? answerMs : 0,
            concat(
              of(...rest),
              defer(() => breakNow(cut)),
            ),
          )
        }
        case 'stop':
          return after(answerMs, concat(of(wire.stopped), closed$(wire.endsLink ? 0 : undefined)))
        case undefined:
          return running === undefined ? EMPTY : receive(running, wire.audio(message))
        default:
          return EMPTY
      }
    }
    const halfClose$ = wire.endsLink
      ? defer(() => (running === undefined || isBroken ? EMPTY : finish(running)))
      : EMPTY
    return merge(NEVER, unasked$, concat(received$.pipe(mergeMap(answer)), halfClose$))
  }, behaviour.link)

  return {
    arrived,
    words,
    counts,
    dial: () => {
      if (scheduler.now() >= closedUntilMs) return dial()
      counts.refused += 1
      return throwError(() => new SpeechError('connection-failed', 'Refused.'))
    },
  }
}
