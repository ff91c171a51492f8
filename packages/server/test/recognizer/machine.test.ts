import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../../../src/errors/error-table.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Effect, Step } from '../../../../src/kernel/machine.js'
import {
  recognizerMachine,
  endings,
  type ClientMessage,
  type EndCause,
  type RecognizerAction,
  type RecognizerInput,
  type RecognizerOutput,
  type RecognizerState,
} from '../../src/recognizer/machine.js'
import type { RecognitionSession } from '../../src/recognizer/recognition-session.js'
import { itIsTotal } from '../sessions/machine-laws.js'

const machine = recognizerMachine

const recognition = { recognitionId: 'r1' } as unknown as RecognitionSession
const error = (code: ErrorCode): SpeechError => new SpeechError(code, 'Why.')

const states = {
  opened: { name: 'opened' },
  started: { name: 'started', before: 'idle' },
  running: { name: 'running', recognition, isDraining: false, isTakingAudio: true },
  draining: { name: 'running', recognition, isDraining: true, isTakingAudio: false },
  flushing: { name: 'flushing', recognition, isDraining: false },
  leaving: { name: 'flushing', recognition, isDraining: true },
  idle: { name: 'idle' },
} as const satisfies Readonly<Record<string, RecognizerState>>
type StateName = keyof typeof states

const shownOutput = (output: RecognizerOutput): string => {
  switch (output.type) {
    case 'response':
      return `${output.request} ${output.error?.code ?? 'ok'}${output.recognitionId === '' ? '' : ` ${output.recognitionId}`}`
    case 'failure':
    case 'fault':
      return `${output.type} ${output.error.code}`
    case 'declined':
      return `<declined ${output.error.code}>`
    default:
      return `<${output.type}>`
  }
}

const shownEffect = ({ lifetime, action }: Effect<RecognizerAction>): string =>
  action.type === 'wait'
    ? `${lifetime}: wait ${action.timeout}${action.delayMs === undefined ? '' : ` ${action.delayMs}`}`
    : `${lifetime}: ${action.type}`

/** A step in one line: the next state or the close, what is sent and reported, and what starts. */
const shown = ({ state, outputs = [], effects = [] }: Step<RecognizerState, RecognizerOutput, RecognizerAction>) => {
  const next =
    state.name !== 'ended'
      ? state.name
      : state.result === 'complete'
        ? 'close'
        : `close ${(state.result.error as SpeechError).code}`
  const begun = effects.filter(({ action }) => action.type !== 'next-message').map(shownEffect)
  return [next, outputs.map(shownOutput).join(', '), begun.join(', ')].join(' | ').replace(/( \| )+$/, '')
}

const message = (decoded: ClientMessage): RecognizerInput => ({ type: 'message', message: decoded })
const end = (cause: EndCause, code?: ErrorCode): RecognizerInput => ({
  type: 'end',
  cause,
  error: code === undefined ? undefined : error(code),
})
const request = { audioFormat: 'pcm', modelName: 'm', sampleRateHz: 8000 } as const
const excess = error('too-many-requests')

const inputs = {
  recognize: message({ type: 'recognize', request }),
  'a recognize beyond the burst': message({ type: 'recognize', request, excess }),
  'a recognize with a bad field': message({
    type: 'invalid-request',
    request: 'recognize',
    error: error('invalid-field'),
  }),
  'stop-recognition': message({ type: 'stop-recognition' }),
  'a stop-recognition beyond the burst': message({ type: 'stop-recognition', excess }),
  'finalize-recognition': message({ type: 'finalize-recognition' }),
  'a finalize-recognition beyond the burst': message({ type: 'finalize-recognition', excess }),
  'audio that no recognition takes': message({ type: 'audio' }),
  'a recognition that is ready': { type: 'ready', recognition },
  'a recognition that cannot be opened': { type: 'not-ready', error: error('model-denied') },
  'a recognition that takes no more audio': { type: 'audio-closed' },
  'a recognition that ended': {
    type: 'recognition-ended',
    final: { message: 'final-result', operationResult: 'Success', text: '' },
  },
  'the timeout open': { type: 'timeout', timeout: 'open' },
  'the timeout idle': { type: 'timeout', timeout: 'idle' },
  'the timeout session': { type: 'timeout', timeout: 'session' },
  'the timeout pause': { type: 'timeout', timeout: 'pause' },
  'the timeout flush': { type: 'timeout', timeout: 'flush' },
  'a drain': { type: 'drain', pauseWithinMs: 8 },
  'a drain without time': { type: 'drain', pauseWithinMs: 0 },
  'a client that left': end('client-left'),
  'a revoked token': end('revoked', 'unauthenticated'),
  'an unreadable message': end('unreadable', 'invalid-json'),
  'too many requests': end('too-many-requests', 'too-many-requests'),
  'refused audio': end('refused-audio', 'too-fast'),
  'a recognition that failed': end('recognition-failed', 'engine-failed'),
  'a fault': end('fault', 'internal'),
} as const satisfies Readonly<Record<string, RecognizerInput>>

/** What a step does, by input and state; an omitted state ignores the input. */
const table: Readonly<Record<keyof typeof inputs, Readonly<Partial<Record<StateName, string>>>>> = {
  recognize: {
    opened: 'started |  | started: wait open, started: open',
    started: 'started | <declined already-started>, recognize already-started',
    running: 'running | <declined already-started>, recognize already-started',
    draining: 'running | <declined already-started>, recognize already-started',
    flushing: 'flushing | <declined already-started>, recognize already-started',
    leaving: 'flushing | <declined already-started>, recognize already-started',
    idle: 'started |  | started: wait open, started: open',
  },
  'a recognize beyond the burst': {
    opened: 'opened | <declined too-many-requests>, recognize too-many-requests',
    started: 'started | <declined too-many-requests>, recognize too-many-requests',
    running: 'running | <declined too-many-requests>, recognize too-many-requests',
    draining: 'running | <declined too-many-requests>, recognize too-many-requests',
    flushing: 'flushing | <declined too-many-requests>, recognize too-many-requests',
    leaving: 'flushing | <declined too-many-requests>, recognize too-many-requests',
    idle: 'idle | <declined too-many-requests>, recognize too-many-requests',
  },
  'a recognize with a bad field': {
    opened: 'opened | <declined invalid-field>, recognize invalid-field',
    started: 'started | <declined invalid-field>, recognize invalid-field',
    running: 'running | <declined already-started>, recognize already-started',
    draining: 'running | <declined already-started>, recognize already-started',
    flushing: 'flushing | <declined already-started>, recognize already-started',
    leaving: 'flushing | <declined already-started>, recognize already-started',
    idle: 'idle | <declined invalid-field>, recognize invalid-field',
  },
  'stop-recognition': {
    opened: 'opened | <declined no-recognition>, stop-recognition no-recognition',
    started: 'started | <declined no-recognition>, stop-recognition no-recognition',
    running: 'idle | stop-recognition ok r1, <idle> | idle: wait idle',
    draining: 'close going-away | stop-recognition ok r1, <idle>',
    flushing: 'idle | stop-recognition ok r1, <idle> | idle: wait idle',
    leaving: 'close going-away | stop-recognition ok r1, <idle>',
    idle: 'idle | <declined no-recognition>, stop-recognition no-recognition',
  },
  'a stop-recognition beyond the burst': {
    opened: 'opened | <declined too-many-requests>, stop-recognition too-many-requests',
    started: 'started | <declined too-many-requests>, stop-recognition too-many-requests',
    running: 'idle | stop-recognition ok r1, <idle> | idle: wait idle',
    draining: 'close going-away | stop-recognition ok r1, <idle>',
    flushing: 'idle | stop-recognition ok r1, <idle> | idle: wait idle',
    leaving: 'close going-away | stop-recognition ok r1, <idle>',
    idle: 'idle | <declined too-many-requests>, stop-recognition too-many-requests',
  },
  'finalize-recognition': {
    opened: 'opened | <declined no-recognition>, finalize-recognition no-recognition',
    started: 'started | <declined no-recognition>, finalize-recognition no-recognition',
    running: 'flushing | finalize-recognition ok r1, <flushing> | flushing: wait flush, recognition: finish',
    draining: 'running | <declined going-away>, finalize-recognition going-away r1',
    flushing: 'flushing | finalize-recognition ok r1',
    leaving: 'flushing | finalize-recognition ok r1',
    idle: 'idle | <declined no-recognition>, finalize-recognition no-recognition',
  },
  'a finalize-recognition beyond the burst': {
    opened: 'opened | <declined too-many-requests>, finalize-recognition too-many-requests',
    started: 'started | <declined too-many-requests>, finalize-recognition too-many-requests',
    running: 'flushing | finalize-recognition ok r1, <flushing> | flushing: wait flush, recognition: finish',
    draining: 'running | <declined going-away>, finalize-recognition going-away r1',
    flushing: 'flushing | finalize-recognition ok r1',
    leaving: 'flushing | finalize-recognition ok r1',
    idle: 'idle | <declined too-many-requests>, finalize-recognition too-many-requests',
  },
  'audio that no recognition takes': {
    opened: 'close not-started',
  },
  'a recognition that is ready': {
    started: 'running | <started>, recognize ok r1 | running: take-audio, running: wait session, recognition: run',
  },
  'a recognition that cannot be opened': {
    started: 'idle | <declined model-denied>, recognize model-denied | idle: wait idle',
  },
  'a recognition that takes no more audio': {},
  'a recognition that ended': {
    running: 'idle | <idle>, <final> | idle: wait idle',
    draining: 'close going-away | <idle>, <final>',
    flushing: 'idle | <idle>, <final> | idle: wait idle',
    leaving: 'close going-away | <idle>, <final>',
  },
  'the timeout open': {
    started: 'idle | fault engine-failed, <declined engine-failed>, recognize engine-failed | idle: wait idle',
  },
  'the timeout idle': {
    opened: 'close',
    idle: 'close',
  },
  'the timeout session': {
    running: 'flushing | <flushing> | flushing: wait flush, recognition: finish',
    draining: 'flushing | <flushing> | flushing: wait flush, recognition: finish',
  },
  'the timeout pause': {
    running: 'flushing | <flushing> | flushing: wait flush, recognition: finish',
    draining: 'flushing | <flushing> | flushing: wait flush, recognition: finish',
  },
  'the timeout flush': {
    flushing: 'close engine-failed | fault engine-failed, failure engine-failed',
    leaving: 'close engine-failed | fault engine-failed, failure engine-failed',
  },
  'a drain': {
    opened: 'close going-away',
    started: 'close going-away | recognize going-away',
    running: 'running |  | running: wait pause 8, running: drain',
    draining: 'running |  | running: wait pause 8, running: drain',
    idle: 'close going-away',
  },
  'a drain without time': {
    opened: 'close going-away',
    started: 'close going-away | recognize going-away',
    running: 'flushing | <flushing> | flushing: wait flush, recognition: finish',
    draining: 'flushing | <flushing> | flushing: wait flush, recognition: finish',
    idle: 'close going-away',
  },
  'a client that left': {
    opened: 'close',
    started: 'close',
    running: 'close | <gone>',
    draining: 'close | <gone>',
    flushing: 'close | <gone>',
    leaving: 'close | <gone>',
    idle: 'close',
  },
  'a revoked token': {
    opened: 'close unauthenticated',
    started: 'close unauthenticated | recognize unauthenticated',
    running: 'close unauthenticated | failure unauthenticated',
    draining: 'close unauthenticated | failure unauthenticated',
    flushing: 'close unauthenticated | failure unauthenticated',
    leaving: 'close unauthenticated | failure unauthenticated',
    idle: 'close unauthenticated',
  },
  'an unreadable message': {
    opened: 'close invalid-json',
    started: 'close invalid-json',
    running: 'close invalid-json | failure invalid-json',
    draining: 'close invalid-json | failure invalid-json',
    flushing: 'close invalid-json | failure invalid-json',
    leaving: 'close invalid-json | failure invalid-json',
    idle: 'close invalid-json',
  },
  'too many requests': {
    opened: 'close too-many-requests',
    started: 'close too-many-requests',
    running: 'close too-many-requests | failure too-many-requests',
    draining: 'close too-many-requests | failure too-many-requests',
    flushing: 'close too-many-requests | failure too-many-requests',
    leaving: 'close too-many-requests | failure too-many-requests',
    idle: 'close too-many-requests',
  },
  'refused audio': {
    running: 'close too-fast | failure too-fast',
    draining: 'close too-fast | failure too-fast',
  },
  'a recognition that failed': {
    running: 'close engine-failed | failure engine-failed',
    draining: 'close engine-failed | failure engine-failed',
    flushing: 'close engine-failed | failure engine-failed',
    leaving: 'close engine-failed | failure engine-failed',
  },
  'a fault': {
    opened: 'close internal',
    started: 'close internal',
    running: 'close internal | failure internal',
    draining: 'close internal | failure internal',
    flushing: 'close internal | failure internal',
    leaving: 'close internal | failure internal',
    idle: 'close internal',
  },
}

describe('the machine of a recognition socket', () => {
  const cells = (Object.keys(inputs) as (keyof typeof inputs)[]).flatMap((input) =>
    (Object.keys(states) as StateName[]).map((state) => [input, state] as const),
  )
  it.each(cells)('handles %s when %s', (input, state) => {
    const step = machine.reduce(states[state], inputs[input])
    expect(shown(step)).toBe(table[input][state] ?? states[state].name)
  })

  it('has a row for every cause of an end', () => {
    const causes = Object.values<RecognizerInput>(inputs).flatMap((input) =>
      input.type === 'end' ? [input.cause] : [],
    )
    // The others are the consequence of another input.
    expect(Object.keys(endings).filter((cause) => !causes.includes(cause as EndCause))).toEqual([
      'idle-timeout',
      'drain',
      'early-audio',
      'flush-timeout',
    ])
  })

  it('remembers that it drains, and that the recognition accepts no more audio', () => {
    const drained = machine.reduce(states.running, inputs['a drain']).state
    const closed = machine.reduce(drained, inputs['a recognition that takes no more audio']).state
    expect(closed).toEqual(states.draining)
    expect(shown(machine.reduce(drained, inputs['finalize-recognition']))).toMatch(
      /^flushing \| finalize-recognition ok r1/,
    )
    expect(machine.reduce(states.flushing, inputs['a drain']).state).toEqual(states.leaving)
  })

  it('requests the next message after each one, and after the opening of a recognition, while the connection lives', () => {
    const isNextAsked = (state: StateName, input: keyof typeof inputs): boolean =>
      (machine.reduce(states[state], inputs[input]).effects ?? []).some(({ action }) => action.type === 'next-message')
    expect(isNextAsked('opened', 'recognize')).toBe(false)
    expect(isNextAsked('started', 'a recognition that is ready')).toBe(true)
    expect(isNextAsked('started', 'a recognition that cannot be opened')).toBe(true)
    expect(isNextAsked('started', 'the timeout open')).toBe(true)
    expect(isNextAsked('running', 'recognize')).toBe(true)
    expect(isNextAsked('idle', 'audio that no recognition takes')).toBe(true)
    expect(isNextAsked('opened', 'audio that no recognition takes')).toBe(false)
    expect(isNextAsked('running', 'a recognition that ended')).toBe(false)
  })

  it('starts with the idle timer of the socket', () => {
    expect(shown(machine.start)).toBe('opened |  | session: listen, opened: wait idle')
  })

  itIsTotal(machine, states, inputs, { name: 'ended', result: 'complete' })
})
