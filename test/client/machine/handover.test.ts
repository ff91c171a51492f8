import { describe, expect, it } from 'vitest'
import { resolveResumption } from '../../../src/client/options.js'
import type { ClientInput, ClientState, Handover } from '../../../src/client/states.js'
import {
  lastingSocket,
  lastingStream,
  broken,
  tokenOf,
  at,
  phases,
  type Signal,
  partial,
  inputs,
  step,
  doneBy,
} from './steps.js'

describe('a handover', () => {
  const handover: Handover = { id: 2, successor: undefined }
  const successor = { id: 3, token: tokenOf('second'), update: undefined, isReady: false, endingToken: undefined }
  const opening = at(phases.streaming, { lastId: 3, handover: { id: 2, successor } })
  const ready = at(phases.streaming, { lastId: 3, handover: { id: 2, successor: { ...successor, isReady: true } } })
  const message = (signal: Signal): ClientInput => ({
    type: 'message',
    connection: 3,
    event: { type: 'response', request: 'recognize', success: true, operationResult: 'Success' },
    signal,
  })

  it('is planned a twentieth before the end of a token, and not for one without an end', () => {
    const starting = (expiresAtMs: number): ClientState =>
      at(phases.starting, { connection: { id: 1, token: tokenOf('first', expiresAtMs), update: undefined } })
    const planned = (expiresAtMs: number, maxConnectionMs: number): unknown =>
      step(starting(expiresAtMs), inputs['start-answer'], {
        ...lastingSocket,
        resumption: resolveResumption({ maxConnectionMs }),
      }).effects?.at(-1)?.action
    expect(planned(120_000, 1_000_000)).toEqual({
      do: 'wait',
      delayMs: 19_000,
      ref: false,
      input: { type: 'handover-time', dueMs: 750, endingToken: 'first' },
    })
    expect(planned(1_100_000, 400_000)).toMatchObject({
      delayMs: 380_000,
      input: { dueMs: 15_000, endingToken: undefined },
    })
    expect(planned(100_000, 1_000_000)).toMatchObject({ do: 'send-audio' })
  })

  it('opens a successor when its time has come, if audio was sent on the connection', () => {
    const state = at(phases.streaming, { lastId: 2, handover })
    const opened = step(state, inputs['handover-time'], lastingSocket)
    expect([doneBy(opened), opened.state.handover?.successor?.id]).toEqual(['wait 1000, wait 20000, authorize', 3])
    expect(step(state, inputs['handover-time'], lastingSocket, { hasSentAudio: false })).toEqual({ state })
  })

  it.each<[string, ClientInput, string]>([
    ['a token', { type: 'authorized', connection: 3, token: tokenOf('second') }, 'dial'],
    ['a link', { type: 'connected', connection: 3 }, 'start'],
    ['an event', { type: 'message', connection: 3, event: partial }, ''],
    ['the announcement of its end', { type: 'leaving', connection: 3 }, ''],
  ])('continues with %s of the successor', (_what, input, expected) => {
    const next = step(opening, input, lastingSocket)
    expect([next.state.handover?.successor?.id, doneBy(next)]).toEqual([3, expected])
  })

  it.each<[string, ClientInput]>([
    ['has no token', { type: 'token-failed', connection: 3, error: broken }],
    ['has no link', { type: 'link-failed', connection: 3, error: broken }],
    ['ends', { type: 'link-ended', connection: 3 }],
    ['refuses its start', message({ type: 'start-answer', error: broken })],
    ['ends its recognition', message({ type: 'session-ended' })],
    ['is late', { type: 'successor-late' }],
  ])('is given up when the successor %s', (_what, input) => {
    expect(step(opening, input, lastingSocket)).toEqual({ state: { ...opening, handover: undefined } })
  })

  it('is given up when the successor gets the token that ends', () => {
    const ending = { ...opening, handover: { id: 2, successor: { ...successor, endingToken: 'second' } } }
    const input: ClientInput = { type: 'authorized', connection: 3, token: tokenOf('second') }
    expect(step(ending, input, lastingSocket).state.handover).toBeUndefined()
  })

  it('takes place when the successor is ready: at the next progress, when it is due, or when the connection is lost', () => {
    expect(step(opening, message({ type: 'start-answer' }), lastingSocket).state).toEqual(ready)
    const progress = { hasProgress: true }
    for (const next of [
      step(ready, inputs.read, lastingSocket, progress),
      step(ready, inputs['handover-due'], lastingSocket),
      step(ready, inputs.lost, lastingSocket),
    ]) {
      expect([next.state.phase.name, next.state.connection.id]).toEqual(['streaming', 3])
      expect(doneBy(next)).toContain('begin')
    }
    for (const [state, input] of [
      [opening, inputs.read],
      [opening, inputs['handover-due']],
      [{ ...ready, phase: phases.draining }, inputs['handover-due']],
    ] as const) {
      expect(step(state, input, lastingSocket, progress).state.connection.id).toBe(1)
    }
  })

  it('follows soon when the connection announces its end, unless a successor is opening already', () => {
    expect(doneBy(step(at(phases.streaming, { handover }), inputs.leaving, lastingSocket))).toBe('wait 100')
    expect(step(opening, inputs.leaving, lastingSocket)).toEqual({ state: opening })
  })

  it('ends with the audio, a stop and a rest', () => {
    for (const input of [inputs['audio-over'], inputs.stop, inputs['session-ended']]) {
      expect(step(ready, input, lastingSocket).state.handover).toBeUndefined()
    }
  })
})

describe('an update', () => {
  it('is sent on the connection, and is in the start of the next ones', () => {
    const { state } = step(at(phases.streaming), inputs.update, lastingStream)
    const waiting = step(state, inputs.lost, lastingStream).state
    expect(step(waiting, inputs.retry, lastingStream).state.connection.update).toEqual(inputs.update.sum)
  })

  it('that arrived after the start of a connection is sent when it streams', () => {
    const starting = at(phases.starting, { update: inputs.update.update, hasStreamed: true })
    expect(doneBy(step(starting, inputs['start-answer'], lastingStream))).toMatch(/^begin, send-update, send-audio/)
  })
})
