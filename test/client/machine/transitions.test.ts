import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isWait } from '../../../src/client/deadlines.js'
import { isEnd } from '../../../src/client/lifetimes.js'
import { ClientMachine } from '../../../src/client/machine.js'
import type { ClientInput, ClientState } from '../../../src/client/states.js'
import { runs } from '../../thorough.js'
import {
  socket,
  stream,
  lastingSocket,
  lastingStream,
  at,
  phases,
  type PhaseKey,
  inputs,
  type InputKey,
  step,
  doneBy,
  nameOf,
} from './steps.js'

/** The phase after each input; `.` if it does not change. One connection, one recognition, over the WebSocket. */
const socketTable = `
                         idle        authorizing      connecting      starting      streaming  draining   finalizing unanswered          closing stopping
begin                    authorizing .                .               .             .          .          .          .                   .       .
authorized               .           connecting       .               .             .          .          .          .                   .       .
token-failed             failed      failed           failed          failed        failed     failed     failed     failed              done    failed
connected                .           .                starting        .             .          .          .          .                   .       .
partial                  .           .                .               .             .          .          .          .                   .       .
final                    .           .                .               .             .          .          .          .                   .       .
final, error             .           .                .               .             .          .          .          .                   .       .
leaving                  .           .                .               .             .          .          .          .                   .       .
audio-over               idle+over   authorizing+over connecting+over starting+over finalizing .          .          .                   .       .
drained                  .           .                .               .             .          finalizing .          .                   .       .
progress                 .           .                .               .             .          .          .          .                   .       .
sound                    .           .                .               .             .          .          .          .                   .       .
stop                     stopped     stopped          stopped         stopped       stopping   stopping   stopping   stopping            stopped .
deadline                 .           failed           failed          failed        .          failed     failed     failed              done    failed
retry                    .           .                .               .             .          .          .          .                   .       .
handover-time            .           .                .               .             .          .          .          .                   .       .
handover-due             .           .                .               .             .          .          .          .                   .       .
successor-late           .           .                .               .             .          .          .          .                   .       .
gap                      .           .                .               .             .          .          .          .                   .       .
inactive                 .           .                .               .             .          .          .          .                   .       .
update                   .           .                .               .             .          .          .          .                   .       .
link-ended               failed      failed           failed          failed        failed     failed     failed     failed              done    stopped
link-failed              failed      failed           failed          failed        failed     failed     failed     failed              done    failed
lost                     failed      failed           failed          failed        failed     failed     failed     failed              done    failed
refused                  failed      failed           authorizing     authorizing   failed     failed     failed     failed              done    failed
failed                   failed      failed           failed          failed        failed     failed     failed     failed              failed  failed
read                     .           .                .               .             .          .          .          .                   .       .
held                     .           .                .               .             .          .          .          .                   .       .
all finals               .           .                .               .             done       done       .          .                   .       .
start-answer             .           .                .               streaming     .          .          .          .                   .       .
start-answer, refused    .           .                .               failed        .          .          .          .                   .       .
finalize-answer          .           .                .               .             .          .          .          finalizing+answered done    .
finalize-answer, refused .           .                .               .             .          .          failed     failed              done    .
stop-answer              .           .                .               .             .          .          .          .                   .       stopped
stop-answer, refused     .           .                .               .             .          .          .          .                   .       failed
session-ended            .           .                .               .             done       done       done       closing             .       stopped
session-ended, error     failed      failed           failed          failed        failed     failed     failed     failed              done    stopped
`

/** The differences on a stream with a token that cannot change. */
const streamTable = `
                         idle        authorizing      connecting      starting      streaming  draining   finalizing unanswered          closing stopping
stop                     stopped     stopped          stopped         stopped       stopping   stopping   stopped    stopped             stopped .
link-ended               failed      failed           failed          failed        done       done       done       done                done    stopped
refused                  failed      failed           failed          failed        failed     failed     failed     failed              done    failed
`

/** A session over the WebSocket that lasts as long as its source; no sound follows. */
const lastingSocketTable = `
                         idle        authorizing      connecting      starting      reusing       streaming  draining     paused        waiting      finalizing   unanswered          closing      stopping
begin                    authorizing .                .               .             .             .          .            .             .            .            .                   .            .
authorized               .           connecting       .               .             .             .          .            .             .            .            .                   .            .
token-failed             failed      failed           failed          failed        authorizing   waiting    waiting+over paused+alone  failed       waiting+over waiting+over        waiting+over failed
connected                .           .                starting        .             .             .          .            .             .            .            .                   .            .
partial                  .           .                .               .             .             .          .            .             .            .            .                   .            .
final                    .           .                .               .             .             .          .            .             .            .            .                   .            .
final, error             .           .                .               .             .             .          .            .             .            .            .                   .            .
leaving                  .           .                .               .             .             .          .            .             .            .            .                   .            .
audio-over               idle+over   authorizing+over connecting+over starting+over starting+over finalizing .            done          waiting+over .            .                   .            .
drained                  .           .                .               .             .             .          finalizing   .             .            .            .                   .            .
progress                 .           .                .               .             .             .          .            .             .            .            .                   .            .
sound                    .           .                .               .             .             .          .            starting      .            .            .                   .            .
stop                     stopped     stopped          stopped         stopped       stopped       stopping   stopping     stopped       stopped      stopping     stopping            stopped      .
deadline                 .           failed           failed          failed        authorizing   .          failed       .             .            failed       failed              done         failed
retry                    .           .                .               .             .             .          .            .             authorizing  .            .                   .            .
handover-time            .           .                .               .             .             .          .            .             .            .            .                   .            .
handover-due             .           .                .               .             .             .          .            .             .            .            .                   .            .
successor-late           .           .                .               .             .             .          .            .             .            .            .                   .            .
gap                      .           .                .               .             .             .          .            .             .            .            .                   .            .
inactive                 .           .                .               .             .             .          .            .             .            .            .                   .            .
update                   .           .                .               .             .             .          .            .             .            .            .                   .            .
link-ended               failed      failed           failed          failed        authorizing   waiting    waiting+over paused+alone  failed       waiting+over waiting+over        done         stopped
link-failed              failed      failed           failed          failed        authorizing   waiting    waiting+over paused+alone  failed       waiting+over waiting+over        waiting+over failed
lost                     failed      waiting          waiting         waiting       authorizing   waiting    waiting+over paused+alone  failed       waiting+over waiting+over        waiting+over failed
refused                  failed      failed           authorizing     authorizing   authorizing   waiting    waiting+over paused+alone  failed       waiting+over waiting+over        waiting+over failed
failed                   failed      failed           failed          failed        failed        failed     failed       failed        failed       failed       failed              failed       failed
read                     .           .                .               .             .             .          .            .             .            .            .                   .            .
held                     .           .                .               .             .             .          .            .             .            .            .                   .            .
all finals               .           .                .               .             .             .          .            .             .            .            .                   .            .
start-answer             .           .                .               streaming     streaming     .          .            .             .            .            .                   .            .
start-answer, refused    .           .                .               failed        failed        .          .            .             .            .            .                   .            .
finalize-answer          .           .                .               .             .             .          .            .             .            .            finalizing+answered done         .
finalize-answer, refused .           .                .               .             .             .          .            .             .            failed       failed              done         .
stop-answer              .           .                .               .             .             .          .            .             .            .            .                   .            stopped
stop-answer, refused     .           .                .               .             .             .          .            .             .            .            .                   .            failed
session-ended            .           .                .               .             .             paused    done         .             .            done         closing             .            stopped
session-ended, error     failed      failed           failed          failed        failed        failed     failed       paused+alone  failed       failed       failed              done         stopped
`

/** The differences on a stream. */
const lastingStreamTable = `
                         idle        authorizing      connecting      starting      reusing       streaming     draining     paused        waiting      finalizing   unanswered          closing      stopping
stop                     stopped     stopped          stopped         stopped       stopped       stopping      stopping     stopped       stopped      stopped      stopped             stopped      .
link-ended               failed      failed           failed          failed        authorizing   paused+alone  done         paused+alone  failed       done         done                done         stopped
`

type Row = readonly [input: InputKey, phase: PhaseKey, after: string]

const rowsOf = (table: string): readonly Row[] => {
  const [head = '', ...lines] = table.split('\n').filter((line) => line !== '')
  const keys = head.trim().split(/\s+/) as PhaseKey[]
  return lines.flatMap((line) => {
    const input = line.slice(0, 25).trim() as InputKey
    const cells = line.slice(25).trim().split(/\s+/)
    return keys.map((phase, index): Row => [input, phase, cells[index] ?? ''])
  })
}

/** What a session over the WebSocket that lasts as long as its source does: outputs, then effects. */
const actions: readonly (readonly [PhaseKey, InputKey, string])[] = [
  ['idle', 'begin', 'authorizing, wait 20000, authorize'],
  ['idle', 'audio-over', 'end-audio'],
  ['idle', 'stop', 'drop, stopped, close-ledger'],
  ['idle', 'failed', 'drop, failed, close-ledger'],
  ['idle', 'gap', 'gap'],
  ['authorizing', 'authorized', 'connecting, wait 10000, dial'],
  ['authorizing', 'token-failed', 'drop, failed, close-ledger'],
  ['authorizing', 'lost', 'continue-after, report-ledger, reconnecting, wait 500'],
  ['connecting', 'connected', 'starting, wait 10000, start'],
  ['connecting', 'refused', 'authorizing, wait 20000, authorize'],
  ['starting', 'start-answer', 'begin, watch-updates, send-audio, wait 14040000'],
  ['starting', 'update', ''],
  ['reusing', 'start-answer', 'begin, watch-updates, send-audio, wait 14040000'],
  ['reusing', 'link-ended', 'wait 20000, authorize'],
  ['streaming', 'partial', 'read'],
  ['streaming', 'final', 'read'],
  ['streaming', 'final, error', 'held'],
  ['streaming', 'held', 'wait 1000'],
  ['streaming', 'leaving', 'wait 100'],
  ['streaming', 'inactive', 'silent'],
  ['streaming', 'update', 'send-update'],
  ['streaming', 'audio-over', 'end-audio, finalizing, expect-finals, wait 30000, finalize'],
  ['streaming', 'stop', 'drop, wait 5000, stop'],
  ['streaming', 'lost', 'continue-after, report-ledger, reconnecting, wait 500'],
  ['streaming', 'session-ended', 'continue-after, pause, listen'],
  ['draining', 'drained', 'finalizing, expect-finals, wait 30000, finalize'],
  ['draining', 'progress', 'wait 30000'],
  ['draining', 'update', 'send-update'],
  ['draining', 'session-ended', 'pause, drop, done, close-ledger'],
  ['paused', 'sound', 'wait 10000, restart'],
  ['paused', 'audio-over', 'end-audio, pause, drop, done, close-ledger'],
  ['waiting', 'retry', 'wait 20000, authorize'],
  ['waiting', 'stop', 'drop, stopped, close-ledger'],
  ['finalizing', 'session-ended', 'settle, drop, done, close-ledger'],
  ['unanswered', 'session-ended', 'wait 1000'],
  ['unanswered', 'finalize-answer', 'confirm-finals'],
  ['closing', 'finalize-answer', 'settle, drop, done, close-ledger'],
  ['closing', 'deadline', 'settle, drop, done, close-ledger'],
  ['stopping', 'partial', 'ignored'],
  ['stopping', 'stop-answer', 'drop, stopped, close-ledger'],
]

describe('the machine of a session', () => {
  it.each([
    ['a socket', socketTable, socketTable, socket],
    ['a stream', streamTable, socketTable, stream],
    ['a lasting socket', lastingSocketTable, lastingSocketTable, lastingSocket],
    ['a lasting stream', lastingStreamTable, lastingSocketTable, lastingStream],
  ])('makes the transitions in the table of %s', (_what, table, base, policy) => {
    const own = rowsOf(table)
    const isOwn = new Set(own.map(([input]) => input))
    const rows = [...rowsOf(base).filter(([input]) => !isOwn.has(input)), ...own]
    expect(new Set(rows.map(([input]) => input))).toEqual(new Set(Object.keys(inputs)))
    for (const [input, phase, after] of rows) {
      const next = nameOf(step(at(phases[phase]), inputs[input], policy).state.phase)
      const expected = after === '.' ? nameOf(phases[phase]) : after
      expect(`${input} in ${phase}: ${next}`).toBe(`${input} in ${phase}: ${expected}`)
    }
  })

  it.each(actions)('in %s, %s: %s', (phase, input, expected) => {
    expect(doneBy(step(at(phases[phase]), inputs[input], lastingSocket))).toBe(expected)
  })

  it('expects no answer to a half-close', () => {
    const outputs = doneBy(step(at(phases.streaming), inputs['audio-over'], lastingStream))
    expect(outputs).toBe('end-audio, finalizing, expect-finals, confirm-finals, wait 30000, finalize')
  })

  it('stays in done, stopped and failed, and does nothing there', () => {
    for (const phase of [phases.done, phases.stopped, phases.failed]) {
      for (const input of Object.values(inputs)) expect(step(at(phase), input)).toEqual({ state: at(phase) })
    }
  })

  it('keeps the end of the audio until it can finalize, from every phase before streaming', () => {
    for (const phase of [phases.idle, phases.authorizing, phases.connecting, phases.starting]) {
      let state = step(at(phase), inputs['audio-over']).state
      for (const input of [inputs.begin, inputs.authorized, inputs.connected, inputs['start-answer']]) {
        state = step(state, 'connection' in input ? { ...input, connection: state.connection.id } : input).state
      }
      expect(state.phase).toEqual({ name: 'draining' })
    }
  })

  it('waits for the buffered audio before it finalizes', () => {
    expect(step(at(phases.streaming), inputs['audio-over'], socket, { isSent: false }).state.phase.name).toBe(
      'draining',
    )
  })
})

describe('the machine of a session, with any inputs in any order', () => {
  const input = fc.constantFrom<ClientInput>(...Object.values(inputs))
  const facts = fc.record({
    isSent: fc.boolean(),
    hasSound: fc.boolean(),
    hasProgress: fc.boolean(),
    isLast: fc.boolean(),
    isWhole: fc.boolean(),
    isAnswered: fc.boolean(),
    isUnread: fc.boolean(),
    progressMs: fc.constantFrom(0, 1_000),
  })
  const policy = fc.constantFrom(socket, stream, lastingSocket, lastingStream)

  /** Signals and inputs of a connection are those of the current one or of its successor. */
  const from = (state: ClientState, input: ClientInput, isSuccessor: boolean): ClientInput =>
    'connection' in input
      ? { ...input, connection: (isSuccessor ? state.handover?.successor?.id : undefined) ?? state.connection.id }
      : input

  it('ends at most once, starts no effect whose lifetime is over, and never lacks a deadline', () => {
    const sequence = fc.array(fc.tuple(input, facts, fc.boolean()), { maxLength: 60 })
    fc.assert(
      fc.property(sequence, policy, (steps, ofOne) => {
        const machine = new ClientMachine(ofOne)
        let { state } = machine.start
        const done: string[] = []
        for (const [item, found, isSuccessor] of [[inputs.begin, {}, false] as const, ...steps]) {
          const { state: before } = { state }
          const next = step(state, from(state, item, isSuccessor), ofOne, found)
          if (isEnd(before.phase)) expect(next).toEqual({ state: before })
          state = next.state
          const alive = machine.alive(state)
          for (const { lifetime } of next.effects ?? []) expect(alive).toContain(lifetime)
          expect(alive.size === 0).toBe(isEnd(state.phase))
          // A new wait has its deadline.
          const isNewWait = isWait(state.phase.name) && state.wait !== before.wait
          const deadline = next.effects?.filter(({ lifetime }) => lifetime === `wait:${state.wait}`)
          if (isNewWait) expect(deadline).toHaveLength(1)
          done.push(...doneBy(next).split(', '))
        }
        const count = (what: string): number => done.filter((name) => name === what).length
        expect(count('close-ledger')).toBe(isEnd(state.phase) ? 1 : 0)
        expect(count('watch-updates')).toBeLessThanOrEqual(1)
        expect(count('stop')).toBeLessThanOrEqual(1)
        if (ofOne.resumption === undefined) {
          expect(count('begin')).toBeLessThanOrEqual(1)
          expect(count('dial')).toBeLessThanOrEqual(2)
        }
      }),
      { numRuns: runs(2_000) },
    )
  })
})
