import { Observable, type Subscription } from 'rxjs'
import { MachineRun, type Machine, type MachineHost } from '../../src/kernel/machine.js'

/** What a machine with one lifetime, which lasts, has in common with others. */
export const lasting = { alive: (): ReadonlySet<string> => new Set(['all']), result: () => undefined } as const

/** Of a machine without an input for a failure. */
export const failRun = (error: unknown): never => {
  throw error
}

/** Runs a machine that emits its outputs: each subscription is a separate run. */
export const runPlain = <State, Input, Output, Action>(
  machine: Machine<State, Input, Output, Action>,
  host: Omit<MachineHost<Input, Output, Action>, 'emit'>,
): Observable<Output> =>
  new Observable((subscriber) => {
    const run = new MachineRun(machine, { ...host, emit: (output) => subscriber.next(output) }, subscriber)
    // Added and not returned: the consumer may unsubscribe while the first step runs.
    subscriber.add(run)
    run.start()
  })

/** The same for a machine whose effects are Observables. */
export const runMachine = <State, Input, Output, Action>(
  machine: Machine<State, Input, Output, Action>,
  perform: (action: Action) => Observable<Input>,
): Observable<Output> =>
  runPlain(machine, {
    perform: (action, inputs) => perform(action).subscribe((input) => inputs.post(input)),
    onFailure: failRun,
  })

/** Subscribes so that the subscription can end the run while it starts. */
export const subscribeWith = (subscription: Subscription, run$: Observable<unknown>): void => {
  new Observable((subscriber) => {
    subscription.add(subscriber)
    run$.subscribe(subscriber)
  }).subscribe()
}
