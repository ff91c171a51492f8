import { NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../../../src/errors/error-table.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Step } from '../../../../src/kernel/machine.js'
import type { StartRequest } from '../../../../src/protocol/dataflow-messages.js'
import {
  dataflowMachine,
  endings,
  type ClientMessage,
  type DataflowAction,
  type DataflowInput,
  type DataflowOutput,
  type DataflowState,
  type EndCause,
} from '../../src/dataflow/machine.js'
import type { ProjectSession } from '../../src/dataflow/project-session.js'
import type { Admission } from '../../src/sessions/session-context.js'
import { cellsOf, endText, itIsTotal, stepText, type StepTable } from '../sessions/machine-laws.js'

const machine = dataflowMachine

const project = { maxSessionMs: 4_000 } as unknown as ProjectSession
const error = (code: ErrorCode): SpeechError => new SpeechError(code, 'Why.')
const request: StartRequest = {
  audio: { sampleRateHz: 8000, channels: 1, encoding: 'pcm' },
  tenant: 'Acme',
  token: 'token',
  projectName: 'talk',
}
const admission: Admission = {
  rights: { tenants: ['*'], projects: ['*'], models: ['*'] },
  ended$: NEVER,
  release: () => undefined,
}
const leaving = { code: 'going-away', message: 'Why.' } as const

const states = {
  opened: { name: 'opened' },
  admission: { name: 'started', step: 'admission', request },
  opening: { name: 'started', step: 'project', request },
  running: { name: 'running', project },
  draining: { name: 'running', project, leaving },
  flushing: { name: 'flushing', project },
  leaving: { name: 'flushing', project, leaving },
  aborting: { name: 'aborting', error: error('cut-sample'), last: [{ type: 'response', error: error('cut-sample') }] },
} as const satisfies Readonly<Record<string, DataflowState>>
type StateName = keyof typeof states

const shownOutput = (output: DataflowOutput): string => {
  switch (output.type) {
    case 'response':
      return `${output.request ?? '?'} ${output.error?.code ?? 'success'}`
    case 'declined':
    case 'fault':
      return `<${output.type} ${output.error.code}>`
    case 'leaving':
      return `trailer ${output.reason.code}`
    default:
      return `<${output.type}>`
  }
}

const shown = ({ state, outputs = [], effects }: Step<DataflowState, DataflowOutput, DataflowAction>): string => {
  const last = state.name === 'aborting' ? state.last.map((output) => ` then ${shownOutput(output)}`) : []
  const next = state.name === 'ended' ? endText(state.result) : [state.name, ...last].join('')
  return stepText(next, outputs.map(shownOutput), effects)
}

const message = (decoded: ClientMessage): DataflowInput => ({ type: 'message', message: decoded })
const end = (cause: EndCause, code?: ErrorCode): DataflowInput => ({
  type: 'end',
  cause,
  error: code === undefined ? undefined : error(code),
})
const excess = error('too-many-requests')
const update = { settings: { a: 1 } }

const inputs = {
  Start: message({ type: 'Start', request }),
  'a Start beyond the burst': message({ type: 'Start', request, excess }),
  'a Start with a bad field': message({ type: 'invalid-request', request: 'Start', error: error('invalid-field') }),
  Update: message({ type: 'Update', request: update }),
  'an Update beyond the burst': message({ type: 'Update', request: update, excess }),
  'an Update with a bad field': message({ type: 'invalid-request', request: 'Update', error: error('invalid-field') }),
  'an unknown request': message({ type: 'invalid-request', error: error('unknown-message') }),
  'an unknown request beyond the burst': message({ type: 'invalid-request', error: error('unknown-message'), excess }),
  Finalize: message({ type: 'Finalize' }),
  'a Finalize beyond the burst': message({ type: 'Finalize', excess }),
  Stop: message({ type: 'Stop' }),
  'a Stop beyond the burst': message({ type: 'Stop', excess }),
  'a half-close': message({ type: 'finished' }),
  'audio that no project takes': message({ type: 'audio' }),
  'an admission': { type: 'admitted', admission },
  'a project that is ready': { type: 'ready', project },
  'an Update that was applied': { type: 'updated', error: undefined },
  'an Update that a node refused': { type: 'updated', error: error('invalid-field') },
  'a project that ended': { type: 'project-ended' },
  'the timeout start': { type: 'timeout', timeout: 'start' },
  'the timeout open': { type: 'timeout', timeout: 'open' },
  'the timeout session': { type: 'timeout', timeout: 'session' },
  'the timeout pause': { type: 'timeout', timeout: 'pause' },
  'the timeout flush': { type: 'timeout', timeout: 'flush' },
  'a drain': { type: 'drain', pauseWithinMs: 8 },
  'a drain without time': { type: 'drain', pauseWithinMs: 0 },
  'a client that left': end('client-left'),
  'a start that failed': end('start-failed', 'tenant-denied'),
  'a revoked token': end('revoked', 'unauthenticated'),
  'an unreadable message': end('unreadable', 'message-too-big'),
  'too many requests': end('too-many-requests', 'too-many-requests'),
  'refused audio': end('refused-audio', 'too-fast'),
  'a project that failed': end('project-failed', 'node-failed'),
  'a fault': end('fault', 'internal'),
} as const satisfies Readonly<Record<string, DataflowInput>>

const table: StepTable<keyof typeof inputs> = {
  Start: {
    opened: 'started |  | admission: wait open, admission: admit',
    'running draining flushing leaving': '= | <declined already-started>, Start already-started',
  },
  'a Start beyond the burst': {
    opened: 'started |  | admission: wait open, admission: admit',
    'running draining flushing leaving': '= | <declined too-many-requests>, Start too-many-requests',
  },
  'a Start with a bad field': {
    opened: 'close invalid-field | Start invalid-field',
    'running draining flushing leaving': '= | <declined already-started>, Start already-started',
  },
  Update: {
    opened: 'close not-started | Update not-started',
    'running draining flushing leaving': '= |  | project: update',
  },
  'an Update beyond the burst': {
    opened: 'close not-started | Update not-started',
    'running draining flushing leaving': '= | <declined too-many-requests>, Update too-many-requests',
  },
  'an Update with a bad field': {
    opened: 'close invalid-field | Start invalid-field',
    'running draining flushing leaving': '= | <declined invalid-field>, Update invalid-field',
  },
  'an unknown request': {
    opened: 'close unknown-message | Start unknown-message',
    'running draining flushing leaving': '= | <declined unknown-message>, ? unknown-message',
  },
  'an unknown request beyond the burst': {
    opened: 'close unknown-message | Start unknown-message',
    'running draining flushing leaving': '= | <declined too-many-requests>, ? too-many-requests',
  },
  Finalize: {
    opened: 'close not-started | Finalize not-started',
    'running draining': 'flushing | Finalize success, <flushing> | flushing: wait flush, project: finish',
    'flushing leaving': '= | Finalize success',
  },
  'a Finalize beyond the burst': {
    opened: 'close not-started | Finalize not-started',
    'running draining': 'flushing | Finalize success, <flushing> | flushing: wait flush, project: finish',
    'flushing leaving': '= | Finalize success',
  },
  Stop: {
    opened: 'close not-started | Stop not-started',
    'running draining flushing leaving': 'close | Stop success, <stopped>',
  },
  'a Stop beyond the burst': {
    opened: 'close not-started | Stop not-started',
    'running draining flushing leaving': 'close | Stop success, <stopped>',
  },
  'a half-close': {
    opened: 'close not-started | Start not-started',
    'running draining': 'flushing | <flushing> | flushing: wait flush, project: finish',
  },
  'audio that no project takes': {
    opened: 'close not-started | Start not-started',
  },
  'an admission': {
    admission: '= |  | session: hold, opening: wait open, opening: open',
  },
  'a project that is ready': {
    opening: 'running | <started>, Start success | running: take-audio, running: wait session 4000, project: run',
  },
  'an Update that was applied': {
    'running draining flushing leaving': '= | Update success',
  },
  'an Update that a node refused': {
    'running draining flushing leaving': '= | <declined invalid-field>, Update invalid-field',
  },
  'a project that ended': {
    'running flushing': 'close',
    'draining leaving': 'close | trailer going-away',
    aborting: 'close cut-sample | ? cut-sample',
  },
  'the timeout start': {
    opened: 'close not-started | Start not-started',
  },
  'the timeout open': {
    'admission opening': 'close engine-failed | <fault engine-failed>, Start engine-failed',
  },
  'the timeout session': {
    'running draining': 'flushing | <flushing> | flushing: wait flush, project: finish',
  },
  'the timeout pause': {
    'running draining': 'flushing | <flushing> | flushing: wait flush, project: finish',
  },
  'the timeout flush': {
    'flushing leaving': 'aborting | <fault engine-failed> | aborting: wait flush, project: abort engine-failed',
    aborting: 'close cut-sample | <fault engine-failed>, ? cut-sample',
  },
  'a drain': {
    'opened admission opening': 'close going-away | Start going-away',
    'running draining': '= |  | running: wait pause 8, running: drain',
  },
  'a drain without time': {
    'opened admission opening': 'close going-away | Start going-away',
    'running draining': 'flushing | <flushing> | flushing: wait flush, project: finish',
  },
  'a client that left': {
    'opened admission opening running draining flushing leaving aborting': 'close | <gone>',
  },
  'a start that failed': {
    'admission opening': 'close tenant-denied | Start tenant-denied',
  },
  'a revoked token': {
    'admission opening': 'close unauthenticated | Start unauthenticated',
    'running draining flushing leaving': 'aborting |  | aborting: wait flush, project: abort unauthenticated',
  },
  'an unreadable message': {
    'opened admission opening': 'close message-too-big | Start message-too-big',
    'running draining flushing leaving':
      'aborting then ? message-too-big |  | aborting: wait flush, project: abort message-too-big',
  },
  'too many requests': {
    'opened admission opening': 'close too-many-requests | Start too-many-requests',
    'running draining flushing leaving':
      'aborting then ? too-many-requests |  | aborting: wait flush, project: abort too-many-requests',
  },
  'refused audio': {
    'running draining': 'aborting then ? too-fast |  | aborting: wait flush, project: abort too-fast',
  },
  'a project that failed': {
    'running draining flushing leaving': 'close node-failed',
    aborting: 'close cut-sample | ? cut-sample',
  },
  'a fault': {
    'opened admission opening aborting': 'close internal',
    'running draining flushing leaving': 'aborting |  | aborting: wait flush, project: abort internal',
  },
}

describe('the machine of a dataflow stream', () => {
  const cells = cellsOf(table, states, (state) => shown({ state: states[state] }))
  it.each(cells)('handles %s when %s', (input, state, text) => {
    expect(shown(machine.reduce(states[state], inputs[input]))).toBe(text)
  })

  it('has a row for every cause of an end', () => {
    const causes = Object.values<DataflowInput>(inputs).flatMap((input) => (input.type === 'end' ? [input.cause] : []))
    // The others are the consequence of another input.
    expect(Object.keys(endings).filter((cause) => !causes.includes(cause as EndCause))).toEqual([
      'start-timeout',
      'not-started',
      'drain',
      'flush-timeout',
    ])
  })

  it('remembers the cause of the end through the flush', () => {
    const drained = machine.reduce(states.running, inputs['a drain']).state
    const flushed = machine.reduce(drained, inputs.Finalize).state
    expect(machine.reduce(flushed, inputs['a project that ended']).outputs).toEqual([
      {
        type: 'leaving',
        isDrained: true,
        reason: { code: 'going-away', message: 'The service is closing; continue elsewhere or later.', orderly: true },
      },
    ])
  })

  it('requests the next message after each one, and after the start, while the session lives', () => {
    const isNextAsked = (state: StateName, input: keyof typeof inputs): boolean =>
      (machine.reduce(states[state], inputs[input]).effects ?? []).some(({ action }) => action.type === 'next-message')
    expect(isNextAsked('opened', 'Start')).toBe(false)
    expect(isNextAsked('admission', 'an admission')).toBe(false)
    expect(isNextAsked('opening', 'a project that is ready')).toBe(true)
    expect(isNextAsked('running', 'Update')).toBe(true)
    expect(isNextAsked('running', 'Finalize')).toBe(true)
    expect(isNextAsked('flushing', 'audio that no project takes')).toBe(true)
    expect(isNextAsked('running', 'Stop')).toBe(false)
    expect(isNextAsked('running', 'an Update that was applied')).toBe(false)
  })

  it('starts with the deadline of the Start', () => {
    expect(shown(machine.start)).toBe('opened |  | opened: wait start, session: listen')
  })

  itIsTotal(machine, states, inputs, { name: 'ended', result: 'complete' })
})
