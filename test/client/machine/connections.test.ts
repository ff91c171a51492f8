import { describe, expect, it } from 'vitest'
import { isWait } from '../../../src/client/deadlines.js'
import type { SessionPolicy } from '../../../src/client/states.js'
import type { ErrorCode } from '../../../src/errors/error-table.js'
import { SpeechError } from '../../../src/errors/speech-error.js'
import {
  socket,
  lastingSocket,
  lost,
  refusal,
  tokenOf,
  at,
  before,
  phases,
  type PhaseKey,
  connection,
  inputs,
  type InputKey,
  step,
  doneBy,
  nameOf,
} from './steps.js'

describe('a token', () => {
  it('that is refused is replaced once, and the refusal ends the session when the same or another is refused', () => {
    const renewed = step(at(phases.starting), inputs.refused)
    expect(renewed.state.phase).toEqual(before('authorizing', { refusal }))
    expect(renewed.effects?.map(({ action }) => action)).toContainEqual({
      do: 'authorize',
      connection: 2,
      need: { refused: 'first' },
    })
    const same = { type: 'authorized', connection: 2, token: { ...tokenOf('first'), fresh: false } } as const
    expect(step(renewed.state, same).state.phase).toEqual({ name: 'failed', error: refusal })
    const other = step(renewed.state, { ...same, token: tokenOf('second') })
    expect(other.state.phase.name).toBe('connecting')
    expect(step(other.state, { ...inputs.refused, connection: 2 }).state.phase).toEqual({
      name: 'failed',
      error: refusal,
    })
  })

  it('is still renewed after an attempt to renew it failed', () => {
    const renewing = at(before('authorizing', { refusal, isResuming: true }))
    const later = new SpeechError('overloaded', 'Later.')
    const waiting = step(renewing, { type: 'token-failed', connection, error: later }, lastingSocket)
    expect(waiting.state.phase).toEqual({ name: 'waiting', isAudioOver: false, refusal, delayMs: 500 })
    const retried = step(waiting.state, inputs.retry, lastingSocket)
    expect(retried.effects?.map(({ action }) => action)).toContainEqual({
      do: 'authorize',
      connection: 2,
      need: { refused: 'first' },
    })
    // Another token arrived, and the connection with it was lost: that token was not refused.
    const connecting = at(before('connecting', { refusal, isResuming: true }))
    expect(
      step(connecting, { type: 'link-failed', connection, error: later }, lastingSocket).state.phase,
    ).toMatchObject({
      refusal: undefined,
    })
  })
})

describe('a retry', () => {
  it('follows a first attempt only after an answer that means "later"', () => {
    const outcome = (code: ErrorCode, phase: PhaseKey, policy: SessionPolicy, retryable?: boolean): string => {
      const error = new SpeechError(code, 'Said.', retryable === undefined ? {} : { retryable })
      const type = phase === 'authorizing' ? 'token-failed' : 'link-failed'
      return step(at(phases[phase]), { type, connection, error }, policy).state.phase.name
    }
    for (const phase of ['authorizing', 'connecting', 'starting'] as const) {
      for (const code of ['overloaded', 'going-away', 'connection-lost', 'too-many-attempts'] as const) {
        expect([code, phase, outcome(code, phase, lastingSocket)]).toEqual([code, phase, 'waiting'])
        expect([code, phase, outcome(code, phase, socket)]).toEqual([code, phase, 'failed'])
        expect([code, phase, outcome(code, phase, lastingSocket, false)]).toEqual([code, phase, 'failed'])
      }
      for (const code of ['connection-failed', 'connect-timeout', 'refused', 'tenant-denied', 'internal'] as const) {
        expect([code, phase, outcome(code, phase, lastingSocket)]).toEqual([code, phase, 'failed'])
      }
    }
  })

  it('is announced as reconnecting, with its delay; the steps of the next connection are not announced', () => {
    const { outputs, state } = step(at(phases.connecting), inputs.lost, lastingSocket)
    expect(outputs?.at(-1)).toEqual({
      do: 'reconnecting',
      atMs: 100_000,
      event: { attempt: 1, delayMs: 500, cause: 'connection-lost' },
    })
    expect(doneBy(step(state, inputs.retry, lastingSocket))).toBe('wait 20000, authorize')
  })

  it('does not follow when the budget leaves no time for it', () => {
    const late = at(phases.streaming, { retries: { attempts: 3, sinceMs: 39_000, servesSinceMs: Infinity } })
    expect(step(late, inputs.lost, lastingSocket).state.phase).toEqual({ name: 'failed', error: lost })
    // Progress restores the budget.
    const { state } = step(late, inputs.read, lastingSocket, { hasProgress: true })
    expect(step(state, inputs.lost, lastingSocket).state.phase.name).toBe('waiting')
  })

  it('after too-fast comes with bursts', () => {
    const error = new SpeechError('too-fast', 'Slower.', { retryable: true })
    const { outputs } = step(at(phases.streaming), { type: 'link-failed', connection, error }, lastingSocket)
    expect(outputs).toContainEqual({ do: 'slow', speed: 'with bursts' })
  })
})

describe('a later connection that is opening', () => {
  it.each<[InputKey, string]>([
    ['lost', 'waiting'],
    ['link-failed', 'waiting'],
    ['refused', 'authorizing'],
    ['start-answer, refused', 'failed'],
    ['link-ended', 'failed'],
    ['deadline', 'waiting'],
    ['session-ended', 'starting'],
    ['stop', 'stopped'],
    ['failed', 'failed'],
  ])('after %s: %s', (input, expected) => {
    const reopening = at(before('starting', { isResuming: true }), { hasStreamed: true })
    expect(nameOf(step(reopening, inputs[input], lastingSocket).state.phase)).toBe(expected)
  })
})

describe('a deadline', () => {
  it('exists in every phase that waits for another party, and in none that waits for the user', () => {
    const waits = Object.entries(phases).filter(([, { name }]) => isWait(name))
    expect(waits.map(([key]) => key)).toEqual(
      'authorizing connecting starting reusing draining finalizing unanswered closing stopping'.split(' '),
    )
  })

  it.each([
    ['authorizing', 'token-timeout'],
    ['connecting', 'connect-timeout'],
    ['starting', 'start-timeout'],
    ['draining', 'finalize-timeout'],
    ['finalizing', 'finalize-timeout'],
    ['stopping', 'stop-timeout'],
  ] as const)('of %s is a %s', (phase, code) => {
    const { phase: ended } = step(at(phases[phase]), inputs.deadline).state
    expect(ended.name === 'failed' && ended.error.code).toBe(code)
  })

  it('states from which position on the audio has no result', () => {
    const { phase } = step(at(phases.finalizing), inputs.deadline, socket, { pendingFromMs: 1_250 }).state
    expect(phase.name === 'failed' && phase.error.message).toMatch(/Pending from 1250 ms\.$/)
  })

  it('starts again with results while finalizing, and with buffered audio that is sent while draining', () => {
    const isAnew = (phase: PhaseKey, input: InputKey): boolean => {
      const { effects = [] } = step(at(phases[phase]), inputs[input], lastingSocket, { hasProgress: true })
      return effects.some(({ action }) => action.do === 'wait' && action.input.type === 'deadline')
    }
    const keys = Object.keys(phases) as PhaseKey[]
    expect(keys.filter((phase) => isAnew(phase, 'read'))).toEqual(['finalizing', 'unanswered'])
    expect(keys.filter((phase) => isAnew(phase, 'progress'))).toEqual(['draining'])
  })
})
