import { config, Subscription } from 'rxjs'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Machine, Perform } from '../../src/kernel/machine.js'
import { failRun, runPlain, subscribeWith } from './run-machine.js'

describe('a teardown that throws', () => {
  let reported: unknown[] = []
  beforeEach(() => {
    vi.useFakeTimers()
    reported = []
    config.onUnhandledError = (error) => reported.push(error)
  })
  afterEach(() => {
    vi.useRealTimers()
    config.onUnhandledError = null
  })

  /** Ends the lifetime 'on', emits and starts an effect in the same step, and ends at the second input. */
  const machine: Machine<'on' | 'off' | 'ended', 'next', string, string> = {
    start: {
      state: 'on',
      effects: ['listen', 'first', 'second', 'third'].map((action) => ({
        lifetime: action === 'listen' ? 'all' : 'on',
        action,
      })),
    },
    reduce: (state) =>
      state === 'on'
        ? { state: 'off', outputs: ['off'], effects: [{ lifetime: 'off', action: 'fourth' }] }
        : { state: 'ended' },
    alive: (state) => new Set(state === 'ended' ? [] : ['all', state]),
    result: (state) => (state === 'ended' ? 'complete' : undefined),
  }

  const started = (report?: (error: unknown) => void) => {
    const log: string[] = []
    let post = (): void => undefined
    const perform: Perform<'next', string> = (action, inputs) => {
      log.push(`start ${action}`)
      if (action === 'listen') {
        post = () => inputs.post('next')
        return undefined
      }
      return () => {
        log.push(`end ${action}`)
        throw new Error(action)
      }
    }
    const subscription = runPlain(machine, { perform, onFailure: failRun, report }).subscribe({
      next: (output) => log.push(output),
      complete: () => log.push('complete'),
    })
    const next = (): readonly string[] => {
      log.length = 0
      post()
      return log
    }
    return { log, next, subscription }
  }
  /** RxJS wraps the errors of a `Subscription`. */
  const messages = (errors: readonly unknown[]): readonly string[] =>
    errors.map((error) => String(error).replace(/.*Error: /s, ''))

  it('lets the step finish: the other teardowns run, then the outputs, the effects and the result follow', () => {
    const { next } = started()
    expect(next()).toEqual(['end first', 'end second', 'end third', 'off', 'start fourth'])
    expect(next()).toEqual(['end fourth', 'complete'])
    expect(reported).toEqual([])
    vi.runAllTimers()
    expect(messages(reported)).toEqual(['first', 'third', 'fourth'])
    expect(String(reported[1])).toContain('second')
  })

  it('is reported as uncaught if nothing receives unhandled errors', () => {
    config.onUnhandledError = null
    const { next } = started()
    next()
    expect(() => vi.runAllTimers()).toThrow('first')
  })

  it('is reported to the host at once if it receives such errors', () => {
    const errors: unknown[] = []
    const { next } = started((error) => errors.push(error))
    next()
    expect(messages(errors)).toEqual(['first', 'third'])
    vi.runAllTimers()
    expect(reported).toEqual([])
  })

  it('does not reach a consumer that unsubscribes', () => {
    const { log, subscription } = started()
    log.length = 0
    subscription.unsubscribe()
    expect(log).toEqual(['end first', 'end second', 'end third'])
    vi.runAllTimers()
    expect(messages(reported)).toEqual(['first', 'third'])
  })

  it('does not reach the effect that is ended while it starts', () => {
    const subscription = new Subscription()
    const run$ = runPlain(machine, {
      perform: (action) => {
        subscription.unsubscribe()
        return () => {
          throw new Error(action)
        }
      },
      onFailure: failRun,
    })
    subscribeWith(subscription, run$)
    vi.runAllTimers()
    expect(messages(reported)).toEqual(['listen'])
  })
})
