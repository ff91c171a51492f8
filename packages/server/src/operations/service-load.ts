import { performance } from 'node:perf_hooks'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { noopMonitor, type ServiceMonitor } from '../monitor/service-monitor.js'
import { Refusals, type Refusing } from '../sessions/refusals.js'
import { reserveOf, type ShareLimits } from '../sessions/tenant-shares.js'

/** When the service has too much to do for another session; 0 turns a limit off. */
export interface LoadLimits {
  /**
   * The share of the service's thread that its sessions may use, in percent; above it no session is added.
   * @default 85, in development 0
   */
  readonly maxLoadPercent: number
  /**
   * The delay of the event loop, in milliseconds. A longer one for half a second also thins partials.
   * @default 100, in development 1000
   */
  readonly maxLoopDelayMs: number
  /**
   * How far half of the open segments of a model may be behind their speakers, in milliseconds. Beyond it the model
   * gets no further session, and partials are thinned, until they have been behind by less than half of it for 5 s. A
   * model whose engine orders its work gets none with which more than a few results would wait longer, see
   * `Engine.waitMs`. @default 1000, in development 0
   */
  readonly maxEngineDelayMs: number
}

/** What the thread did since the previous sample, in milliseconds. */
export interface LoopSample {
  readonly durationMs: number
  /** The part of it in which the thread was not idle. */
  readonly busyMs: number
  /** How much later than planned the sample was taken. */
  readonly delayMs: number
}

export interface ServiceLoadOptions {
  readonly limits: LoadLimits & ShareLimits
  /**
   * Whether a model has an engine that is behind by more than the limit; called with each sample, and with whether
   * partials are thinned.
   */
  readonly isEngineBehind: (isThinned: boolean) => boolean
  /** Called when the first session is refused, and with their number when none was refused for 5 s. */
  readonly onRefusing: (refusing: Refusing<BusyLoop>) => void
}

/** Why the service refuses sessions. */
export interface BusyLoop {
  readonly loadPercent: number
  readonly loopDelayMs: number
}

const sampleMs = 100
/** Half a second: short enough to refuse in time, long enough that a single long turn does not count. */
const samplesInWindow = 5
/** With fewer sessions something else uses the thread, and refusing them would not help. */
const fewSessions = 20
const retryAfterMs = 2_000
/** The shortest time between two partials of a channel while they are thinned. */
const thinnedIntervalMs = 1_000

interface Window extends LoopSample {
  readonly audioMs: number
  readonly started: number
}

/**
 * Decides whether the service can take another session. The sessions of a service are long and cannot be sent away, so
 * it stops adding them before the thread is full: the delay of the event loop rises only when it is too late.
 */
export class ServiceLoad {
  /** Receives the sessions and their audio. */
  readonly monitor: ServiceMonitor
  readonly #options: ServiceLoadOptions
  #window: readonly Window[] = []
  #running = 0
  #started = 0
  #audioMs = 0
  #load = 0
  #isSlow = false
  #isEngineBehind = false
  readonly #refusals: Refusals<BusyLoop>
  #sampledMs = 0

  constructor(options: ServiceLoadOptions) {
    this.#options = options
    this.#refusals = new Refusals(() => this.#sampledMs, options.onRefusing)
    this.monitor = {
      ...noopMonitor,
      sessionMoved: (_session, from, to) => {
        if (to === 'running') this.#started += 1
        this.#running += Number(to === 'running') - Number(from === 'running')
      },
      audio: (_session, { audioMs }) => {
        this.#audioMs += audioMs
      },
    }
  }

  /** The share of the thread that the sessions use, 0 to 1 and more, with an estimate of those that began just now. */
  get load(): number {
    return this.#load
  }

  /** The shortest delay of the event loop within the last half second, in milliseconds. */
  get loopDelayMs(): number {
    return this.#isComplete ? Math.min(...this.#window.map(({ delayMs }) => delayMs)) : 0
  }

  /** The shortest time between two partials of a channel, in milliseconds; 0 while there is no limit. */
  get partialIntervalMs(): number {
    return this.#isSlow || this.#isEngineBehind ? thinnedIntervalMs : 0
  }

  /**
   * Throws `overloaded` when no session can be added; one of a tenant above its share leaves a reserve to others. Costs
   * next to nothing, so call it first.
   */
  check(isAboveShare = false): void {
    if (!this.#isFull(isAboveShare) && !this.#isSlow) return
    this.#refusals.refused({
      loadPercent: Math.round(this.#load * 100),
      loopDelayMs: Math.round(this.loopDelayMs),
    })
    throw busy('The service is too busy for another session; try again later.')
  }

  /** Takes in what the thread did; call it every 100 ms. */
  sample(sample: LoopSample): void {
    const { limits, isEngineBehind } = this.#options
    this.#window = [...this.#window, { ...sample, audioMs: this.#audioMs, started: this.#started }].slice(
      -samplesInWindow,
    )
    this.#audioMs = 0
    this.#started = 0
    this.#load = this.#measure()
    this.#isSlow = this.#measureSlow(limits.maxLoopDelayMs)
    this.#isEngineBehind = isEngineBehind(this.partialIntervalMs > 0)
    this.#sampledMs += sampleMs
    this.#refusals.tick()
  }

  get #isComplete(): boolean {
    return this.#window.length === samplesInWindow
  }

  #isFull(isAboveShare: boolean): boolean {
    const { maxLoadPercent, reservePercent } = this.#options.limits
    const reserve = isAboveShare ? reserveOf.load(maxLoadPercent, reservePercent) : 0
    return maxLoadPercent > 0 && this.#running >= fewSessions && this.#load * 100 > maxLoadPercent - reserve
  }

  #measure(): number {
    const sum = (key: keyof Window): number => this.#window.reduce((total, one) => total + one[key], 0)
    const used = sum('busyMs') / Math.max(sum('durationMs'), 1)
    // Files are sent as fast as the service takes them; only what they would cost in real time counts.
    const audioPerSession = sum('audioMs') / Math.max(sum('durationMs') * this.#running, 1)
    const inRealTime = used / Math.max(audioPerSession, 1)
    // A session that began just now costs as much as the others and has not shown it yet.
    const measured = Math.max(this.#running - sum('started'), this.#running / 2, 1)
    return (inRealTime * Math.max(this.#running, 1)) / measured
  }

  /** Begins when every delay of the window is above the limit, and ends when every one is below half of it. */
  #measureSlow(limitMs: number): boolean {
    if (limitMs === 0 || !this.#isComplete) return false
    const delays = this.#window.map(({ delayMs }) => delayMs)
    return this.#isSlow ? Math.max(...delays) > limitMs / 2 : Math.min(...delays) > limitMs
  }
}

const busy = (message: string): SpeechError => new SpeechError('overloaded', message, { retryAfterMs })

/** The refusal of a session whose model is behind. */
export const modelBehind = (): SpeechError =>
  busy('The model is too busy for another session; try again later, or use another one.')

/**
 * Samples the thread that runs this until the returned function is called. It reads the clock of the platform and not a
 * scheduler, because the load of a thread has no virtual time.
 */
export const watchLoop = (load: Pick<ServiceLoad, 'sample'>): (() => void) => {
  let before = performance.eventLoopUtilization()
  let atMs = performance.now()
  const timer = setInterval(() => {
    const nowMs = performance.now()
    const now = performance.eventLoopUtilization()
    const { active: busyMs } = performance.eventLoopUtilization(now, before)
    const durationMs = nowMs - atMs
    atMs = nowMs
    before = now
    load.sample({ durationMs, busyMs, delayMs: Math.max(0, durationMs - sampleMs) })
  }, sampleMs)
  timer.unref()
  return () => clearInterval(timer)
}
