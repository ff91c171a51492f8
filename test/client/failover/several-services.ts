import { concatMap, defer, delay, from, map, mergeMap, NEVER, of, tap, throwError, timer, type Observable } from 'rxjs'
import { isSpeechError, SpeechError } from '../../../src/errors/speech-error.js'
import { failover, type FailoverOptions } from '../../../src/client/failover/failover.js'
import type { ResumptionOptions, SessionOptions } from '../../../src/client/options.js'
import type { Recognition } from '../../../src/client/session.js'
import type { LedgerEvent, SessionEvent } from '../../../src/protocol/session-event.js'
import type { DataflowMessage, Dial, Link, SocketMessage } from '../../../src/transport/link.js'
import { chunkMs, chunkOf, wordOf } from '../fake-recognition.js'
import { fakeDataflow, fakeRecognizer, type Behaviour, type FakeService } from '../fake-service.js'
import type { Tools } from '../virtual-session.js'

export const resumption = { firstDelayMs: 100, maxDelayMs: 2_000, budgetMs: 60_000 }

/** One service of a list, and what is wrong with it. */
export interface ServiceSetting extends Omit<Behaviour, 'link'> {
  readonly over?: 'websocket' | 'grpc'
  /** Refuses connections with this error, until this time of the test. */
  readonly refuses?: { readonly with: SpeechError; readonly untilMs?: number }
  /** Connections never open. */
  readonly isUnreachable?: boolean
  /** Results of messages from this time on are late. */
  readonly late?: { readonly fromMs: number; readonly byMs: number; readonly untilMs?: number }
  /** The first connection announces its end at this time. */
  readonly leavesAtMs?: number
  /** The link is congested from this time on, and takes no audio. */
  readonly congestedFromMs?: number
  readonly options?: Partial<SessionOptions>
}

export interface TestService {
  readonly recognition: Recognition
  readonly proof: Omit<FakeService<unknown>, 'dial'>
  /** When connections were attempted, and how many are open. */
  readonly dialedAtMs: number[]
  open: number
}

/** Services in virtual time that recognize chunks as words (`fake-service.ts`). */
export const servicesOf = (
  { clock, recognizing, flowing }: Tools,
  settings: readonly ServiceSetting[],
  more: Partial<ResumptionOptions> = {},
): readonly TestService[] => {
  const startMs = clock.now()
  const nowMs = (): number => clock.now() - startMs
  const disturbed = <Message>(
    dial: () => Dial<Message, Message>,
    setting: ServiceSetting,
    service: Pick<TestService, 'dialedAtMs' | 'open'>,
  ): Dial<Message, Message> =>
    defer(() => {
      service.dialedAtMs.push(nowMs())
      const isFirst = service.dialedAtMs.length === 1
      const { refuses, isUnreachable, leavesAtMs } = setting
      if (isUnreachable === true) return NEVER
      if (refuses !== undefined && nowMs() < (refuses.untilMs ?? Infinity)) return throwError(() => refuses.with)
      service.open += 1
      return dial().pipe(
        tap((link) => {
          makeLate(link, setting)
          if (leavesAtMs !== undefined && isFirst) {
            Object.defineProperty(link, 'leaving$', { value: timer(leavesAtMs - nowMs(), clock) })
          }
          if (setting.congestedFromMs !== undefined) {
            const fromMs = setting.congestedFromMs
            Object.defineProperty(link, 'isCongested', { get: () => nowMs() >= fromMs })
            Object.defineProperty(link, 'drain$', { value: NEVER })
          }
        }),
        tap({ finalize: () => (service.open -= 1) }),
      )
    })
  const makeLate = <Message>(link: Link<Message, Message>, { late }: ServiceSetting): void => {
    if (late === undefined) return
    const { fromMs, byMs, untilMs = Infinity } = late
    const late$ = link.incoming$.pipe(
      mergeMap((message) => {
        const isLate = nowMs() >= fromMs && nowMs() < untilMs
        return isLate ? of(message).pipe(delay(byMs, clock)) : of(message)
      }),
    )
    Object.defineProperty(link, 'incoming$', { value: late$ })
  }
  return settings.map((setting) => {
    const service = { dialedAtMs: [] as number[], open: 0 }
    const options = { resumption: { ...resumption, ...more }, ...setting.options }
    if (setting.over === 'grpc') {
      const { dial, ...proof } = fakeDataflow(clock, { answerMs: 1, ...setting })
      const recognition = flowing({
        dial: () => disturbed<DataflowMessage>(dial, setting, service),
        finalizeBy: 'request',
        ...options,
      })
      return Object.assign(service, { proof, recognition })
    }
    const { dial, ...proof } = fakeRecognizer(clock, { answerMs: 1, ...setting })
    const recognition = recognizing({ dial: () => disturbed<SocketMessage>(dial, setting, service), ...options })
    return Object.assign(service, { proof, recognition })
  })
}

export interface Seen {
  /** What happened to connections, with times. */
  readonly log: string[]
  readonly events: SessionEvent[]
  end: string | undefined
}

/** Chunks as a microphone delivers them. */
export const spoken = ({ clock }: Tools, count: number): Observable<Uint8Array> =>
  from(Array.from({ length: count }, (_none, index) => index)).pipe(
    concatMap((index) => timer(chunkMs, clock).pipe(map(() => chunkOf(index)))),
  )

/** `0 at 1`: the state, and the service that it names. */
const labelOf = (event: SessionEvent): string | undefined => {
  if (event.type === 'resumed') return 'resumed'
  if (event.type === 'gap') return `gap ${event.fromMs}-${event.toMs} ${event.cause}`
  if (event.type !== 'connection') return undefined
  if (event.state === 'reconnecting') return `reconnecting in ${event.delayMs} for ${event.cause}`
  return ['authorizing', 'connecting', 'starting', 'finalizing', 'done'].includes(event.state)
    ? undefined
    : event.state + (event.service === undefined ? '' : ` at ${event.service}`)
}

/** Runs a session and logs it. */
export const watch = (
  { clock }: Tools,
  session$: Observable<SessionEvent>,
): Seen & { readonly unsubscribe: () => void } => {
  const startMs = clock.now()
  const seen: Seen = { log: [], events: [], end: undefined }
  const subscription = session$.subscribe({
    next: (event) => {
      seen.events.push(event)
      const label = labelOf(event)
      if (label !== undefined) seen.log.push(`${clock.now() - startMs} ${label}`)
    },
    error: (error: unknown) => {
      seen.end = isSpeechError(error) ? error.code : 'untyped'
      seen.log.push(`${clock.now() - startMs} error ${seen.end}`)
    },
    complete: () => (seen.end = 'complete'),
  })
  return Object.assign(seen, { unsubscribe: () => subscription.unsubscribe() })
}

/** A session of `count` chunks over these services. */
export const run = (
  tools: Tools,
  settings: readonly ServiceSetting[],
  {
    count = 100,
    resumption: more,
    ...options
  }: FailoverOptions & { count?: number; resumption?: Partial<ResumptionOptions> } = {},
) => {
  const services = servicesOf(tools, settings, more)
  const recognition = failover(
    services.map((service) => service.recognition),
    options,
  )
  return { services, recognition, seen: watch(tools, spoken(tools, count).pipe(recognition)) }
}

export const wordsOf = (count: number): string =>
  Array.from({ length: count }, (_none, index) => wordOf(0, index)).join(' ')

export const textOf = ({ events }: Seen): string =>
  events.map((event) => (event.type === 'milestone' ? event.text : '')).join('')

export const lastLedger = ({ events }: Seen): LedgerEvent | undefined =>
  events.filter((event) => event.type === 'ledger').at(-1)

/** The last ledger of a session whose words all arrived. */
export const wholeLedger = (count: number): Partial<LedgerEvent> => {
  const durationMs = count * chunkMs
  return { capturedMs: durationMs, finalizedMs: durationMs, pendingMs: 0, replayedPendingMs: 0, droppedMs: 0 }
}

export const refused = new SpeechError('connection-failed', 'Refused.')
