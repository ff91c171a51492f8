import { describe, expect, it } from 'vitest'
import type { ClientEffect, ClientState, ClientStep, SessionPolicy } from '../../../src/client/states.js'
import {
  socket,
  stream,
  lastingSocket,
  lastingStream,
  tokenOf,
  at,
  phases,
  type PhaseKey,
  failedFinal,
  inputs,
  type InputKey,
  step,
  doneBy,
  nameOf,
  type Seen,
} from './steps.js'

describe('a final', () => {
  it('with an error ends the connection if the service does not, with the error of the final', () => {
    const held = step(at(phases.streaming), inputs.held, stream)
    const [{ lifetime, action }] = held.effects as readonly [ClientEffect]
    if (action.do !== 'wait') throw new TypeError('It waits.')
    expect([lifetime, action.delayMs]).toEqual(['sending:1', 1_000])
    expect(step(held.state, action.input, stream).state.phase).toMatchObject({
      name: 'failed',
      error: { code: 'internal' },
    })
  })

  it('that crossed the finalize request does not complete a session whose connection is lost before the rest is read', () => {
    const once: SessionPolicy = { ...lastingSocket, resumption: undefined }
    const phaseAfter = (isUnread: boolean, policy = once): string =>
      step(at(phases.closing), inputs.lost, policy, { isUnread }).state.phase.name
    expect([phaseAfter(false), phaseAfter(true)]).toEqual(['done', 'failed'])
    expect(phaseAfter(true, { ...once, isContinuous: false })).toBe('done')
  })

  it('with an error is never the regular end', () => {
    for (const input of Object.values(inputs)) {
      for (const phase of Object.values(phases)) {
        for (const policy of [socket, stream, lastingSocket, lastingStream]) {
          const { name } = step(at(phase, { pendingFinals: [failedFinal] }), input, policy, { isAnswered: true }).state
            .phase
          if (phase.name !== 'done') expect(name).not.toBe('done')
        }
      }
    }
  })

  it('with an error is emitted when the session ends, and becomes milestones when it continues', () => {
    const held = step(at(phases.streaming), inputs.held, lastingSocket).state
    expect(doneBy(step(held, inputs.failed, lastingSocket))).toBe('read, drop, failed, close-ledger')
    expect(step(held, inputs.lost, lastingSocket).outputs?.[0]).toEqual({ do: 'continue-after', finals: [failedFinal] })
    const finalizing = { ...held, phase: phases.finalizing }
    // Audio that was sent is not settled by a final with an error.
    expect(doneBy(step(finalizing, inputs['session-ended'], lastingSocket))).toBe('read, drop, failed, close-ledger')
  })

  it('of every channel makes the way in which the connection ends irrelevant', () => {
    const answered = { isAnswered: true }
    expect(step(at(phases.finalizing), inputs.lost, lastingStream, answered).state.phase.name).toBe('done')
    expect(step(at(phases.streaming), inputs.lost, lastingStream, answered).state.phase.name).toBe('waiting')
  })

  it('of every channel ends a session of one recognition', () => {
    expect(step(at(phases.streaming), inputs['all finals'], stream).state.phase.name).toBe('done')
    expect(step(at(phases.streaming), inputs['all finals'], lastingStream).state.phase.name).toBe('streaming')
  })
})

/**
 * Pending finals are `emitted` as they are, `continued` by the next recognition, `dropped`, or still `held`. The
 * session has one pending final; no sound follows.
 */
describe('a pending final', () => {
  const fateIn = ({ state, outputs = [] }: ClientStep): string => {
    const isEmitted = outputs.some((output) => output.do === 'read' && output.event === failedFinal)
    const isContinued = outputs.some((output) => output.do === 'continue-after' && output.finals.includes(failedFinal))
    const isHeld = state.pendingFinals.includes(failedFinal)
    return [isEmitted && 'emitted', isContinued && 'continued', isHeld && 'held'].filter(Boolean).join('+') || 'dropped'
  }
  const noResumption: SessionPolicy = { ...lastingSocket, resumption: undefined }
  const oneRecognition: SessionPolicy = { ...lastingSocket, isContinuous: false }
  const fixedToken: SessionPolicy = { ...lastingSocket, isTokenRenewable: false }
  const policies = { lastingSocket, lastingStream, noResumption, oneRecognition, fixedToken }

  it.each<[PhaseKey, InputKey, keyof typeof policies, string, string]>([
    // The connection is lost.
    ['streaming', 'lost', 'lastingSocket', 'waiting', 'continued+held'],
    ['draining', 'lost', 'lastingSocket', 'waiting+over', 'continued+held'],
    ['finalizing', 'lost', 'lastingSocket', 'waiting+over', 'continued+held'],
    ['unanswered', 'lost', 'lastingSocket', 'waiting+over', 'continued+held'],
    ['closing', 'lost', 'lastingSocket', 'waiting+over', 'continued+held'],
    ['stopping', 'lost', 'lastingSocket', 'failed', 'emitted'],
    ['streaming', 'lost', 'noResumption', 'failed', 'emitted'],
    ['finalizing', 'lost', 'noResumption', 'failed', 'emitted'],
    ['closing', 'lost', 'noResumption', 'failed', 'emitted'],
    ['streaming', 'lost', 'oneRecognition', 'waiting', 'continued+held'],
    // The token is refused.
    ['streaming', 'refused', 'lastingSocket', 'waiting', 'continued+held'],
    ['finalizing', 'refused', 'lastingSocket', 'waiting+over', 'continued+held'],
    ['closing', 'refused', 'lastingSocket', 'waiting+over', 'continued+held'],
    ['streaming', 'refused', 'fixedToken', 'failed', 'emitted'],
    ['finalizing', 'refused', 'fixedToken', 'failed', 'emitted'],
    ['closing', 'refused', 'fixedToken', 'failed', 'emitted'],
    ['stopping', 'refused', 'lastingSocket', 'failed', 'emitted'],
    // The service ends the session with an error that no other connection would help.
    ['streaming', 'session-ended, error', 'lastingSocket', 'failed', 'emitted'],
    ['finalizing', 'session-ended, error', 'lastingSocket', 'failed', 'emitted'],
    ['closing', 'session-ended, error', 'lastingSocket', 'failed', 'emitted'],
    ['stopping', 'session-ended, error', 'lastingSocket', 'stopped', 'dropped'],
    // The service closes the connection.
    ['streaming', 'link-ended', 'lastingSocket', 'waiting', 'continued+held'],
    ['draining', 'link-ended', 'lastingSocket', 'waiting+over', 'continued+held'],
    ['finalizing', 'link-ended', 'lastingSocket', 'waiting+over', 'continued+held'],
    ['closing', 'link-ended', 'lastingSocket', 'failed', 'emitted'],
    ['stopping', 'link-ended', 'lastingSocket', 'stopped', 'dropped'],
    ['streaming', 'link-ended', 'lastingStream', 'waiting', 'continued+held'],
    ['draining', 'link-ended', 'lastingStream', 'waiting+over', 'continued+held'],
    ['finalizing', 'link-ended', 'lastingStream', 'waiting+over', 'continued+held'],
    ['unanswered', 'link-ended', 'lastingStream', 'waiting+over', 'continued+held'],
    ['streaming', 'link-ended', 'noResumption', 'failed', 'emitted'],
    // The service ends the recognition.
    ['streaming', 'session-ended', 'lastingSocket', 'paused', 'continued+held'],
    ['streaming', 'session-ended', 'oneRecognition', 'failed', 'emitted'],
    ['draining', 'session-ended', 'lastingSocket', 'failed', 'emitted'],
    ['finalizing', 'session-ended', 'lastingSocket', 'failed', 'emitted'],
    ['unanswered', 'session-ended', 'lastingSocket', 'closing', 'held'],
    ['closing', 'finalize-answer', 'lastingSocket', 'failed', 'emitted'],
    ['closing', 'finalize-answer, refused', 'lastingSocket', 'failed', 'emitted'],
    ['stopping', 'session-ended', 'lastingSocket', 'stopped', 'dropped'],
    // Another recognition follows that pause, or none.
    ['paused', 'sound', 'lastingSocket', 'starting', 'held'],
    ['paused', 'link-ended', 'lastingSocket', 'paused+alone', 'held'],
    ['starting', 'start-answer', 'lastingSocket', 'streaming', 'dropped'],
    ['starting', 'failed', 'lastingSocket', 'failed', 'emitted'],
    ['paused', 'audio-over', 'lastingSocket', 'failed', 'emitted'],
    ['paused', 'stop', 'lastingSocket', 'stopped', 'dropped'],
    ['paused', 'failed', 'lastingSocket', 'failed', 'emitted'],
    // The service does not answer in time.
    ['draining', 'deadline', 'lastingSocket', 'failed', 'emitted'],
    ['finalizing', 'deadline', 'lastingSocket', 'failed', 'emitted'],
    ['unanswered', 'deadline', 'lastingSocket', 'failed', 'emitted'],
    ['closing', 'deadline', 'lastingSocket', 'failed', 'emitted'],
    ['stopping', 'deadline', 'lastingSocket', 'failed', 'emitted'],
    // The user stops the session, or ends its audio.
    ['streaming', 'stop', 'lastingSocket', 'stopping', 'held'],
    ['finalizing', 'stop', 'lastingSocket', 'stopping', 'held'],
    ['finalizing', 'stop', 'lastingStream', 'stopped', 'dropped'],
    ['closing', 'stop', 'lastingSocket', 'stopped', 'emitted'],
    ['closing', 'stop', 'lastingStream', 'stopped', 'emitted'],
    ['stopping', 'stop-answer', 'lastingSocket', 'stopped', 'dropped'],
    ['stopping', 'stop-answer, refused', 'lastingSocket', 'failed', 'emitted'],
    ['streaming', 'audio-over', 'lastingSocket', 'finalizing', 'held'],
    ['draining', 'drained', 'lastingSocket', 'finalizing', 'held'],
    // Something of the user fails.
    ['streaming', 'failed', 'lastingSocket', 'failed', 'emitted'],
    ['finalizing', 'failed', 'lastingSocket', 'failed', 'emitted'],
    ['closing', 'failed', 'lastingSocket', 'failed', 'emitted'],
  ])('in %s, %s, %s: the session is %s, the final %s', (phase, input, policy, expected, fate) => {
    const next = step(at(phases[phase], { pendingFinals: [failedFinal] }), inputs[input], policies[policy])
    expect([nameOf(next.state.phase), fateIn(next)]).toEqual([expected, fate])
  })

  it.each<[InputKey, Partial<Seen>, boolean, number, string]>([
    ['handover-due', {}, true, 3, 'continued'],
    ['handover-due', {}, false, 1, 'held'],
    ['read', { hasProgress: true }, true, 3, 'continued'],
    ['read', {}, true, 1, 'held'],
    ['lost', {}, true, 3, 'continued'],
  ])('during a handover, %s, facts %o, successor ready %s: connection %i, the final %s', (...row) => {
    const [input, facts, isReady, id, fate] = row
    const successor = { id: 3, token: tokenOf('second'), update: undefined, isReady, endingToken: undefined }
    const state = at(phases.streaming, { pendingFinals: [failedFinal], lastId: 3, handover: { id: 2, successor } })
    const next = step(state, inputs[input], lastingSocket, facts)
    expect([next.state.phase.name, next.state.connection.id, fateIn(next)]).toEqual(['streaming', id, fate])
  })

  it('is followed by the next recognition if there is sound, also after a refused finalize request', () => {
    for (const [phase, input] of [
      ['streaming', 'session-ended'],
      ['draining', 'session-ended'],
      ['closing', 'finalize-answer, refused'],
    ] as const) {
      const state = at(phases[phase], { pendingFinals: [failedFinal] })
      const next = step(state, inputs[input], lastingSocket, { hasSound: true })
      expect([next.state.phase.name, fateIn(next)]).toEqual(['starting', 'continued+held'])
    }
  })

  it('is emitted too when the budget leaves no time for another attempt', () => {
    const retries = { attempts: 3, sinceMs: 39_000, servesSinceMs: Infinity }
    const next = step(at(phases.streaming, { pendingFinals: [failedFinal], retries }), inputs.lost, lastingSocket)
    expect([next.state.phase.name, fateIn(next)]).toEqual(['failed', 'emitted+continued'])
    expect(doneBy(next)).toBe('continue-after, report-ledger, read, drop, failed, close-ledger')
  })
})

describe('a recognition that the service ends by itself', () => {
  const sound = { hasSound: true }
  const idle = { hasSound: true, progressMs: 0, nowMs: 1_000 }
  it.each<[string, SessionPolicy, Partial<Seen>, PhaseKey, InputKey, string, string]>([
    ['waits for a sound', lastingSocket, {}, 'streaming', 'session-ended', 'paused', 'continue-after, pause, listen'],
    [
      'is followed by the next',
      lastingSocket,
      sound,
      'streaming',
      'session-ended',
      'starting',
      'continue-after, pause, wait 10000, restart',
    ],
    [
      'is followed by the next when the audio is over',
      lastingSocket,
      sound,
      'draining',
      'session-ended',
      'starting+over',
      'continue-after, pause, wait 10000, restart',
    ],
    [
      'is retried when it made no progress',
      lastingSocket,
      idle,
      'streaming',
      'session-ended',
      'waiting',
      'continue-after, pause, slow, continue-after, report-ledger, reconnecting, wait 500',
    ],
    [
      'is the last in silence',
      lastingSocket,
      {},
      'draining',
      'session-ended',
      'done',
      'pause, drop, done, close-ledger',
    ],
    [
      'takes another connection',
      lastingStream,
      sound,
      'streaming',
      'link-ended',
      'authorizing',
      'continue-after, pause, wait 20000, authorize',
    ],
    [
      'takes another connection when the audio is over',
      lastingStream,
      sound,
      'draining',
      'link-ended',
      'authorizing+over',
      'continue-after, pause, wait 20000, authorize',
    ],
    [
      'is a loss without its finals',
      lastingStream,
      { ...sound, isWhole: false },
      'streaming',
      'link-ended',
      'waiting',
      'continue-after, report-ledger, reconnecting, wait 500',
    ],
    [
      'is a loss without its finals while finalizing',
      lastingStream,
      { ...sound, isWhole: false },
      'unanswered',
      'link-ended',
      'waiting+over',
      'continue-after, report-ledger, reconnecting, wait 500',
    ],
    [
      'is the answer to finalize',
      lastingStream,
      sound,
      'unanswered',
      'link-ended',
      'done',
      'settle, drop, done, close-ledger',
    ],
    [
      'is not the answer when it left audio unread',
      lastingStream,
      { ...sound, isUnread: true },
      'unanswered',
      'link-ended',
      'authorizing+over',
      'continue-after, pause, wait 20000, authorize',
    ],
    [
      'is not the answer when it left audio unread and the connection closes instead of an answer',
      lastingSocket,
      { ...sound, isUnread: true },
      'closing',
      'link-ended',
      'authorizing+over',
      'continue-after, pause, wait 20000, authorize',
    ],
    [
      'is not the answer when it left audio unread and the answer is late',
      lastingSocket,
      { ...sound, isUnread: true },
      'closing',
      'deadline',
      'authorizing+over',
      'continue-after, pause, wait 20000, authorize',
    ],
    [
      'is the answer when the service says so',
      lastingSocket,
      { ...sound, isUnread: true },
      'closing',
      'finalize-answer',
      'done',
      'settle, drop, done, close-ledger',
    ],
    [
      'is followed by the next when finalize was refused',
      lastingSocket,
      sound,
      'closing',
      'finalize-answer, refused',
      'starting+over',
      'expect-finals, continue-after, pause, wait 10000, restart',
    ],
    [
      'is the last when finalize was refused in silence',
      lastingSocket,
      {},
      'closing',
      'finalize-answer, refused',
      'done',
      'expect-finals, pause, drop, done, close-ledger',
    ],
    [
      'ends a session of one recognition',
      { ...lastingSocket, isContinuous: false },
      sound,
      'streaming',
      'session-ended',
      'done',
      'drop, done, close-ledger',
    ],
  ])('%s', (_what, policy, facts, phase, input, expected, done) => {
    const next = step(at(phases[phase]), inputs[input], policy, facts)
    expect([nameOf(next.state.phase), doneBy(next)]).toEqual([expected, done])
  })

  it('drops the rest as silence, and not as lost, if it has no sound', () => {
    const causeOf = ({ outputs = [] }: ClientStep): unknown => outputs.find((output) => output.do === 'drop')
    const ended = inputs['session-ended']
    expect(causeOf(step(at(phases.draining), ended, lastingSocket))).toEqual({ do: 'drop', cause: 'silence' })
    expect(causeOf(step(at(phases.draining), ended, socket))).toEqual({ do: 'drop', cause: 'ended' })
  })

  it('is announced as followed by another one, unless the connection is lost meanwhile', () => {
    const paused = step(at(phases.streaming), inputs['session-ended'], lastingSocket, sound).state
    const begins = (state: ClientState): unknown =>
      step(state, inputs['start-answer'], lastingSocket).outputs?.find((output) => output.do === 'begin')
    expect(begins(paused)).toEqual({ do: 'begin', isNextRecognition: true })
    expect(begins(at(phases.starting))).toEqual({ do: 'begin', isNextRecognition: false })
  })
})
