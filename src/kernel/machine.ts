import { defer, Observable, Subscription, type Subscriber } from 'rxjs'
import { Mailbox } from './mailbox.js'

/** Something that runs beside the machine and feeds inputs to it: a connection, a deadline, a request. */
export interface Effect<Action> {
  /** The effect runs while this lifetime is alive, such as 'session', 'starting' or 'connection:2'. */
  readonly lifetime: string
  /** What to do, as data. */
  readonly action: Action
}

/** The result of one input. */
export interface Step<State, Output, Action, Input = never> {
  readonly state: State
  readonly outputs?: readonly Output[] | undefined
  readonly effects?: readonly Effect<Action>[] | undefined
  /** Inputs that follow directly, before all that wait: a decision that needs what the outputs of this step have done. */
  readonly raise?: readonly Input[] | undefined
}

/** How a machine ended. */
export type MachineResult = 'complete' | { readonly error: unknown }

/** A state machine as pure functions. It is total: every input has an answer in every state. */
export interface Machine<State, Input, Output, Action> {
  readonly start: Step<State, Output, Action, Input>
  readonly reduce: (state: State, input: Input) => Step<State, Output, Action, Input>
  /** The lifetimes that are alive in a state. */
  readonly alive: (state: State) => ReadonlySet<string>
  /** How the machine ended, or undefined while it runs. */
  readonly result: (state: State) => MachineResult | undefined
}

export interface RunMachineOptions {
  /** Called each time that no input waits any more: what could run long without an end must not run within a step. */
  readonly onIdle?: (() => void) | undefined
}

/**
 * Runs a machine: each subscription is a run of its own that emits the outputs, and completes or errors with the result.
 *
 * - A step first ends the effects whose lifetime is no longer alive, then emits its outputs, then starts its effects, then
 *   handles the inputs that it raises. What an effect does when it is unsubscribed belongs to the step that ends it.
 * - `perform` turns an action into the Observable of its inputs. It is called and subscribed when the effect starts, and
 *   unsubscribed when its lifetime ends.
 * - Inputs that arrive during a step (a consumer that re-enters, an effect that emits at once) wait in the mailbox. Those
 *   of an effect whose lifetime ends meanwhile are discarded: the machine never sees an input of an ended effect.
 * - An effect whose lifetime is not alive in the state of its own step does not start.
 * - An error of an effect is a defect of `perform`, which turns failures into inputs; it errors the run.
 * - Unsubscribing ends all effects and ignores the inputs that wait.
 */
export const runMachine = <State, Input, Output, Action>(
  machine: Machine<State, Input, Output, Action>,
  perform: (action: Action) => Observable<Input>,
  { onIdle }: RunMachineOptions = {},
): Observable<Output> =>
  new Observable((subscriber) => {
    const run = new MachineRun(machine, perform, subscriber, onIdle)
    // Added and not returned: the consumer may unsubscribe while the first step runs.
    subscriber.add(() => run.stop())
    run.start()
  })

/** What waits in the mailbox: the first step, or an input with the lifetime of the effect that it comes from. */
type Posted<Input> = 'start' | { readonly lifetime: Subscription; readonly input: Input }

class MachineRun<State, Input, Output, Action> {
  readonly #machine: Machine<State, Input, Output, Action>
  readonly #perform: (action: Action) => Observable<Input>
  readonly #subscriber: Subscriber<Output>
  readonly #lifetimes = new Map<string, Subscription>()
  readonly #mailbox: Mailbox<Posted<Input>>
  #state: State

  constructor(
    machine: Machine<State, Input, Output, Action>,
    perform: (action: Action) => Observable<Input>,
    subscriber: Subscriber<Output>,
    onIdle: (() => void) | undefined,
  ) {
    this.#mailbox = new Mailbox((posted) => this.#handle(posted), onIdle)
    this.#machine = machine
    this.#perform = perform
    this.#subscriber = subscriber
    this.#state = machine.start.state
  }

  start(): void {
    this.#mailbox.post('start')
  }

  stop(): void {
    this.#mailbox.clear()
    this.#endLifetimes(noLifetimes)
  }

  #handle(posted: Posted<Input>): void {
    if (this.#subscriber.closed) return
    if (posted === 'start') this.#apply(this.#machine.start)
    else if (!posted.lifetime.closed) this.#apply(this.#machine.reduce(this.#state, posted.input))
  }

  #apply({ state, outputs = [], effects = [], raise = [] }: Step<State, Output, Action, Input>): void {
    this.#state = state
    const alive = this.#machine.alive(state)
    this.#endLifetimes(alive)
    for (const output of outputs) this.#subscriber.next(output)
    for (const { lifetime, action } of effects) {
      if (alive.has(lifetime) && !this.#subscriber.closed) this.#begin(lifetime, action)
    }
    const result = this.#machine.result(state)
    if (result === 'complete') this.#subscriber.complete()
    else if (result !== undefined) this.#subscriber.error(result.error)
    for (const input of raise) {
      if (!this.#subscriber.closed) this.#apply(this.#machine.reduce(this.#state, input))
    }
  }

  #begin(name: string, action: Action): void {
    const lifetime = this.#lifetimes.get(name) ?? new Subscription()
    this.#lifetimes.set(name, lifetime)
    lifetime.add(
      defer(() => this.#perform(action)).subscribe({
        next: (input) => this.#mailbox.post({ lifetime, input }),
        error: (error: unknown) => this.#subscriber.error(error),
      }),
    )
  }

  #endLifetimes(alive: ReadonlySet<string>): void {
    for (const [name, lifetime] of this.#lifetimes) {
      if (alive.has(name)) continue
      this.#lifetimes.delete(name)
      lifetime.unsubscribe()
    }
  }
}

const noLifetimes: ReadonlySet<string> = new Set()
