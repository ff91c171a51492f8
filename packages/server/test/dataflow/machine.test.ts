import { NEVER } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../../../src/errors/error-table.js'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Effect, Step } from '../../../../src/kernel/machine.js'
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
import { itIsTotal } from '../sessions/machine-laws.js'

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

const shownEffect = ({ lifetime, action }: Effect<DataflowAction>): string =>
  action.type === 'wait'
    ? `${lifetime}: wait ${action.timeout}${action.delayMs === undefined ? '' : ` ${action.delayMs}`}`
    : `${lifetime}: ${action.type}${action.type === 'abort' ? ` ${action.error.code}` : ''}`

/** A step in one line: the next state or the status, what is sent and reported, and what starts. */
const shown = ({ state, outputs = [], effects = [] }: Step<DataflowState, DataflowOutput, DataflowAction>) => {
  const next =
    state.name === 'aborting'
      ? ['aborting', ...state.last.map((output) => `then ${shownOutput(output)}`)].join(' ')
      : state.name !== 'ended'
        ? state.name
        : state.result === 'complete'
          ? 'close'
          : `close ${(state.result.error as SpeechError).code}`
  const begun = effects.filter(({ action }) => action.type !== 'next-message').map(shownEffect)
  return [next, outputs.map(shownOutput).join(', '), begun.join(', ')].join(' | ').replace(/( \| )+$/, '')
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

/** What a step does, by input and state; an omitted state ignores the input. */
const table: Readonly<Record<keyof typeof inputs, Readonly<Partial<Record<StateName, string>>>>> = {
  Start: {
    opened: 'started |  | admission: wait open, admission: admit',
    running: 'running | <declined already-started>, Start already-started',
    draining: 'running | <declined already-started>, Start already-started',
    flushing: 'flushing | <declined already-started>, Start already-started',
    leaving: 'flushing | <declined already-started>, Start already-started',
  },
  'a Start beyond the burst': {
    opened: 'started |  | admission: wait open, admission: admit',
    running: 'running | <declined too-many-requests>, Start too-many-requests',
    draining: 'running | <declined too-many-requests>, Start too-many-requests',
    flushing: 'flushing | <declined too-many-requests>, Start too-many-requests',
    leaving: 'flushing | <declined too-many-requests>, Start too-many-requests',
  },
  'a Start with a bad field': {
    opened: 'close invalid-field | Start invalid-field',
    running: 'running | <declined already-started>, Start already-started',
    draining: 'running | <declined already-started>, Start already-started',
    flushing: 'flushing | <declined already-started>, Start already-started',
    leaving: 'flushing | <declined already-started>, Start already-started',
  },
  Update: {
    opened: 'close not-started | Update not-started',
    running: 'running |  | project: update',
    draining: 'running |  | project: update',
    flushing: 'flushing |  | project: update',
    leaving: 'flushing |  | project: update',
  },
  'an Update beyond the burst': {
    opened: 'close not-started | Update not-started',
    running: 'running | <declined too-many-requests>, Update too-many-requests',
    draining: 'running | <declined too-many-requests>, Update too-many-requests',
    flushing: 'flushing | <declined too-many-requests>, Update too-many-requests',
    leaving: 'flushing | <declined too-many-requests>, Update too-many-requests',
  },
  'an Update with a bad field': {
    opened: 'close invalid-field | Start invalid-field',
    running: 'running | <declined invalid-field>, Update invalid-field',
    draining: 'running | <declined invalid-field>, Update invalid-field',
    flushing: 'flushing | <declined invalid-field>, Update invalid-field',
    leaving: 'flushing | <declined invalid-field>, Update invalid-field',
  },
  'an unknown request': {
    opened: 'close unknown-message | Start unknown-message',
    running: 'running | <declined unknown-message>, ? unknown-message',
    draining: 'running | <declined unknown-message>, ? unknown-message',
    flushing: 'flushing | <declined unknown-message>, ? unknown-message',
    leaving: 'flushing | <declined unknown-message>, ? unknown-message',
  },
  'an unknown request beyond the burst': {
    opened: 'close unknown-message | Start unknown-message',
    running: 'running | <declined too-many-requests>, ? too-many-requests',
    draining: 'running | <declined too-many-requests>, ? too-many-requests',
    flushing: 'flushing | <declined too-many-requests>, ? too-many-requests',
    leaving: 'flushing | <declined too-many-requests>, ? too-many-requests',
  },
  Finalize: {
    opened: 'close not-started | Finalize not-started',
    running: 'flushing | Finalize success, <flushing> | flushing: wait flush, project: finish',
    draining: 'flushing | Finalize success, <flushing> | flushing: wait flush, project: finish',
    flushing: 'flushing | Finalize success',
    leaving: 'flushing | Finalize success',
  },
  'a Finalize beyond the burst': {
    opened: 'close not-started | Finalize not-started',
    running: 'flushing | Finalize success, <flushing> | flushing: wait flush, project: finish',
    draining: 'flushing | Finalize success, <flushing> | flushing: wait flush, project: finish',
    flushing: 'flushing | Finalize success',
    leaving: 'flushing | Finalize success',
  },
  Stop: {
    opened: 'close not-started | Stop not-started',
    running: 'close | Stop success, <stopped>',
    draining: 'close | Stop success, <stopped>',
    flushing: 'close | Stop success, <stopped>',
    leaving: 'close | Stop success, <stopped>',
  },
  'a Stop beyond the burst': {
    opened: 'close not-started | Stop not-started',
    running: 'close | Stop success, <stopped>',
    draining: 'close | Stop success, <stopped>',
    flushing: 'close | Stop success, <stopped>',
    leaving: 'close | Stop success, <stopped>',
  },
  'a half-close': {
    opened: 'close not-started | Start not-started',
    running: 'flushing | <flushing> | flushing: wait flush, project: finish',
    draining: 'flushing | <flushing> | flushing: wait flush, project: finish',
  },
  'audio that no project takes': {
    opened: 'close not-started | Start not-started',
  },
  'an admission': {
    admission: 'started |  | session: hold, opening: wait open, opening: open',
  },
  'a project that is ready': {
    opening: 'running | <started>, Start success | running: take-audio, running: wait session 4000, project: run',
  },
  'an Update that was applied': {
    running: 'running | Update success',
    draining: 'running | Update success',
    flushing: 'flushing | Update success',
    leaving: 'flushing | Update success',
  },
  'an Update that a node refused': {
    running: 'running | <declined invalid-field>, Update invalid-field',
    draining: 'running | <declined invalid-field>, Update invalid-field',
    flushing: 'flushing | <declined invalid-field>, Update invalid-field',
    leaving: 'flushing | <declined invalid-field>, Update invalid-field',
  },
  'a project that ended': {
    running: 'close',
    draining: 'close | trailer going-away',
    flushing: 'close',
    leaving: 'close | trailer going-away',
    aborting: 'close cut-sample | ? cut-sample',
  },
  'the timeout start': {
    opened: 'close not-started | Start not-started',
  },
  'the timeout open': {
    admission: 'close engine-failed | <fault engine-failed>, Start engine-failed',
    opening: 'close engine-failed | <fault engine-failed>, Start engine-failed',
  },
  'the timeout session': {
    running: 'flushing | <flushing> | flushing: wait flush, project: finish',
    draining: 'flushing | <flushing> | flushing: wait flush, project: finish',
  },
  'the timeout pause': {
    running: 'flushing | <flushing> | flushing: wait flush, project: finish',
    draining: 'flushing | <flushing> | flushing: wait flush, project: finish',
  },
  'the timeout flush': {
    flushing: 'aborting | <fault engine-failed> | aborting: wait flush, project: abort engine-failed',
    leaving: 'aborting | <fault engine-failed> | aborting: wait flush, project: abort engine-failed',
    aborting: 'close cut-sample | <fault engine-failed>, ? cut-sample',
  },
  'a drain': {
    opened: 'close going-away | Start going-away',
    admission: 'close going-away | Start going-away',
    opening: 'close going-away | Start going-away',
    running: 'running |  | running: wait pause 8, running: drain',
    draining: 'running |  | running: wait pause 8, running: drain',
  },
  'a drain without time': {
    opened: 'close going-away | Start going-away',
    admission: 'close going-away | Start going-away',
    opening: 'close going-away | Start going-away',
    running: 'flushing | <flushing> | flushing: wait flush, project: finish',
    draining: 'flushing | <flushing> | flushing: wait flush, project: finish',
  },
  'a client that left': {
    opened: 'close | <gone>',
    admission: 'close | <gone>',
    opening: 'close | <gone>',
    running: 'close | <gone>',
    draining: 'close | <gone>',
    flushing: 'close | <gone>',
    leaving: 'close | <gone>',
    aborting: 'close | <gone>',
  },
  'a start that failed': {
    admission: 'close tenant-denied | Start tenant-denied',
    opening: 'close tenant-denied | Start tenant-denied',
  },
  'a revoked token': {
    admission: 'close unauthenticated | Start unauthenticated',
    opening: 'close unauthenticated | Start unauthenticated',
    running: 'aborting |  | aborting: wait flush, project: abort unauthenticated',
    draining: 'aborting |  | aborting: wait flush, project: abort unauthenticated',
    flushing: 'aborting |  | aborting: wait flush, project: abort unauthenticated',
    leaving: 'aborting |  | aborting: wait flush, project: abort unauthenticated',
  },
  'an unreadable message': {
    opened: 'close message-too-big | Start message-too-big',
    admission: 'close message-too-big | Start message-too-big',
    opening: 'close message-too-big | Start message-too-big',
    running: 'aborting then ? message-too-big |  | aborting: wait flush, project: abort message-too-big',
    draining: 'aborting then ? message-too-big |  | aborting: wait flush, project: abort message-too-big',
    flushing: 'aborting then ? message-too-big |  | aborting: wait flush, project: abort message-too-big',
    leaving: 'aborting then ? message-too-big |  | aborting: wait flush, project: abort message-too-big',
  },
  'too many requests': {
    opened: 'close too-many-requests | Start too-many-requests',
    admission: 'close too-many-requests | Start too-many-requests',
    opening: 'close too-many-requests | Start too-many-requests',
    running: 'aborting then ? too-many-requests |  | aborting: wait flush, project: abort too-many-requests',
    draining: 'aborting then ? too-many-requests |  | aborting: wait flush, project: abort too-many-requests',
    flushing: 'aborting then ? too-many-requests |  | aborting: wait flush, project: abort too-many-requests',
    leaving: 'aborting then ? too-many-requests |  | aborting: wait flush, project: abort too-many-requests',
  },
  'refused audio': {
    running: 'aborting then ? too-fast |  | aborting: wait flush, project: abort too-fast',
    draining: 'aborting then ? too-fast |  | aborting: wait flush, project: abort too-fast',
  },
  'a project that failed': {
    running: 'close node-failed',
    draining: 'close node-failed',
    flushing: 'close node-failed',
    leaving: 'close node-failed',
    aborting: 'close cut-sample | ? cut-sample',
  },
  'a fault': {
    opened: 'close internal',
    admission: 'close internal',
    opening: 'close internal',
    running: 'aborting |  | aborting: wait flush, project: abort internal',
    draining: 'aborting |  | aborting: wait flush, project: abort internal',
    flushing: 'aborting |  | aborting: wait flush, project: abort internal',
    leaving: 'aborting |  | aborting: wait flush, project: abort internal',
    aborting: 'close internal',
  },
}

describe('the machine of a dataflow stream', () => {
  const unchanged = (state: StateName): string => shown({ state: states[state] })
  const cells = (Object.keys(inputs) as (keyof typeof inputs)[]).flatMap((input) =>
    (Object.keys(states) as StateName[]).map((state) => [input, state] as const),
  )
  it.each(cells)('handles %s when %s', (input, state) => {
    const step = machine.reduce(states[state], inputs[input])
    expect(shown(step)).toBe(table[input][state] ?? unchanged(state))
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
