import { randomInt } from 'node:crypto'
import { asyncScheduler, interval, Subscription, type SchedulerLike } from 'rxjs'
import { reportRefused, type BusMessage, type MessageBus } from '../connection/bus.js'
import type { EngineSegment, OpenSegment, PhraseFault, RecognizeSettings } from 'rxspeech-engines/engine'
import type { FleetCounts, FleetUse, ModelContent, SegmentLoss as LossCause } from 'rxspeech-server/operations/nats-use'
import type { AttemptReport } from './attempt-report.js'
import { FleetSegment, type SegmentFleet } from './fleet-segment.js'
import {
  aliveSubject,
  attemptSubject,
  createAddress,
  decodeAnswer,
  decodeEngineAdvert,
  decodeModelsAdvert,
  encodeRequest,
  engineSubject,
  isLaterAnswer,
  modelsSubject,
  numberOf,
  otherVersionOf,
  protocolVersion,
  whoSubject,
  type ProcessAddress,
} from './protocol.js'
import { PhraseCheck } from './phrase-check.js'
import type { RosterEngine, WantedModel } from './placement.js'
import { Roster, tickMs, type EngineEnd, type RosterOptions } from './roster.js'

export interface FleetOptions extends RosterOptions {
  readonly bus: MessageBus
  /** The name of this process in the subjects of its messages. @default that of the host */
  readonly name?: string | undefined
  /** Called with what the server does not allow. */
  readonly onFault: (error: unknown) => void
  /** @default asyncScheduler */
  readonly scheduler?: SchedulerLike | undefined
}

const ignore = (): void => undefined

/** Large enough that no number is used twice. */
const maxAttempt = 2 ** 48 - 1

/**
 * The engine processes that an edge sees, and the segments that it has there. A segment gets a place at once, or waits
 * in one line of this process, first come, first served.
 */
export class Fleet {
  readonly roster: Roster
  readonly #bus: MessageBus
  readonly #edge: ProcessAddress
  readonly #scheduler: SchedulerLike
  readonly #subscription = new Subscription()
  readonly #attempts = new Map<number, FleetSegment | PhraseCheck>()
  /** Segments without a place, oldest first, and since when they wait. */
  readonly #line = new Map<FleetSegment, number>()
  readonly #segmentFleet: SegmentFleet
  #lastArrival = 0
  #isAsking = false
  #isServing = false
  #lost: Partial<Record<LossCause, number>> = {}
  #full = 0
  #waitedMs = 0
  /** Called each tick, however many adverts arrived since the last one, and when the bus went up or down. */
  onChange: () => void = () => undefined
  /** Called when an engine process is there. */
  onJoined: (engine: RosterEngine) => void = () => undefined
  /** Called when its clock begins to differ too much from that of this process. */
  onClock: (engine: RosterEngine) => void = () => undefined
  /** Called when it is no longer there, with how many segments it had. */
  onLeft: (engine: ProcessAddress, how: EngineEnd, segments: number) => void = () => undefined
  /** Called with attempts that begin, and with those that no engine process takes; see `onFault` for others. */
  onAttempt: (report: AttemptReport) => void = () => undefined

  constructor({ bus, name, onFault, scheduler = asyncScheduler, ...roster }: FleetOptions) {
    this.#bus = bus
    this.#scheduler = scheduler
    this.#edge = createAddress(name)
    this.roster = new Roster({ now: () => scheduler.now(), ...roster })
    this.roster.onJoined = (engine) => this.onJoined(engine)
    this.roster.onClock = (engine) => this.onClock(engine)
    this.roster.onLost = (engine, how) => {
      this.onLeft(engine, how, this.#loseAll(engine, 'silent'))
    }
    this.roster.onIgnored = onFault
    this.roster.onFree = () => this.#serveLine()
    this.#segmentFleet = {
      send: (engine, attempt, request) =>
        bus.publish(engineSubject(engine), encodeRequest(request), attemptSubject(this.#edge, attempt)),
      queue: (segment) => this.#queue(segment),
      release: (attempt, freed) => {
        this.#attempts.delete(attempt)
        if (freed !== undefined) this.roster.freed(freed)
      },
      leave: (segment) => this.#line.delete(segment),
      onLost: (cause) => this.#countLost(cause),
      onUntaken: (segment, peer, cause) => {
        this.#countLost(cause)
        this.onAttempt({ ...segment.attempt, model: segment.model.label, peer, lost: cause })
      },
      onDecided: (engine) => this.roster.decided(engine),
      onFailed: (engine, afterTicks) => this.roster.failed(engine, afterTicks),
      onFull: (engine) => {
        this.#full += 1
        this.roster.took(engine, true)
      },
      isSlow: (engine) => this.roster.isSlow(engine),
      hasFaster: (model, engine) => this.roster.hasFaster(model, engine),
    }
    this.#listen(onFault)
  }

  get isUp(): boolean {
    return this.#bus.isUp
  }

  get counts(): FleetCounts {
    return { lost: this.#lost, full: this.#full, waitedMs: this.#waitedMs }
  }

  /** The same, and the engines of each model. */
  get use(): FleetUse {
    const models = [...this.roster.offers()].map(([label]) => {
      const serving = this.roster.serving({ label })
      const unused = (isBehind: boolean): number =>
        serving.reduce((sum, one) => (one.isBehind === isBehind ? sum + Math.max(one.capacity - one.used, 0) : sum), 0)
      const used = serving.reduce((sum, one) => sum + one.used, 0)
      return { label, engines: serving.length, used, free: unused(false), behind: unused(true) }
    })
    const { engines } = this.roster
    const clockDifferenceMs = Math.max(0, ...engines.map(({ clockAheadMs = 0 }) => Math.abs(clockAheadMs)))
    return { processes: engines.length, clockDifferenceMs, models, waiting: this.waiting, ...this.counts }
  }

  /** What its engine processes serve. */
  get contents(): readonly ModelContent[] {
    return [...this.roster.offers()].flatMap(([label, adverts]) => {
      const counts = new Map<string, number>()
      for (const { digest } of adverts) counts.set(digest, (counts.get(digest) ?? 0) + 1)
      return [...counts].map(([digest, engines]) => ({ label, digest, engines }))
    })
  }

  /** Segments without a place. */
  get waiting(): number {
    return this.#line.size
  }

  /** Opens segments of a model; see `OpenSegment`. Spare ones never wait: they fail with `overloaded`. */
  openChannel(given: WantedModel, settings: RecognizeSettings): OpenSegment {
    const model = { ...given, phrases: settings.phrases !== undefined, language: settings.language }
    // What becomes of those that no session waits for says nothing about the engines to others.
    const unheard = { onLost: ignore, onUntaken: ignore, onDecided: ignore, onFailed: ignore }
    const segmentFleet = model.isSpare === true ? { ...this.#segmentFleet, ...unheard } : this.#segmentFleet
    return (startMs, listener, traceparent, before, attempt): EngineSegment => {
      this.#lastArrival += 1
      const start = { arrival: this.#lastArrival, startMs, settings, traceparent, before, attempt }
      const segment = new FleetSegment(model, start, listener, segmentFleet)
      this.#queue(segment)
      // Not within this call.
      if (model.isSpare === true) queueMicrotask(() => segment.refuseWaiting())
      return segment
    }
  }

  /** See `Engine.checkPhrases`. */
  checkPhrases(model: WantedModel, phrases: readonly string[]): Promise<readonly PhraseFault[]> {
    const request = { type: 'phrases', model: model.label, phrases } as const
    return new Promise((resolve, reject) => {
      new PhraseCheck({
        ask: (check, tried) => {
          const engine = this.roster.chooseForPhrases(model, tried)?.address
          if (engine === undefined) return undefined
          const number = this.#newAttempt(check)
          return { number, engine, isSent: this.#segmentFleet.send(engine, number, request) }
        },
        release: (attempt) => this.#attempts.delete(attempt),
        resolve,
        reject,
      }).tryNext()
    })
  }

  close(): void {
    this.#subscription.unsubscribe()
    for (const attempt of [...this.#attempts.values()]) if (attempt instanceof PhraseCheck) attempt.abort()
  }

  #listen(onFault: (error: unknown) => void): void {
    const on = (subject: string, receive: (message: BusMessage) => void): void => {
      this.#subscription.add(this.#bus.messages(subject).subscribe({ next: receive, error: onFault }))
    }
    on(attemptSubject(this.#edge, '*'), ({ subject, payload, hasNoReceiver }) => {
      const answer = hasNoReceiver ? 'gone' : decodeAnswer(payload)
      if (answer === undefined && isLaterAnswer(payload)) return
      // An attempt that is over has no entry any more.
      this.#attempts.get(numberOf(subject))?.receive(answer)
    })
    on(aliveSubject('*'), (message) => {
      const advert = decodeEngineAdvert(message)
      const otherVersion = advert?.v === protocolVersion ? undefined : otherVersionOf(message)
      if (otherVersion !== undefined) this.roster.ignoreVersion(message.subject, otherVersion)
      if (advert !== undefined && this.roster.alive(advert)) this.#ask()
    })
    on(modelsSubject('*'), (message) => {
      const advert = decodeModelsAdvert(message)
      if (advert !== undefined) this.roster.models(advert)
    })
    this.#subscription.add(
      this.#bus.isUp$.subscribe((isUp) => {
        if (isUp) this.#ask()
        else this.#loseAll(undefined, 'bus')
        this.onChange()
      }),
    )
    this.#subscription.add(this.#bus.refused$.subscribe((subject) => this.#forbid(subject)))
    this.#subscription.add(reportRefused(this.#bus, onFault, this.#scheduler))
    this.#subscription.add(interval(tickMs, this.#scheduler).subscribe(() => this.#tick()))
  }

  /** Its segments go elsewhere at once, without waiting for its answer. */
  #forbid(subject: string): void {
    const engine = this.roster.engines.find(({ address }) => engineSubject(address) === subject)
    if (engine === undefined) return
    this.roster.forbid(engine.address)
    this.#loseAll(engine.address, 'refused')
  }

  /** Asks all engines for their models, once in a tick. */
  #ask(): void {
    if (this.#isAsking) return
    this.#isAsking = this.#bus.publish(whoSubject, '')
  }

  #tick(): void {
    this.#isAsking = false
    // Without the bus no advert can arrive, so silence does not mean that engines are gone.
    if (this.#bus.isUp) this.roster.tick()
    // One that returns to the line within this tick is not ticked again.
    const waiting = [...this.#line.keys()]
    for (const segment of new Set(this.#attempts.values())) segment.tick(true)
    for (const segment of waiting) {
      segment.tried.clear()
      segment.tick(this.#bus.isUp && this.roster.serving(segment.model).length > 0)
    }
    this.#serveLine()
    this.onChange()
  }

  /** Returns how many segments were there. */
  #loseAll(engine: ProcessAddress | undefined, cause: LossCause): number {
    return [...this.#attempts.values()].filter((attempt) => attempt.lost(engine, cause)).length
  }

  #countLost(cause: LossCause): void {
    this.#lost = { ...this.#lost, [cause]: (this.#lost[cause] ?? 0) + 1 }
  }

  /** A segment that an engine had no place for returns to its order of arrival. */
  #queue(segment: FleetSegment): void {
    const behind = segment.tried.size === 0 ? [] : [...this.#line].filter(([{ arrival }]) => arrival > segment.arrival)
    this.#line.set(segment, this.#scheduler.now())
    for (const [other, sinceMs] of behind) {
      this.#line.delete(other)
      this.#line.set(other, sinceMs)
    }
    this.#serveLine()
  }

  /** Gives free places to segments that wait; those behind a segment of the same model wait with it. */
  #serveLine(): void {
    // Opening a segment can fail others, which join the line again.
    if (this.#isServing || this.#line.size === 0 || !this.#bus.isUp) return
    this.#isServing = true
    try {
      this.#giveFreePlaces()
    } finally {
      this.#isServing = false
    }
  }

  #giveFreePlaces(): void {
    const full = new Set<string>()
    for (const [segment, sinceMs] of this.#line) {
      const { label, sampleRateHz, phrases = false, language = '' } = segment.model
      const key = `${label} ${sampleRateHz} ${phrases} ${language}`
      if (full.has(key)) continue
      const engine = this.roster.choose(segment.model, segment.tried)
      if (engine === undefined) {
        // Others have not tried the same engines.
        if (segment.tried.size === 0) full.add(key)
        continue
      }
      this.#line.delete(segment)
      this.#waitedMs += this.#scheduler.now() - sinceMs
      this.#open(segment, engine)
    }
  }

  #open(segment: FleetSegment, { address, models }: RosterEngine): void {
    const number = this.#newAttempt(segment)
    this.roster.took(address)
    this.onAttempt({ ...segment.attempt, model: segment.model.label, peer: address })
    segment.open(address, number, models.get(segment.model.label)?.checks === true)
  }

  /** A random number, so that an engine process cannot guess the attempts of others and answer for them. */
  #newAttempt(attempt: FleetSegment | PhraseCheck): number {
    let number = randomInt(maxAttempt)
    while (this.#attempts.has(number)) number = randomInt(maxAttempt)
    this.#attempts.set(number, attempt)
    return number
  }
}
