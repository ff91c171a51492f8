import { Subscription, type Observable, type SchedulerLike, type Unsubscribable } from 'rxjs'
import { codesWith } from '../../errors/error-table.js'
import { SpeechError, toSpeechError } from '../../errors/speech-error.js'
import { schedule } from '../../kernel/timers.js'
import type { Resumption } from '../settings.js'

/** The errors after which another service is tried. */
const failoverCodes = codesWith('failover')

/** How long a slow service is avoided at first, in milliseconds; twice as long each time that it is slow again. */
const firstSlowMs = 60_000
const maxSlowMs = 600_000

interface Health {
  /** Lost by a session or a probe, and no probe has reached it since. */
  isDown: boolean
  /** Failures since the service last served a session, and when the next probe is due. */
  failures: number
  probeAtMs: number
  slowCount: number
  slowUntilMs: number
}

/** What the health of services needs to know. */
export interface HealthOptions {
  /** For each service: opens a session without audio, and completes if the service accepts it. */
  readonly probes: readonly Observable<unknown>[]
  readonly delayMs: Resumption['delayMs']
  readonly scheduler: SchedulerLike
}

/**
 * The health of the services of a list, which all of its sessions share. A service that failed is probed with backoff
 * while a session runs, so that no session's audio is used to try it. A slow service is avoided for a time, because a
 * probe cannot show whether it still is.
 */
export class ServiceHealth {
  readonly #options: HealthOptions
  readonly #services: readonly Health[]
  /** The number of running sessions. */
  #sessions = 0
  /** The waiting and running probes, while a session runs. */
  #probes: (Unsubscribable | undefined)[] = []

  constructor(options: HealthOptions) {
    this.#options = options
    this.#services = options.probes.map(() => ({
      isDown: false,
      failures: 0,
      probeAtMs: 0,
      slowCount: 0,
      slowUntilMs: -Infinity,
    }))
  }

  /** Whether a session should choose this service. */
  isAvailable(service: number): boolean {
    const health = this.#services[service]
    return health !== undefined && !health.isDown && health.slowUntilMs <= this.#options.scheduler.now()
  }

  /** A session has lost the service, or could not open a connection to it. */
  lost(service: number, error: SpeechError): void {
    const health = this.#services[service]
    if (health === undefined || health.isDown) return
    this.#fail(service, health, error)
  }

  /** The results of the service lag behind. */
  slow(service: number): void {
    const health = this.#services[service]
    if (health === undefined) return
    const nowMs = this.#options.scheduler.now()
    // The service was fast for long enough.
    if (health.slowUntilMs + maxSlowMs <= nowMs) health.slowCount = 0
    health.slowUntilMs = nowMs + Math.min(maxSlowMs, firstSlowMs * 2 ** health.slowCount)
    health.slowCount += 1
  }

  /** The service has recognized audio. */
  served(service: number): void {
    const health = this.#services[service]
    if (health === undefined) return
    health.isDown = false
    health.failures = 0
    this.#cancelProbe(service)
  }

  /** Probes services during a session. Returns a function for its end. */
  watch(): () => void {
    this.#sessions += 1
    if (this.#sessions === 1) {
      this.#services.forEach((health, service) => {
        if (health.isDown) this.#planProbe(service, health)
      })
    }
    return () => {
      this.#sessions -= 1
      if (this.#sessions === 0) this.#services.forEach((_health, service) => this.#cancelProbe(service))
    }
  }

  #fail(service: number, health: Health, error: SpeechError): void {
    health.isDown = true
    health.failures += 1
    this.#postponeProbe(service, health, error)
  }

  #postponeProbe(service: number, health: Health, error: SpeechError): void {
    const { scheduler, delayMs } = this.#options
    const nowMs = scheduler.now()
    health.probeAtMs = nowMs + delayMs(health.failures, error, nowMs)
    if (this.#sessions > 0) this.#planProbe(service, health)
  }

  #planProbe(service: number, health: Health): void {
    const { scheduler } = this.#options
    const waitMs = Math.max(0, health.probeAtMs - scheduler.now())
    this.#cancelProbe(service)
    this.#probes[service] = schedule(scheduler, waitMs, () => this.#probe(service, health))
  }

  #probe(service: number, health: Health): void {
    // Otherwise the sessions try all services anyway.
    if (!this.#services.some((_health, other) => this.isAvailable(other))) {
      this.#postponeProbe(service, health, new SpeechError('connection-lost', 'No service is available.'))
      return
    }
    const probing = new Subscription()
    this.#probes[service] = probing
    probing.add(
      this.#options.probes[service]?.subscribe({
        complete: () => (health.isDown = false),
        error: (cause: unknown) => {
          const error = toSpeechError(cause, 'connection-failed', 'The probe failed; see the cause.')
          // Any other refusal shows that the service is there.
          if (failoverCodes.has(error.code)) this.#fail(service, health, error)
          else health.isDown = false
        },
      }),
    )
  }

  #cancelProbe(service: number): void {
    this.#probes[service]?.unsubscribe()
    this.#probes[service] = undefined
  }
}
