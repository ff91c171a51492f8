import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../../../src/errors/error-table.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Step } from '../../../../src/kernel/machine.js'
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
import { cellsOf, endText, itIsTotal, stepText, type StepTable } from '../sessions/machine-laws.js'

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

const shown = ({ state, outputs = [], effects }: Step<RecognizerState, RecognizerOutput, RecognizerAction>): string =>
  stepText(state.name === 'ended' ? endText(state.result) : state.name, outputs.map(shownOutput), effects)

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

const table: StepTable<keyof typeof inputs> = {
  recognize: {
    'opened idle': 'started |  | started: wait open, started: open',
    'started running draining flushing leaving': '= | <declined already-started>, recognize already-started',
  },
  'a recognize beyond the burst': {
    'opened started running draining flushing leaving idle':
      '= | <declined too-many-requests>, recognize too-many-requests',
  },
  'a recognize with a bad field': {
    'opened started idle': '= | <declined invalid-field>, recognize invalid-field',
    'running draining flushing leaving': '= | <declined already-started>, recognize already-started',
  },
  'stop-recognition': {
    'opened started idle': '= | <declined no-recognition>, stop-recognition no-recognition',
    'running flushing': 'idle | stop-recognition ok r1, <idle> | idle: wait idle',
    'draining leaving': 'close going-away | stop-recognition ok r1, <idle>',
  },
  'a stop-recognition beyond the burst': {
    'opened started idle': '= | <declined too-many-requests>, stop-recognition too-many-requests',
    'running flushing': 'idle | stop-recognition ok r1, <idle> | idle: wait idle',
    'draining leaving': 'close going-away | stop-recognition ok r1, <idle>',
  },
  'finalize-recognition': {
    'opened started idle': '= | <declined no-recognition>, finalize-recognition no-recognition',
    running: 'flushing | finalize-recognition ok r1, <flushing> | flushing: wait flush, recognition: finish',
    draining: '= | <declined going-away>, finalize-recognition going-away r1',
    'flushing leaving': '= | finalize-recognition ok r1',
  },
  'a finalize-recognition beyond the burst': {
    'opened started idle': '= | <declined too-many-requests>, finalize-recognition too-many-requests',
    running: 'flushing | finalize-recognition ok r1, <flushing> | flushing: wait flush, recognition: finish',
    draining: '= | <declined going-away>, finalize-recognition going-away r1',
    'flushing leaving': '= | finalize-recognition ok r1',
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
    'running flushing': 'idle | <idle>, <final> | idle: wait idle',
    'draining leaving': 'close going-away | <idle>, <final>',
  },
  'the timeout open': {
    started: 'idle | fault engine-failed, <declined engine-failed>, recognize engine-failed | idle: wait idle',
  },
  'the timeout idle': {
    'opened idle': 'close',
  },
  'the timeout session': {
    'running draining': 'flushing | <flushing> | flushing: wait flush, recognition: finish',
  },
  'the timeout pause': {
    'running draining': 'flushing | <flushing> | flushing: wait flush, recognition: finish',
  },
  'the timeout flush': {
    'flushing leaving': 'close engine-failed | fault engine-failed, failure engine-failed',
  },
  'a drain': {
    'opened idle': 'close going-away',
    started: 'close going-away | recognize going-away',
    'running draining': '= |  | running: wait pause 8, running: drain',
  },
  'a drain without time': {
    'opened idle': 'close going-away',
    started: 'close going-away | recognize going-away',
    'running draining': 'flushing | <flushing> | flushing: wait flush, recognition: finish',
  },
  'a client that left': {
    'opened started idle': 'close',
    'running draining flushing leaving': 'close | <gone>',
  },
  'a revoked token': {
    'opened idle': 'close unauthenticated',
    started: 'close unauthenticated | recognize unauthenticated',
    'running draining flushing leaving': 'close unauthenticated | failure unauthenticated',
  },
  'an unreadable message': {
    'opened started idle': 'close invalid-json',
    'running draining flushing leaving': 'close invalid-json | failure invalid-json',
  },
  'too many requests': {
    'opened started idle': 'close too-many-requests',
    'running draining flushing leaving': 'close too-many-requests | failure too-many-requests',
  },
  'refused audio': {
    'running draining': 'close too-fast | failure too-fast',
  },
  'a recognition that failed': {
    'running draining flushing leaving': 'close engine-failed | failure engine-failed',
  },
  'a fault': {
    'opened started idle': 'close internal',
    'running draining flushing leaving': 'close internal | failure internal',
  },
}

describe('the machine of a recognition socket', () => {
  const cells = cellsOf(table, states, (state) => states[state].name)
  it.each(cells)('handles %s when %s', (input, state, text) => {
    expect(shown(machine.reduce(states[state], inputs[input]))).toBe(text)
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
