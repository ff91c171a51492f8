import {
  asyncScheduler,
  interval,
  Subject,
  Subscription,
  take,
  throttleTime,
  timer,
  type SchedulerLike,
  type Unsubscribable,
} from 'rxjs'
import type { Engine, SegmentAttempt } from 'rxspeech-engines/engine'
import type { EngineWork } from 'rxspeech-engines/lag'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import { beginRemoteSpan } from 'rxspeech-server/monitor/remote-span'
import { processIdentity } from 'rxspeech-server/operations/process-identity'
import { schedule } from 'rxspeech/internal/kernel/timers'
import { engineParameters, pickParameters } from 'rxspeech/internal/protocol/recognition-parameters'
import { type OpenTelemetry, type SpanOptions, type TraceSpan } from 'rxspeech/internal/tracing/open-telemetry'
import { reportRefused, tooLarge, type BusMessage, type MessageBus } from '../connection/bus.js'
import type { AttemptReport } from './attempt-report.js'
import { HostedSegment } from './hosted-segment.js'
import {
  aliveSubject,
  createAddress,
  decodeRequest,
  encodeJson,
  decodeSamples,
  edgeOfAttempt,
  engineSubject,
  goneSubject,
  isAttemptSubject,
  loggedSession,
  isLaterRequest,
  maxPlaces,
  modelsSubject,
  numberOf,
  phrasesVersion,
  protocolVersion,
  whoSubject,
  type AdvertisedModel,
  type EngineAdvert,
  type EngineAnswer,
  type EngineRequest,
  type ProcessAddress,
} from './protocol.js'

const tickMs = 100
/** While segments are open, and after a change. */
const advertMs = 250
/** Otherwise. One of them may be lost before services count this process as lost. */
const idleAdvertMs = 400

const idle = (): EngineWork => ({ lagMs: 0, progress: 0 })

/** A model that this process serves, with its engine. */
export interface ServedModel {
  readonly advert: AdvertisedModel
  readonly engine: Engine
}

export interface EngineHostOptions {
  readonly bus: MessageBus
  readonly models: readonly ServedModel[]
  /** How many segments it recognizes at the same time. */
  readonly capacity: number
  /** The name of this process in the subjects of its messages. @default that of the host */
  readonly name?: string | undefined
  /** The number of this run. @default a random one */
  readonly instance?: string | undefined
  /** @default none */
  readonly region?: string | undefined
  /** Called with failures of engines, with the attempt at a segment, and with what the server does not allow. */
  readonly onFault: (error: unknown, attempt?: SegmentAttempt) => void
  /** Called with attempts that begin, and with those that end without a result or a fault. @default nothing */
  readonly onAttempt?: ((report: AttemptReport) => void) | undefined
  /** What its engines report of their work. @default nothing: it counts as never behind */
  readonly work?: (() => EngineWork) | undefined
  /** Records attempts to recognize segments as spans. @default nothing is traced */
  readonly openTelemetry?: OpenTelemetry | undefined
  /** @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

/** A place of a segment, by the attempt that has it. */
interface Place {
  readonly number: number
  readonly segment: HostedSegment
}

/** Serves the engines of this process to the edges of a bus. It alone decides about its places. */
export class EngineHost {
  readonly address: ProcessAddress
  readonly #options: EngineHostOptions
  #models: ReadonlyMap<string, ServedModel>
  #capacity: number
  readonly #scheduler: SchedulerLike
  readonly #subscription = new Subscription()
  /** By the subject of the answers, which is that of an attempt. */
  readonly #places = new Map<string, Place>()
  readonly #replyOfPlace = new Map<number, string>()
  readonly #empty$ = new Subject<void>()
  #startedAtMs: number
  #lastPlace = 0
  #state: EngineAdvert['state'] = 'serving'
  #advertDue: Unsubscribable | undefined
  #advertisedAtMs = -Infinity
  #refused = 0
  #areModelsTold = false

  constructor(options: EngineHostOptions) {
    const { bus, name, instance, models, capacity, scheduler = asyncScheduler } = options
    this.address = createAddress(name, instance)
    this.#options = options
    this.#scheduler = scheduler
    this.#startedAtMs = scheduler.now()
    this.#models = byLabel(models)
    this.#capacity = Math.min(capacity, maxPlaces)
    this.#listen(bus, options.onFault)
  }

  get used(): number {
    return this.#places.size
  }

  get capacity(): number {
    return this.#capacity
  }

  /** Whether its models were sent to services; without them it gets no segments, and sends nothing else. */
  get areModelsTold(): boolean {
    return this.#areModelsTold
  }

  /** Segments for which there was no place. */
  get refused(): number {
    return this.#refused
  }

  /**
   * Serves other models from now on. Segments that are open keep their engine, also beyond a lower capacity. To
   * services this process is as new as one that has just started, so they prefer its contents to older ones.
   */
  replaceModels(models: readonly ServedModel[], capacity: number): void {
    this.#models = byLabel(models)
    this.#capacity = Math.min(capacity, maxPlaces)
    this.#startedAtMs = this.#scheduler.now()
    this.#advertiseModels()
  }

  /** Takes no more segments. Resolves when those that are open have ended; the rest is given back after `drainMs`. */
  async drain(drainMs: number): Promise<void> {
    this.#state = 'draining'
    this.#advertise()
    if (this.#places.size === 0) return
    await new Promise<void>((resolve) => {
      const done = new Subscription(resolve)
      done.add(this.#empty$.pipe(take(1)).subscribe(() => done.unsubscribe()))
      done.add(timer(drainMs, this.#scheduler).subscribe(() => done.unsubscribe()))
    })
  }

  /** Gives back the segments that are open, and reports to the edges that this engine is gone. */
  close(): void {
    if (this.#subscription.closed) return
    this.#abortAll('ended', { t: 'lost', why: 'ended' })
    this.#state = 'gone'
    this.#advertise()
    this.#subscription.unsubscribe()
    this.#advertDue?.unsubscribe()
  }

  #listen(bus: MessageBus, onFault: (error: unknown) => void): void {
    const on = (subject: string, receive: (message: BusMessage) => void): void => {
      this.#subscription.add(bus.messages(subject).subscribe({ next: receive, error: onFault }))
    }
    on(engineSubject(this.address), ({ payload, replyTo }) => {
      if (isAttemptSubject(replyTo) && !isLaterRequest(payload)) this.#receive(replyTo, decodeRequest(payload))
    })
    on(goneSubject(this.address, '*'), ({ subject, hasNoReceiver }) => {
      const reply = this.#replyOfPlace.get(numberOf(subject))
      if (hasNoReceiver && reply !== undefined) this.#places.get(reply)?.segment.abort('edge-gone')
    })
    this.#subscription.add(reportRefused(bus, onFault, this.#scheduler))
    const asked$ = bus
      .messages(whoSubject)
      .pipe(throttleTime(advertMs, this.#scheduler, { leading: true, trailing: true }))
    this.#subscription.add(
      asked$.subscribe({
        next: () => {
          this.#advertiseModels()
          this.#advertise()
        },
        error: onFault,
      }),
    )
    this.#subscription.add(
      bus.isUp$.subscribe((isUp) => {
        if (isUp) {
          this.#advertiseModels()
          this.#advertise()
        } else this.#abortAll('bus')
      }),
    )
    this.#subscription.add(
      interval(tickMs, this.#scheduler).subscribe(() => {
        for (const { segment } of [...this.#places.values()]) segment.tick()
      }),
    )
  }

  #receive(replyTo: string, request: EngineRequest | undefined): void {
    const place = this.#places.get(replyTo)
    if (place !== undefined) place.segment.receive(request)
    else if (request?.type === 'open') this.#open(replyTo, request)
    else if (request?.type === 'phrases') void this.#checkPhrases(replyTo, request)
    // The edge counts on an attempt that has ended here, or that never began.
    else if (request?.type !== 'abort') this.#answer(replyTo, { t: 'lost', why: 'unknown' })
  }

  async #checkPhrases(
    replyTo: string,
    { model, phrases }: EngineRequest & { readonly type: 'phrases' },
  ): Promise<void> {
    const engine = this.#models.get(model)?.engine
    try {
      const faults = engine?.capabilities.phrases === true ? ((await engine.checkPhrases?.(phrases)) ?? []) : undefined
      this.#answer(replyTo, faults === undefined ? { t: 'full' } : { t: 'phrases', faults })
    } catch (error) {
      this.#options.onFault(error)
      this.#answer(replyTo, { t: 'failed' })
    }
  }

  #open(replyTo: string, request: EngineRequest & { readonly type: 'open' }): void {
    const { v, model, startMs, phrases, language, traceparent, before, parts, session, attempt: count = 1 } = request
    const known = v === (phrases === undefined ? protocolVersion : phrasesVersion) ? this.#models.get(model) : undefined
    const able = known?.engine.capabilities
    const takesPhrases = phrases === undefined || able?.phrases === true
    const takesLanguage = language === undefined || able?.languages?.includes(language) === true
    const served = takesPhrases && takesLanguage ? known : undefined
    if (served === undefined || this.#state !== 'serving' || this.#places.size >= this.capacity) {
      this.#refused += 1
      this.#answer(replyTo, { t: 'full' })
      return
    }
    this.#lastPlace += 1
    const number = this.#lastPlace
    let isOver = false
    const attempt = { sessionId: loggedSession(session), startMs, attempt: count }
    const report = (lost?: string): void =>
      this.#options.onAttempt?.({ ...attempt, model, peer: edgeOfAttempt(replyTo), lost })
    report()
    const segment = new HostedSegment(
      served.engine,
      {
        startMs,
        settings: pickParameters(engineParameters, request),
        parts,
        ...(before !== undefined && { before: decodeSamples(before) }),
      },
      {
        answer: (answer) => this.#answer(replyTo, answer, goneSubject(this.address, number)),
        onFault: (error) => this.#options.onFault(error, attempt),
        span: this.#beginSpan(model, traceparent),
        ended: (lost) => {
          isOver = true
          if (lost !== undefined) report(lost)
          this.#free(replyTo, number)
        },
      },
    )
    if (isOver) return
    this.#places.set(replyTo, { number, segment })
    this.#replyOfPlace.set(number, replyTo)
    this.#advertiseSoon()
  }

  #beginSpan(model: string, traceparent: string | undefined): TraceSpan | undefined {
    const { openTelemetry } = this.#options
    const attributes = { 'rxspeech.model': model, 'rxspeech.engine': this.address.name }
    const options: SpanOptions = { name: 'rxspeech.recognize', kind: 'server', attributes }
    return openTelemetry && beginRemoteSpan(openTelemetry, traceparent, options)
  }

  #free(replyTo: string, number: number): void {
    this.#replyOfPlace.delete(number)
    if (!this.#places.delete(replyTo)) return
    this.#advertiseSoon()
    if (this.#places.size === 0) this.#empty$.next()
  }

  #abortAll(lost: string, answer?: EngineAnswer): void {
    for (const { segment } of [...this.#places.values()]) segment.abort(lost, answer)
  }

  #answer(replyTo: string, answer: EngineAnswer, ownReply?: string): void {
    const { bus, onFault } = this.#options
    if (bus.publish(replyTo, encodeJson(answer), ownReply) || !bus.isUp) return
    onFault(tooLarge('The result of a segment'))
    // It would be as long again.
    bus.publish(replyTo, encodeJson({ t: 'failed', final: true }), ownReply)
  }

  /** At most one in `advertMs`. A clock that is set back must not delay it. */
  #advertiseSoon(): void {
    const dueMs = this.#advertisedAtMs + advertMs - this.#scheduler.now()
    this.#advertiseIn(Math.min(Math.max(dueMs, 0), advertMs))
  }

  #advertiseIn(ms: number): void {
    this.#advertDue?.unsubscribe()
    this.#advertDue = schedule(this.#scheduler, ms, () => this.#advertise())
  }

  #advertise(): void {
    this.#advertisedAtMs = this.#scheduler.now()
    this.#advertiseIn(this.used > 0 ? advertMs : idleAdvertMs)
    if (!this.#areModelsTold) return
    const { used, capacity, address: engine } = this
    const { bus, work = idle } = this.#options
    const { lagMs, progress, partialIntervalsMs = {} } = work()
    const advert = {
      v: protocolVersion,
      engine,
      capacity,
      used,
      state: this.#state,
      progress,
      sentAtMs: this.#advertisedAtMs,
      ...(lagMs >= 1 && { lagMs: Math.round(lagMs) }),
      ...(Object.keys(partialIntervalsMs).length > 0 && { partialIntervalsMs }),
    }
    bus.publish(aliveSubject(engine.name), encodeJson(advert))
  }

  #advertiseModels(): void {
    const { bus, region, onFault } = this.#options
    const models = [...this.#models.values()].map(({ advert }) => advert)
    const { host, version: software } = processIdentity()
    const startedAtMs = this.#startedAtMs
    const ageMs = Math.max(this.#scheduler.now() - startedAtMs, 0)
    const advert = { v: protocolVersion, engine: this.address, startedAtMs, ageMs, models, host, software }
    const message = encodeJson(region === undefined ? advert : { ...advert, region })
    if (bus.publish(modelsSubject(this.address.name), message)) this.#areModelsTold = true
    else if (bus.isUp) onFault(tooLarge(`The list of ${models.length} models`))
  }
}

const byLabel = (models: readonly ServedModel[]): ReadonlyMap<string, ServedModel> =>
  new Map(models.map((model) => [modelLabel(model.advert), model]))
