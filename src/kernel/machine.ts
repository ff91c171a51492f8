import { Subscription, type Subscriber, type TeardownLogic, type Unsubscribable } from 'rxjs'
import { Mailbox } from './mailbox.js'
import { reportUnhandled } from './notify.js'

/** Something that runs beside the machine and feeds inputs to it: a connection, a deadline, a request. */
export interface Effect<Action> {
  /** The effect runs while this lifetime is alive, such as 'session', 'starting' or 'connection:2'. */
  readonly lifetime: string
  /** The action, as data. */
  readonly action: Action
}

/** The result of one input. */
export interface Step<State, Output, Action> {
  readonly state: State
  readonly outputs?: readonly Output[] | undefined
  readonly effects?: readonly Effect<Action>[] | undefined
}

/** How a machine ended. */
export type MachineResult = 'complete' | { readonly error: unknown }

/** A state machine as pure functions. It is total: every input has an answer in every state. */
export interface Machine<State, Input, Output, Action> {
  readonly start: Step<State, Output, Action>
  readonly reduce: (state: State, input: Input) => Step<State, Output, Action>
  /** The lifetimes that are alive in a state. */
  readonly alive: (state: State) => ReadonlySet<string>
  /** How the machine ended, or undefined while it runs. */
  readonly result: (state: State) => MachineResult | undefined
}

/**
 * A machine whose inputs are completed when their turn comes, with what decisions depend on and may have changed since
 * they were posted. So the machine itself depends on its state and its input alone.
 */
export const observing = <State, Posted, Input, Output, Action>(
  machine: Machine<State, Input, Output, Action>,
  observe: (posted: Posted) => Input,
): Machine<State, Posted, Output, Action> => ({
  start: machine.start,
  reduce: (state, posted) => machine.reduce(state, observe(posted)),
  alive: (state) => machine.alive(state),
  result: (state) => machine.result(state),
})

/** Where an effect posts its inputs. */
export interface Inputs<Input> {
  /** Has no effect once the effect has ended. */
  post(input: Input): void
  /** Whether the lifetime of the effect is over. */
  readonly hasEnded: boolean
}

/**
 * Starts an action. It posts inputs, at once or later; the returned teardown is executed when the lifetime of the
 * effect ends. A plain call and not an Observable, because each subscription costs an idle session 300 to 400 bytes.
 */
export type Perform<Input, Action> = (action: Action, inputs: Inputs<Input>) => TeardownLogic

/** What a machine runs on. */
export interface MachineHost<Input, Output, Action> {
  readonly perform: Perform<Input, Action>
  /** The input for an exception of `perform`. If this throws, too, the run errors. */
  onFailure(error: unknown): Input
  /**
   * Receives the errors of teardowns.
   * @default as RxJS: later, to `config.onUnhandledError`, or as an uncaught exception
   */
  readonly report?: ((error: unknown) => void) | undefined
  /**
   * Performs an output, or emits it. An input that it answers with is handled directly after the step, before all that
   * wait: the result of the output, which decisions depend on.
   */
  emit(output: Output, answer: (input: Input) => void): void
  /** Called when no more inputs wait: work that could continue endlessly must not run within a step. */
  onIdle?(): void
}

/** An item of the mailbox: the first step, or an input of an effect. */
type Posted<Input> = 'start' | { readonly lifetime: Lifetime<Input>; readonly input: Input }

/**
 * One run of a machine, which completes or errors a subscriber with its result.
 *
 * - A step first ends the effects whose lifetime is no longer alive, then emits its outputs, then starts its effects,
 *   then handles the inputs that its outputs were answered with. What an effect does when it ends belongs to the step
 *   that ends it.
 * - Inputs that arrive during a step (a consumer that re-enters, an effect that posts at once) wait in the mailbox.
 *   Those of an effect whose lifetime ends meanwhile are discarded: the machine never sees an input of an ended effect.
 * - An effect whose lifetime is not alive in the state of its own step does not start.
 * - An exception of `perform` becomes an input of the lifetime whose effect did not start.
 * - A teardown that throws changes nothing: the other ones run, the step continues, and the error is reported.
 * - Unsubscribing ends all effects and ignores the inputs that wait.
 */
export class MachineRun<State, Input, Output, Action> implements Unsubscribable {
  readonly #machine: Machine<State, Input, Output, Action>
  readonly #host: MachineHost<Input, Output, Action>
  readonly #subscriber: Pick<Subscriber<never>, 'closed' | 'complete' | 'error'>
  readonly #mailbox: Mailbox<Posted<Input>>
  #lifetimes: readonly Lifetime<Input>[] = []
  /** Of the outputs of the current step. */
  #answers: readonly Input[] = none
  /** Defined by the first step. */
  #state!: State

  constructor(
    machine: Machine<State, Input, Output, Action>,
    host: MachineHost<Input, Output, Action>,
    subscriber: Pick<Subscriber<never>, 'closed' | 'complete' | 'error'>,
  ) {
    this.#mailbox = new Mailbox(
      (posted) => this.#handle(posted),
      () => host.onIdle?.(),
    )
    this.#machine = machine
    this.#host = host
    this.#subscriber = subscriber
  }

  start(): void {
    this.#mailbox.post('start')
  }

  unsubscribe(): void {
    this.#mailbox.clear()
    this.#endEffects(noLifetimes)
  }

  #handle(posted: Posted<Input>): void {
    if (this.#subscriber.closed) return
    if (posted === 'start') this.#apply(this.#machine.start)
    else if (!posted.lifetime.hasEnded) this.#apply(this.#machine.reduce(this.#state, posted.input))
  }

  #apply({ state, outputs = none, effects = none }: Step<State, Output, Action>): void {
    // Most steps keep the state, and with it all lifetimes.
    const isNew = state !== this.#state
    this.#state = state
    const alive = isNew || effects.length > 0 ? this.#machine.alive(state) : noLifetimes
    if (isNew) this.#endEffects(alive)
    for (const output of outputs) {
      if (!this.#subscriber.closed) this.#host.emit(output, this.#answer)
    }
    const answers = this.#answers
    this.#answers = none
    for (const { lifetime, action } of effects) {
      if (alive.has(lifetime) && !this.#subscriber.closed) this.#begin(lifetime, action)
    }
    const result = isNew ? this.#machine.result(state) : undefined
    if (result === 'complete') this.#subscriber.complete()
    else if (result !== undefined) this.#subscriber.error(result.error)
    for (const input of answers) {
      if (!this.#subscriber.closed) this.#apply(this.#machine.reduce(this.#state, input))
    }
  }

  readonly #answer = (input: Input): void => {
    this.#answers = [...this.#answers, input]
  }

  #begin(name: string, action: Action): void {
    const lifetime = this.#lifetimeOf(name)
    try {
      lifetime.add(this.#host.perform(action, lifetime))
    } catch (error) {
      this.#fail(lifetime, error)
    }
    // The consumer may have unsubscribed while the effect started.
    if (lifetime.hasEnded) lifetime.tearDown(this.#host)
  }

  #fail(lifetime: Lifetime<Input>, failure: unknown): void {
    try {
      lifetime.post(this.#host.onFailure(failure))
    } catch (error) {
      this.#subscriber.error(error)
    }
  }

  #lifetimeOf(name: string): Lifetime<Input> {
    const present = this.#lifetimes.find((lifetime) => lifetime.name === name)
    if (present !== undefined) return present
    const lifetime = new Lifetime(name, this.#mailbox)
    this.#lifetimes = this.#lifetimes.concat(lifetime)
    return lifetime
  }

  #endEffects(alive: ReadonlySet<string>): void {
    if (this.#lifetimes.every(({ name }) => alive.has(name))) return
    const ended = this.#lifetimes.filter(({ name }) => !alive.has(name))
    this.#lifetimes = this.#lifetimes.filter(({ name }) => alive.has(name))
    // Before the first teardown, which may post to another one.
    for (const lifetime of ended) lifetime.hasEnded = true
    for (const lifetime of ended) lifetime.tearDown(this.#host)
  }
}

/** A lifetime that is alive: all of its effects post to it, and end with it. */
class Lifetime<Input> implements Inputs<Input> {
  readonly name: string
  readonly #mailbox: Mailbox<Posted<Input>>
  #teardown: TeardownLogic = undefined
  /** Few lifetimes have more than one effect to end. */
  #others: Subscription | undefined
  hasEnded = false

  constructor(name: string, mailbox: Mailbox<Posted<Input>>) {
    this.name = name
    this.#mailbox = mailbox
  }

  post(input: Input): void {
    if (!this.hasEnded) this.#mailbox.post({ lifetime: this, input })
  }

  add(teardown: TeardownLogic): void {
    if (this.#teardown === undefined) this.#teardown = teardown
    else if (teardown !== undefined) (this.#others ??= new Subscription()).add(teardown)
  }

  tearDown(host: Pick<MachineHost<never, never, never>, 'report'>): void {
    const teardowns = [this.#teardown, this.#others]
    this.#teardown = undefined
    this.#others = undefined
    for (const teardown of teardowns) {
      try {
        if (typeof teardown === 'function') teardown()
        else teardown?.unsubscribe()
      } catch (error) {
        if (host.report === undefined) reportUnhandled(error)
        else host.report(error)
      }
    }
  }
}

const none: readonly never[] = []
const noLifetimes: ReadonlySet<string> = new Set()
