import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  FailoverMachine,
  isMoving,
  type FailoverInput,
  type FailoverState,
} from '../../../src/client/failover/failover-machine.js'
import type { ClientState, MessageRead, Phase } from '../../../src/client/states.js'
import { errorTable, type ErrorCode } from '../../../src/errors/error-table.js'
import { SpeechError } from '../../../src/errors/speech-error.js'
import { observing } from '../../../src/kernel/machine.js'
import { runs } from '../../thorough.js'
import { lastingSocket, observed, quiet, type Seen } from '../machine/steps.js'

const policy = lastingSocket
const { resumption } = policy
if (resumption === undefined) throw new Error('Sessions resume by default.')

/** `bad`: the services that are lost or slow. */
interface Setting extends Seen {
  readonly count?: number
  readonly bad?: readonly number[]
  readonly isSpeechOpen?: boolean
}

/** A machine whose inputs are observed in this setting. */
const machineOf = ({ count = 3, bad = [], isSpeechOpen = false, ...seen }: Setting = {}) => {
  const machine = new FailoverMachine(
    Array.from({ length: count }, () => policy),
    resumption,
  )
  const services = { isAvailable: Array.from({ length: count }, (_, service) => !bad.includes(service)), isSpeechOpen }
  return observing(machine, (input: FailoverInput) => {
    const known = input.type === 'slow' ? { ...input, snapshot: { ...quiet, ...seen } } : observed(input, seen)
    return isMoving(known) ? { ...known, services } : known
  })
}

const { state: initial } = machineOf().start

/** A session that is in this phase at this service. */
const at = (phase: Phase, service: number, more: Partial<FailoverState> = {}, client: Partial<ClientState> = {}) => ({
  ...initial,
  service,
  announced: service,
  ...more,
  client: {
    ...initial.client,
    phase,
    connection: { id: 7, token: { accessToken: 'a', fresh: true, expiresAtMs: undefined }, update: undefined },
    lastId: 7,
    hasStreamed: true,
    ...client,
  },
})
const before = (name: 'authorizing' | 'connecting' | 'starting', isResuming = true): Phase => ({
  name,
  isAudioOver: false,
  refusal: undefined,
  isResuming,
  isReusing: false,
})
const streaming: Phase = { name: 'streaming' }
const error = (code: ErrorCode, retryAfterMs?: number) => new SpeechError(code, 'It failed.', { retryAfterMs })
const failed = (code: ErrorCode): FailoverInput => ({ type: 'link-failed', connection: 7, error: error(code) })

const readOf = (signal: MessageRead['signal']): MessageRead => ({
  type: 'read',
  signal,
  held: undefined,
  hasProgress: false,
  isLast: false,
})

type Stepped = ReturnType<FailoverMachine['reduce']>
/** Where connections are opened, and what is learned about services: `open 1, lost 0`. */
const doneBy = ({ effects = [], outputs = [] }: Stepped): string =>
  [
    ...effects.flatMap(({ action }) => (action.do === 'authorize' ? [`open ${action.service}`] : [])),
    ...outputs.flatMap((output) =>
      output.do === 'lost' || output.do === 'avoid' || output.do === 'served' ? [`${output.do} ${output.service}`] : [],
    ),
    ...outputs.flatMap((output) => (output.do === 'reconnecting' ? [`wait ${output.event.delayMs}`] : [])),
  ].join(', ')

describe('the first connection of a session', () => {
  it.each([
    [[], 'open 0'],
    [[0], 'open 1'],
    [[0, 1], 'open 2'],
    [[0, 1, 2], 'open 0'],
  ] as const)('leads to the first service that works if %j do not', (bad, done) => {
    expect(doneBy(machineOf({ bad }).reduce(initial, { type: 'begin' }))).toBe(done)
  })
})

describe('a loss', () => {
  it('is followed by an attempt at each other service, and then by a delay', () => {
    const machine = machineOf()
    let state: FailoverState = at(streaming, 1)
    const done: string[] = []
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const lost = machine.reduce(state, {
        ...failed('connection-failed'),
        connection: state.client.connection.id,
      } as FailoverInput)
      const retried = machine.reduce(lost.state, { type: 'retry' })
      done.push(`${doneBy(lost)}; ${doneBy(retried)}`)
      state = retried.state
    }
    expect(done).toEqual([
      'lost 1, wait 0; open 0',
      'lost 0, wait 0; open 2',
      'lost 2, wait 500; open 1',
      'lost 1, wait 0; open 0',
      'lost 0, wait 0; open 2',
    ])
  })

  it('prefers a service that works', () => {
    const machine = machineOf({ bad: [0, 1] })
    const { state } = machine.reduce(at(streaming, 1), failed('connection-lost'))
    expect(doneBy(machine.reduce(state, { type: 'retry' }))).toBe('open 2')
  })

  it('for a reason that another service would have, too, is followed by an attempt at the same one', () => {
    const machine = machineOf()
    const { state, ...step } = machine.reduce(at(streaming, 1), failed('too-fast'))
    expect(doneBy({ state, ...step })).toBe('wait 500')
    expect(doneBy(machine.reduce(state, { type: 'retry' }))).toBe('open 1')
  })

  it('of a service that had made progress begins a new count', () => {
    const state = at(streaming, 1, { failures: [{ service: 0, retryAtMs: 0 }] })
    expect(doneBy(machineOf({ count: 2 }).reduce(state, failed('connection-lost')))).toBe('lost 1, wait 0')
  })

  it('is followed by an announcement, also of the same service', () => {
    const machine = machineOf()
    const { state } = machine.reduce(at(streaming, 1), failed('too-fast'))
    expect(state.announced).toBeUndefined()
    const starting = at(before('starting'), 1, { announced: state.announced })
    expect(machine.reduce(starting, readOf({ type: 'start-answer' })).outputs).toContainEqual(
      expect.objectContaining({ do: 'begin', event: { service: 1 } }),
    )
  })

  it('after a refused token is followed by another token of the same service', () => {
    const machine = machineOf()
    const { state } = machine.reduce(at(streaming, 1), failed('unauthenticated'))
    expect(doneBy(machine.reduce(state, { type: 'retry' }))).toBe('open 1')
    expect(doneBy(machine.reduce(at(before('starting'), 1), failed('unauthenticated')))).toBe('open 1')
  })

  it('with one service is handled as without a list', () => {
    const machine = machineOf({ count: 1 })
    expect(doneBy(machine.reduce(at(streaming, 0), failed('connection-lost')))).toBe('lost 0, wait 500')
    const first = machine.reduce(
      at(before('connecting', false), 0, {}, { hasStreamed: false }),
      failed('connection-failed'),
    )
    expect(first.state.client.phase.name).toBe('failed')
  })

  it.each(Object.keys(errorTable) as ErrorCode[])(
    'of the first connection with %s fails the session or moves it',
    (code) => {
      const state = at(before('connecting', false), 0, {}, { hasStreamed: false })
      const { client } = machineOf().reduce(
        { ...state, client: { ...state.client, connection: { ...state.client.connection, token: undefined } } },
        failed(code),
      ).state
      const isRenewed = code === 'unauthenticated'
      expect(client.phase.name).toBe(
        isRenewed ? 'authorizing' : errorTable[code].traits.includes('failover') ? 'waiting' : 'failed',
      )
    },
  )

  it('during a pause is followed by the first service that works', () => {
    const paused: Phase = { name: 'paused', isConnected: true }
    const lost = machineOf().reduce(at(paused, 1), failed('connection-lost'))
    expect(doneBy(lost)).toBe('lost 1')
    expect(doneBy(machineOf({ bad: [1] }).reduce(lost.state, { type: 'sound' }))).toBe('open 0')
    // The service has only closed the connection.
    const closed = machineOf().reduce(at(paused, 1), { type: 'link-ended', connection: 7 })
    expect(doneBy(machineOf().reduce(closed.state, { type: 'sound' }))).toBe('open 1')
  })
})

describe('a deadline', () => {
  it.each([
    ['authorizing', before('authorizing')],
    ['connecting', before('connecting')],
    ['starting', before('starting')],
    ['draining', { name: 'draining' }],
    ['finalizing', { name: 'finalizing', isAcknowledged: false }],
  ] as const)('of %s is a loss', (_name, phase) => {
    expect(doneBy(machineOf().reduce(at(phase, 0), { type: 'deadline' }))).toBe('lost 0, wait 0')
  })

  it.each([
    ['stopping', 'failed'],
    ['closing', 'done'],
  ] as const)('of %s is what it is without a list', (name, end) => {
    expect(machineOf().reduce(at({ name }, 0), { type: 'deadline' }).state.client.phase.name).toBe(end)
  })
})

describe('a handover', () => {
  const leaving: FailoverInput = { type: 'leaving', connection: 7 }
  const time: FailoverInput = { type: 'handover-time', dueMs: 1_000, endingToken: undefined }

  it('from a service that leaves goes to another one that works, or to the same', () => {
    const toOther = machineOf().reduce(at(streaming, 1), leaving)
    expect(doneBy(toOther)).toBe('lost 1')
    expect(doneBy(machineOf().reduce(toOther.state, time))).toBe('open 0')
    const machine = machineOf({ bad: [0, 2] })
    const toSame = machine.reduce(at(streaming, 1), leaving)
    expect(doneBy(toSame)).toBe('')
    expect(doneBy(machine.reduce(toSame.state, time))).toBe('open 1')
  })

  it('that was planned stays at the service', () => {
    const planned = at(streaming, 1, {}, { handover: { id: 8, successor: undefined } })
    expect(doneBy(machineOf().reduce(planned, time))).toBe('open 1')
  })

  const slow: FailoverInput = { type: 'slow', connection: 7 }

  it('from a slow service opens at once and is complete when the other is ready', () => {
    const machine = machineOf()
    const opened = machine.reduce(at(streaming, 1), slow)
    expect(doneBy(opened)).toBe('open 0, avoid 1')
    const id = opened.state.client.handover?.successor?.id ?? 0
    const ready = machine.reduce(opened.state, {
      type: 'message',
      connection: id,
      event: { type: 'unknown', reason: '', raw: '' },
      signal: { type: 'start-answer' },
    })
    expect(ready.outputs).toEqual([{ do: 'hand-over' }])
    const moved = machine.reduce(ready.state, { type: 'handover-due' })
    expect(moved.state).toMatchObject({ service: 0, announced: 0, successor: undefined, isUrgent: false })
    expect(moved.state.client.connection.id).toBe(id)
  })

  it.each([
    ['no other service works', { bad: [0, 2] }, at(streaming, 1), slow],
    ['it is not streaming', {}, at({ name: 'draining' }, 1), slow],
    ['the connection is an earlier one', {}, at(streaming, 1), { type: 'slow', connection: 6 } as const],
    ['no audio was sent', { hasSentAudio: false }, at(streaming, 1), slow],
  ])('from a slow service does not begin if %s', (_name, facts, state, input) => {
    const step = machineOf(facts).reduce(state, input)
    expect(step.state).toBe(state)
    expect(doneBy(step)).toBe('')
  })

  it('begins if the service is silent during speech, and only then', () => {
    const inactive: FailoverInput = { type: 'inactive', forMs: 20_000 }
    expect(doneBy(machineOf({ isSpeechOpen: true }).reduce(at(streaming, 1), inactive))).toBe('open 0, avoid 1')
    expect(doneBy(machineOf().reduce(at(streaming, 1), inactive))).toBe('')
  })

  it('to a service that fails is given up, and that service is lost', () => {
    const opened = machineOf().reduce(at(streaming, 1), slow).state
    const id = opened.client.handover?.successor?.id ?? 0
    const inputs: readonly FailoverInput[] = [
      { type: 'link-failed', connection: id, error: error('connection-failed') },
      { type: 'successor-late' },
    ]
    for (const input of inputs) {
      const step = machineOf().reduce(opened, input)
      expect(doneBy(step)).toBe('lost 0')
      expect(step.state).toMatchObject({ service: 1, successor: undefined, isUrgent: false })
      expect(step.state.client.handover).toBeUndefined()
    }
  })

  it('that is ready when the connection is lost takes over with its service', () => {
    const opened = machineOf().reduce(at(streaming, 1), { type: 'leaving', connection: 7 }).state
    const ready: FailoverState = {
      ...opened,
      client: {
        ...opened.client,
        handover: {
          id: opened.client.handover?.id ?? 0,
          successor: { id: 9, token: undefined, update: undefined, isReady: true, endingToken: undefined },
        },
      },
    }
    const { state } = machineOf().reduce(ready, failed('connection-lost'))
    expect(state.client.connection.id).toBe(9)
    expect(state.service).toBe(0)
  })
})

describe('progress', () => {
  const read: FailoverInput = readOf(undefined)

  it('is reported once for a connection, and ends the count of failures', () => {
    const machine = machineOf({ hasProgress: true })
    const state = at(streaming, 1, { failures: [{ service: 0, retryAtMs: 0 }] })
    const served = machine.reduce(state, read)
    expect(doneBy(served)).toBe('served 1')
    expect(served.state.failures).toEqual([])
    expect(doneBy(machine.reduce(served.state, read))).toBe('')
  })
})

describe('the machine of a session with several services, with any inputs in any order', () => {
  const connection = fc.integer({ min: 0, max: 8 })
  const codes = fc.constantFrom<ErrorCode>(
    'connection-lost',
    'unauthenticated',
    'overloaded',
    'model-denied',
    'too-fast',
  )
  const input: fc.Arbitrary<FailoverInput> = fc.oneof(
    fc.constantFrom<FailoverInput>(
      { type: 'begin' },
      { type: 'stop' },
      { type: 'audio-over' },
      { type: 'drained' },
      { type: 'progress' },
      { type: 'sound' },
      { type: 'deadline' },
      { type: 'retry' },
      { type: 'handover-due' },
      { type: 'successor-late' },
      { type: 'handover-time', dueMs: 1_000, endingToken: undefined },
      { type: 'inactive', forMs: 20_000 },
      readOf({ type: 'start-answer' }),
      readOf(undefined),
    ),
    fc.record({ type: fc.constantFrom('connected', 'link-ended', 'leaving', 'slow'), connection }),
    fc.record({ type: fc.constant('link-failed'), connection, error: codes.map((code) => error(code)) }),
    connection.map((id): FailoverInput => ({
      type: 'authorized',
      connection: id,
      token: { accessToken: 'b', fresh: true, expiresAtMs: undefined },
    })),
    connection.map((id): FailoverInput => ({
      type: 'message',
      connection: id,
      event: { type: 'unknown', reason: '', raw: '' },
      signal: { type: 'start-answer' },
    })),
  )

  it('never throws, opens each connection at a service of the list, and announces each change of the service', () => {
    fc.assert(
      fc.property(
        fc.array(input, { maxLength: 60 }),
        fc.integer({ min: 1, max: 3 }),
        fc.subarray([0, 1, 2]),
        fc.boolean(),
        (inputs, count, bad, hasProgress) => {
          const machine = machineOf({ count, bad, hasProgress, isSpeechOpen: hasProgress })
          let { state } = machine.start
          let announced: number | undefined
          const isService = (service: number): boolean => service >= 0 && service < count
          for (const next of inputs) {
            const step = machine.reduce(state, next)
            state = step.state
            for (const { action } of step.effects ?? []) {
              if (action.do === 'authorize') expect(isService(action.service)).toBe(true)
            }
            for (const output of step.outputs ?? []) {
              if (output.do !== 'begin') continue
              announced = output.event?.service ?? announced
              expect(announced).toBe(state.service)
            }
            expect(isService(state.service)).toBe(true)
            expect(machine.alive(state).has('session')).toBe(machine.result(state) === undefined)
          }
        },
      ),
      { numRuns: runs(3_000) },
    )
  })
})
