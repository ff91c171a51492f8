import fc from 'fast-check'
import { EMPTY, map, NEVER, Observable, Subject, Subscription, take, tap, timer, type SchedulerLike } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { MachineRun, type Machine, type Perform, type Step } from '../../src/kernel/machine.js'
import { marbles } from '../operators/marbles.js'
import { failRun, lasting, runMachine, runPlain, subscribeWith } from './run-machine.js'

type Gate = 'closed' | 'opening' | 'open' | 'broken'
type GateInput = 'open' | 'opened' | 'slam' | 'break'
type GateAction = 'listen' | 'motor'

/** `listen` runs as long as the machine; `motor` runs while the gate opens. */
const gate: Machine<Gate, GateInput, string, GateAction> = {
  start: { state: 'closed', outputs: ['ready'], effects: [{ lifetime: 'gate', action: 'listen' }] },
  reduce: (state, input): Step<Gate, string, GateAction> => {
    switch (input) {
      case 'open':
        return state === 'closed'
          ? { state: 'opening', outputs: ['opening'], effects: [{ lifetime: 'opening', action: 'motor' }] }
          : { state }
      case 'opened':
        return { state: 'open', outputs: ['open'] }
      case 'slam':
        return { state: 'closed', outputs: ['closed'] }
      case 'break':
        return { state: 'broken' }
    }
  },
  alive: (state) => new Set(state === 'opening' ? ['gate', 'opening'] : ['gate']),
  result: (state) => (state === 'broken' ? { error: 'broken' } : state === 'open' ? 'complete' : undefined),
}

const motorOf =
  (listen$: Observable<GateInput>, scheduler: SchedulerLike) =>
  (action: GateAction): Observable<GateInput> =>
    action === 'listen' ? listen$ : timer(3, scheduler).pipe(map(() => 'opened' as const))

const withoutMotor =
  (listen$: Observable<GateInput>) =>
  (action: GateAction): Observable<GateInput> => {
    if (action === 'listen') return listen$
    throw new Error('no motor')
  }

const inputs = { o: 'open', s: 'slam', b: 'break' } as const
const outputs = { r: 'ready', O: 'opening', d: 'open', c: 'closed' }

describe('a run of a machine', () => {
  it('emits outputs and completes with the result of the machine', () => {
    marbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const listen$ = cold<GateInput>('  --o-----', inputs)
      const subs = '                    ^----!   '
      const expected = '                r-O--(d|)'
      expectObservable(runMachine(gate, motorOf(listen$, scheduler))).toBe(expected, outputs)
      expectSubscriptions(listen$.subscriptions).toBe(subs)
    })
  })

  it('errors with the result of the machine', () => {
    marbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const listen$ = cold<GateInput>('  --b--', inputs)
      const subs = '                    ^-!  '
      const expected = '                r-#  '
      expectObservable(runMachine(gate, motorOf(listen$, scheduler))).toBe(expected, outputs, 'broken')
      expectSubscriptions(listen$.subscriptions).toBe(subs)
    })
  })

  it('unsubscribes an effect with its lifetime, so that its input never arrives', () => {
    marbles(({ cold, expectObservable, scheduler }) => {
      const listen$ = cold<GateInput>('  --o-s-o----', inputs)
      const expected = '                r-O-c-O--(d|)'
      expectObservable(runMachine(gate, motorOf(listen$, scheduler))).toBe(expected, outputs)
    })
  })

  it('unsubscribes all effects when it is unsubscribed', () => {
    marbles(({ cold, expectObservable, expectSubscriptions, scheduler }) => {
      const listen$ = cold<GateInput>('  --o-----', inputs)
      const unsub = '                   ---!    '
      const subs = '                    ^--!    '
      const expected = '                r-O-    '
      expectObservable(runMachine(gate, motorOf(listen$, scheduler)), unsub).toBe(expected, outputs)
      expectSubscriptions(listen$.subscriptions).toBe(subs)
    })
  })

  it('runs separately for each subscription', () => {
    marbles(({ cold, expectObservable, scheduler }) => {
      const run$ = runMachine(gate, motorOf(cold<GateInput>('--o-----', inputs), scheduler))
      expectObservable(run$).toBe('                          r-O--(d|)', outputs)
      expectObservable(run$, '----^').toBe('                 ----r-O--(d|)', outputs)
    })
  })

  it('turns the exception of an effect that cannot be started into an input', () => {
    const listen$ = new Subject<GateInput>()
    const perform = withoutMotor(listen$)
    const log: unknown[] = []
    runPlain<Gate, GateInput, string, GateAction>(gate, {
      perform: (action, inputs) => perform(action).subscribe((input) => inputs.post(input)),
      onFailure: (error) => {
        log.push(error)
        return 'slam'
      },
    }).subscribe((output) => log.push(output))
    listen$.next('open')
    expect(log).toEqual(['ready', 'opening', new Error('no motor'), 'closed'])
    expect(listen$.observed).toBe(true)
  })

  it('errors when a failure has no input, and ends the effects', () => {
    const listen$ = new Subject<GateInput>()
    const ends: unknown[] = []
    runMachine(gate, withoutMotor(listen$)).subscribe({ error: (error: unknown) => ends.push(error) })
    listen$.next('open')
    expect(ends).toEqual([new Error('no motor')])
    expect(listen$.observed).toBe(false)
  })

  it('ends an effect immediately if its start made the consumer unsubscribe', () => {
    const log: string[] = []
    const subscription = new Subscription()
    const machine: Machine<'on', never, never, 'effect'> = {
      start: { state: 'on', effects: [{ lifetime: 'on', action: 'effect' }] },
      reduce: (state) => ({ state }),
      alive: (state) => new Set([state]),
      result: () => undefined,
    }
    const run$ = runPlain(machine, {
      perform: (_action, inputs) => {
        subscription.unsubscribe()
        log.push(`ended: ${inputs.hasEnded}`)
        return () => log.push('torn down')
      },
      onFailure: failRun,
    })
    subscribeWith(subscription, run$)
    expect(log).toEqual(['ended: true', 'torn down'])
  })

  it('ends effects whose lifetime is over, then emits, then starts effects', () => {
    const log: string[] = []
    const machine: Machine<number, 'next', string, string> = {
      start: { state: 0, effects: [{ lifetime: '0', action: 'first' }] },
      reduce: (state) => ({
        state: state + 1,
        outputs: [`output ${state + 1}`],
        effects: [{ lifetime: String(state + 1), action: 'second' }],
      }),
      alive: (state) => new Set([String(state)]),
      result: () => undefined,
    }
    const next$ = new Subject<'next'>()
    const perform = (action: string): Observable<'next'> =>
      next$.pipe(tap({ subscribe: () => log.push(`start ${action}`), finalize: () => log.push(`end ${action}`) }))
    const subscription = runMachine(machine, perform).subscribe((output) => log.push(output))
    next$.next('next')
    subscription.unsubscribe()
    expect(log).toEqual(['start first', 'end first', 'output 1', 'start second', 'end second'])
    expect(next$.observed).toBe(false)
  })

  /** Answers each output with inputs, and emits it. */
  const runAnswered = (
    machine: Machine<string, string, string, string>,
    perform: (action: string) => Observable<string>,
    answers: Readonly<Record<string, readonly string[]>>,
  ): Observable<string> =>
    new Observable((subscriber) => {
      const run = new MachineRun(
        machine,
        {
          perform: (action, inputs) => perform(action).subscribe((input) => inputs.post(input)),
          onFailure: failRun,
          emit: (output, answer) => {
            subscriber.next(output)
            for (const input of answers[output] ?? []) answer(input)
          },
        },
        subscriber,
      )
      subscriber.add(run)
      run.start()
    })

  it('handles the answers to the outputs of a step after its effects and before queued inputs', () => {
    const inputs$ = new Subject<string>()
    const log: string[] = []
    const machine: Machine<string, string, string, string> = {
      start: { state: '', effects: [{ lifetime: 'all', action: 'listen' }] },
      reduce: (state, input) => {
        const step = { state: state + input, outputs: [input] }
        return input === 'a' ? { ...step, effects: [{ lifetime: 'all', action: 'effect' }] } : step
      },
      ...lasting,
      result: (state) => (state.endsWith('e') ? 'complete' : undefined),
    }
    const perform = (action: string): Observable<string> =>
      action === 'listen' ? inputs$ : EMPTY.pipe(tap({ subscribe: () => log.push(action) }))
    runAnswered(machine, perform, { a: ['b', 'c'], b: ['d'] }).subscribe({
      next: (output) => {
        log.push(output)
        if (output === 'a') inputs$.next('e')
      },
      complete: () => log.push('complete'),
    })
    inputs$.next('a')
    expect(log).toEqual(['a', 'effect', 'b', 'd', 'c', 'e', 'complete'])
  })

  it('handles no answer after the end, nor after the consumer has unsubscribed', () => {
    const endings = [(): 'complete' => 'complete', () => undefined]
    for (const [index, result] of endings.entries()) {
      const inputs$ = new Subject<string>()
      const log: string[] = []
      const machine: Machine<string, string, string, string> = {
        start: { state: '', effects: [{ lifetime: 'all', action: 'listen' }] },
        reduce: (_state, input) => ({ state: input, outputs: [input] }),
        ...lasting,
        result: (state) => (state === '' ? undefined : result()),
      }
      const subscription = runAnswered(machine, () => inputs$, { a: ['answer'] }).subscribe((output) => {
        log.push(output)
        if (index === 1) subscription.unsubscribe()
      })
      inputs$.next('a')
      expect(log).toEqual(['a'])
    }
  })

  it('calls onIdle when no input is queued, outside of a step', () => {
    const inputs$ = new Subject<number>()
    const log: (number | 'idle')[] = []
    const machine: Machine<number, number, number, 'listen'> = {
      start: { state: 0, outputs: [0], effects: [{ lifetime: 'all', action: 'listen' }] },
      reduce: (state, input) => ({ state: state + input, outputs: [input] }),
      ...lasting,
    }
    let isFirst = true
    const onIdle = (): void => {
      log.push('idle')
      if (isFirst) inputs$.next(2)
    }
    new Observable((subscriber) => {
      const emit = (output: number): void => {
        log.push(output)
        if (output !== 2) return
        isFirst = false
        inputs$.next(3)
      }
      const perform: Perform<number, 'listen'> = (_action, inputs) => inputs$.subscribe((input) => inputs.post(input))
      const run = new MachineRun(machine, { perform, onFailure: failRun, emit, onIdle }, subscriber)
      subscriber.add(run)
      run.start()
    }).subscribe()
    expect(log).toEqual([0, 'idle', 2, 3, 'idle'])
  })

  it('handles inputs of a re-entrant consumer after the step, in their order', () => {
    const inputs$ = new Subject<number>()
    const sums: Machine<number, number, number, 'listen'> = {
      start: { state: 0, effects: [{ lifetime: 'all', action: 'listen' }] },
      reduce: (state, input) => ({ state: state + input, outputs: [state + input, -input] }),
      ...lasting,
    }
    const seen: number[] = []
    runMachine(sums, () => inputs$).subscribe((output) => {
      seen.push(output)
      if (output === 1) inputs$.next(10)
      if (output === 11) inputs$.next(100)
    })
    inputs$.next(1)
    expect(seen).toEqual([1, -1, 11, -10, 111, -100])
  })

  it('discards a queued input when the lifetime of its effect ends', () => {
    const connection$ = new Subject<string>()
    const machine: Machine<'on' | 'off', string, string, 'connect'> = {
      start: { state: 'on', effects: [{ lifetime: 'on', action: 'connect' }] },
      reduce: (state, input) =>
        input === 'lost' ? { state: 'off', outputs: ['off'] } : { state, outputs: [`got ${input} while ${state}`] },
      alive: (state) => new Set([state]),
      result: () => undefined,
    }
    const seen: string[] = []
    runMachine(machine, () => connection$).subscribe((output) => {
      seen.push(output)
      if (output !== 'got message while on') return
      connection$.next('lost')
      connection$.next('stale')
    })
    connection$.next('message')
    expect(seen).toEqual(['got message while on', 'off'])
  })

  it('emits nothing after the consumer has unsubscribed during an output', () => {
    const started: string[] = []
    const machine: Machine<'on', never, number, string> = {
      start: { state: 'on', outputs: [1, 2], effects: [{ lifetime: 'on', action: 'late' }] },
      reduce: (state) => ({ state }),
      alive: () => new Set(['on']),
      result: () => undefined,
    }
    const perform = (action: string): Observable<never> => EMPTY.pipe(tap({ subscribe: () => started.push(action) }))
    const seen: number[] = []
    runMachine(machine, perform)
      .pipe(take(1))
      .subscribe((output) => seen.push(output))
    expect([seen, started]).toEqual([[1], []])
  })

  it('does not start an effect whose lifetime is not alive', () => {
    const performed: string[] = []
    const machine: Machine<'on', never, never, string> = {
      start: {
        state: 'on',
        effects: [
          { lifetime: 'off', action: 'never' },
          { lifetime: 'on', action: 'now' },
        ],
      },
      reduce: (state) => ({ state }),
      alive: (state) => new Set([state]),
      result: () => undefined,
    }
    runMachine(machine, (action) => {
      performed.push(action)
      return NEVER
    }).subscribe()
    expect(performed).toEqual(['now'])
  })
})

describe('the effects of any machine', () => {
  /** A random machine: each input names the lifetimes that are alive after it and the effects it starts. */
  interface Move {
    readonly alive: readonly number[]
    readonly begin: readonly number[]
    /** Sent during the start of an effect. */
    readonly echo: readonly number[]
  }
  const lifetimes = fc.uniqueArray(fc.nat(3), { maxLength: 4 })
  const moves = fc.array(
    fc.record<Move>({ alive: lifetimes, begin: lifetimes, echo: fc.array(fc.nat(20), { maxLength: 2 }) }),
    { minLength: 1, maxLength: 20 },
  )

  it('run exactly while their lifetime is alive, and inputs are handled in the order they came', () => {
    fc.assert(
      fc.property(moves, fc.array(fc.nat(20), { maxLength: 20 }), (table, external) => {
        const running = new Map<string, number>()
        const posted: number[] = []
        const handled: number[] = []
        const listen$ = new Subject<number>()
        const moveOf = (index: number): Move => table[index % table.length] ?? { alive: [], begin: [], echo: [] }
        const machine: Machine<Move, number, Move, string> = {
          start: { state: moveOf(0), effects: [{ lifetime: 'run', action: 'listen' }] },
          reduce: (_, input) => {
            handled.push(input)
            const move = moveOf(input)
            return {
              state: move,
              outputs: [move],
              effects: move.begin.map((lifetime) => ({ lifetime: String(lifetime), action: String(lifetime) })),
            }
          },
          alive: ({ alive }) => new Set(['run', ...alive.map(String)]),
          result: () => undefined,
        }
        const perform = (action: string): Observable<number> =>
          action === 'listen'
            ? listen$
            : new Observable((subscriber) => {
                running.set(action, (running.get(action) ?? 0) + 1)
                subscriber.add(() => running.set(action, (running.get(action) ?? 0) - 1))
              })
        const isRunning = (): string[] => [...running].filter(([, count]) => count > 0).map(([name]) => name)
        const subscription = runMachine(machine, perform).subscribe(({ alive, echo }) => {
          expect(alive.map(String)).toEqual(expect.arrayContaining(isRunning()))
          if (posted.length > 200) return
          for (const input of echo) {
            posted.push(input)
            listen$.next(input)
          }
        })
        for (const input of external) {
          posted.push(input)
          listen$.next(input)
          expect(handled).toEqual(posted)
        }
        subscription.unsubscribe()
        expect([isRunning(), listen$.observed]).toEqual([[], false])
      }),
    )
  })
})
