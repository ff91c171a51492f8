import { Subscription, type SchedulerLike, type Subscriber, type TeardownLogic, type Unsubscribable } from 'rxjs'
import { MachineRun, observing, type Inputs, type MachineHost } from '../../kernel/machine.js'
import { schedule } from '../../kernel/timers.js'
import type { SessionEvent } from '../../protocol/session-event.js'
import type { Route } from '../connection.js'
import type { RunSession, SessionHost, SessionPlan } from '../session.js'
import type { Resumption } from '../settings.js'
import { SessionToken } from '../token.js'
import {
  FailoverMachine,
  isMoving,
  type FailoverAction,
  type FailoverInput,
  type FailoverOutput,
  type ObservedFailoverInput,
} from './failover-machine.js'
import { LagMonitor } from './lag-monitor.js'
import type { ServiceHealth } from './service-health.js'

/** The services of a session, what is known about them, and the settings that all share. */
export interface FailoverPlan<In, Out> {
  readonly services: readonly SessionPlan<In, Out>[]
  readonly resumption: Resumption
  readonly scheduler: SchedulerLike
  readonly health: ServiceHealth
  /** Results that lag further behind than this are slow, in milliseconds. */
  readonly slowMs: number
}

/** Runs a session that moves between services. */
export const runFailover =
  <In, Out>(plan: FailoverPlan<In, Out>): RunSession<In, Out> =>
  (session, subscriber) =>
    new FailoverHost(plan, session).run(subscriber)

/** Checks this many times within `slowMs`, and acts when two checks in a row find the service slow. */
const checksWithinSlow = 4

/** Performs what a `FailoverMachine` adds to the session, and passes on the rest. */
class FailoverHost<In, Out> implements MachineHost<FailoverInput, FailoverOutput, FailoverAction> {
  readonly #plan: FailoverPlan<In, Out>
  readonly #session: SessionHost<In, Out>
  readonly #routes: readonly Route<In, Out>[]
  /** Of the open connections, by their numbers. */
  readonly #monitors = new Map<number, LagMonitor>()
  /** Of the connection that is used. */
  #current: LagMonitor | undefined

  constructor(plan: FailoverPlan<In, Out>, session: SessionHost<In, Out>) {
    this.#plan = plan
    this.#session = session
    this.#routes = plan.services.map(({ connect, settings }) => ({
      connect,
      tokens: new SessionToken(settings),
      session: {},
    }))
  }

  run(subscriber: Subscriber<SessionEvent>): ReturnType<RunSession<In, Out>> {
    const { services, resumption } = this.#plan
    const policies = services.map(({ policy }) => policy)
    const machine = new FailoverMachine(policies, resumption)
    return new MachineRun(
      observing(machine, (input: FailoverInput) => this.#observe(input)),
      this,
      subscriber,
    )
  }

  #observe(input: FailoverInput): ObservedFailoverInput {
    const { services, health } = this.#plan
    const observed =
      input.type === 'slow' ? { ...input, snapshot: this.#session.snapshot } : this.#session.observe(input)
    if (!isMoving(observed)) return observed
    const isAvailable = services.map((_service, index) => health.isAvailable(index))
    return { ...observed, services: { isAvailable, isSpeechOpen: this.#current?.isSpeechOpen === true } }
  }

  emit(output: FailoverOutput, answer: (input: FailoverInput) => void): void {
    const { health } = this.#plan
    if (output.do === 'lost') health.lost(output.service, output.error)
    else if (output.do === 'avoid') health.slow(output.service)
    else if (output.do === 'served') health.served(output.service)
    else if (output.do === 'hand-over') answer({ type: 'handover-due' })
    else this.#session.emit(output, answer)
  }

  onIdle(): void {
    this.#session.onIdle?.()
  }

  onFailure(error: unknown): FailoverInput {
    return this.#session.onFailure(error)
  }

  perform(action: FailoverAction, inputs: Inputs<FailoverInput>): TeardownLogic {
    switch (action.do) {
      case 'watch-health':
        return this.#plan.health.watch()
      case 'watch-lag':
        return this.#watchLag(action.connection, inputs)
      case 'authorize': {
        const { connection } = action
        const opened = new Subscription()
        opened.add(this.#session.perform({ ...action, route: this.#routeOf(action.service, connection) }, inputs))
        opened.add(() => this.#monitors.delete(connection))
        return opened
      }
      default:
        return this.#session.perform(action, inputs)
    }
  }

  /** Where a service is, with a monitor of the connection. */
  #routeOf(service: number, connection: number): Route<In, Out> | undefined {
    const route = this.#routes[service]
    const settings = this.#plan.services[service]?.settings
    if (route === undefined || settings === undefined) return undefined
    const monitor = new LagMonitor(settings.bounds.format, settings.scheduler)
    this.#monitors.set(connection, monitor)
    return { ...route, connect: (...args) => monitor.measure(route.connect(...args)) }
  }

  #watchLag(connection: number, inputs: Inputs<FailoverInput>): TeardownLogic {
    const { slowMs, scheduler } = this.#plan
    const monitor = this.#monitors.get(connection)
    this.#current = monitor
    if (monitor === undefined || slowMs === Infinity) return undefined
    let wasSlow = false
    let timer: Unsubscribable
    const wait = (): void => {
      timer = schedule(scheduler, slowMs / checksWithinSlow, check)
    }
    const check = (): void => {
      const isSlow = monitor.lagMs > slowMs
      const isStillSlow = isSlow && wasSlow
      wasSlow = isSlow
      // Before the input, which may end this watch.
      wait()
      if (isStillSlow) inputs.post({ type: 'slow', connection })
    }
    wait()
    return () => timer.unsubscribe()
  }
}
