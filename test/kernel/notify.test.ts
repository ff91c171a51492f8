import { config, of, Subject } from 'rxjs'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { interleave } from '../../src/operators/audio/interleave.js'
import { notify } from '../../src/kernel/notify.js'
import { combineMonitors, noopMonitor } from '../../packages/server/src/monitor/service-monitor.js'

const failure = new Error('of the user')
const fail = (): never => {
  throw failure
}
const reported: unknown[] = []

beforeEach(() => {
  vi.useFakeTimers()
  reported.length = 0
  config.onUnhandledError = (error) => reported.push(error)
})
afterEach(() => {
  config.onUnhandledError = null
  vi.useRealTimers()
})

const reports = (): readonly unknown[] => {
  vi.runAllTimers()
  return reported
}

it('reports an exception later, and returns', () => {
  notify(fail)
  expect(reported).toEqual([])
  expect(reports()).toEqual([failure])
})

it('an exception of onSkew does not end the audio', () => {
  const left$ = new Subject<Uint8Array>()
  const format = { encoding: 'pcm', sampleRateHz: 8000 } as const
  const seen: unknown[] = []
  interleave(left$, of(new Uint8Array(0)), { format, maxSkewMs: 0, onSkew: fail }).subscribe({
    next: ({ length }) => seen.push(length),
    complete: () => seen.push('complete'),
    error: (error: unknown) => seen.push(error),
  })
  left$.next(new Uint8Array(320))
  left$.complete()
  expect(seen).toEqual([640, 'complete'])
  expect(reports()).toEqual([failure])
})

it('an exception of a monitor reaches neither the session nor the other monitors', () => {
  let count = 0
  const monitor = combineMonitors([
    { ...noopMonitor, refused: fail },
    { ...noopMonitor, refused: () => (count += 1) },
  ])
  monitor.refused('grpc', 'internal')
  expect([count, reports()]).toEqual([1, [failure]])
})
