import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../src/errors/error-table.js'
import { SpeechError } from '../../src/errors/speech-error.js'
import { isWait } from '../../src/client/session-deadlines.js'
import { isEnd, step as stepOf } from '../../src/client/machine.js'
import type {
  Command,
  MachineInput,
  MachineState,
  ProtocolTraits,
  Standing,
  Step,
} from '../../src/client/session-states.js'
import { runs } from '../thorough.js'

/** The service has given all results and made progress, and in what follows nothing is to be heard. */
const quiet: Standing = { isWhole: true, isAnswered: false, hasSound: false, isUnread: false, hasProgress: true }
const step = (state: MachineState, input: MachineInput, manners: ProtocolTraits, standing = quiet): Step =>
  stepOf(state, input, manners, standing)

const broken = new SpeechError('internal', 'Broken.')
const later = new SpeechError('overloaded', 'Later.')
const refusal = new SpeechError('unauthenticated', 'Not this token.')
const socket: ProtocolTraits = {
  endsWith: 'last-word',
  finalizeBy: 'request',
  renews: true,
  resumes: false,
  continuous: false,
}
const stream: ProtocolTraits = {
  endsWith: 'end-of-stream',
  finalizeBy: 'half-close',
  renews: false,
  resumes: false,
  continuous: false,
}

const before = (name: 'authorizing' | 'connecting' | 'starting'): MachineState => ({
  name,
  audioOver: false,
  refusal: undefined,
  resuming: false,
})
const states: readonly MachineState[] = [
  { name: 'idle', audioOver: false },
  before('authorizing'),
  before('connecting'),
  before('starting'),
  { name: 'streaming' },
  { name: 'draining' },
  { name: 'finalizing', answered: true },
  { name: 'stopping' },
  { name: 'done' },
  { name: 'stopped' },
  { name: 'failed' },
]

const inputs = {
  begin: { type: 'begin' },
  authorized: { type: 'authorized', fresh: true },
  connected: { type: 'connected' },
  'audio-over': { type: 'audio-over', drained: true },
  'audio-over, some held': { type: 'audio-over', drained: false },
  drained: { type: 'drained' },
  progress: { type: 'progress' },
  stop: { type: 'stop' },
  deadline: { type: 'deadline' },
  'link-ended': { type: 'link-ended' },
  'link-failed': { type: 'link-failed', error: broken },
  refused: { type: 'link-failed', error: refusal },
  failed: { type: 'failed', error: broken },
  'start-answer': { type: 'heard', meaning: { type: 'start-answer' } },
  'start-answer, refused': { type: 'heard', meaning: { type: 'start-answer', error: broken } },
  'finalize-answer': { type: 'heard', meaning: { type: 'finalize-answer' } },
  'finalize-answer, refused': { type: 'heard', meaning: { type: 'finalize-answer', error: broken } },
  'stop-answer': { type: 'heard', meaning: { type: 'stop-answer' } },
  'stop-answer, refused': { type: 'heard', meaning: { type: 'stop-answer', error: broken } },
  'last-word': { type: 'heard', meaning: { type: 'last-word' } },
  'last-word, error': { type: 'heard', meaning: { type: 'last-word', error: broken } },
} as const satisfies Record<string, MachineInput>

/** The state that follows each input in each state of the socket; `.` where it stays. */
const socketTable = `
                          idle        authorizing connecting  starting  streaming  draining   finalizing stopping
begin                     authorizing .           .           .         .          .          .          .
authorized                .           connecting  .           .         .          .          .          .
connected                 .           .           starting    .         .          .          .          .
audio-over                .           .           .           .         finalizing .          .          .
audio-over, some held     .           .           .           .         draining   .          .          .
drained                   .           .           .           .         .          finalizing .          .
progress                  .           .           .           .         .          .          .          .
stop                      stopped     stopped     stopped     stopped   stopping   stopping   stopping   .
deadline                  failed      failed      failed      failed    failed     failed     failed     failed
link-ended                failed      failed      failed      failed    failed     failed     failed     stopped
link-failed               failed      failed      failed      failed    failed     failed     failed     failed
refused                   failed      failed      authorizing authorizing failed   failed     failed     failed
failed                    failed      failed      failed      failed    failed     failed     failed     failed
start-answer              .           .           .           streaming .          .          .          .
start-answer, refused     .           .           .           failed    .          .          .          .
finalize-answer           .           .           .           .         .          .          .          .
finalize-answer, refused  .           .           .           .         .          .          failed     .
stop-answer               .           .           .           .         .          .          .          stopped
stop-answer, refused      .           .           .           .         .          .          .          failed
last-word                 .           .           .           .         done       done       done       stopped
last-word, error          failed      failed      failed      failed    failed     failed     failed     stopped
`

/** What is different on the dataflow stream, with a token that cannot change. */
const streamTable = `
                          idle        authorizing connecting  starting  streaming  draining   finalizing stopping
stop                      stopped     stopped     stopped     stopped   stopping   stopping   stopped    .
link-ended                failed      failed      failed      failed    done       done       done       stopped
refused                   failed      failed      failed      failed    failed     failed     failed     failed
`

type Row = readonly [input: keyof typeof inputs, state: MachineState, after: string]

const rowsOf = (table: string): readonly Row[] => {
  const [head = '', ...lines] = table.trim().split('\n')
  const names = head.trim().split(/\s+/)
  return lines.flatMap((line) => {
    const input = line.slice(0, 26).trim() as keyof typeof inputs
    const cells = line.slice(26).trim().split(/\s+/)
    return names.map((name, index): Row => {
      const state = states.find((one) => one.name === name) ?? before('authorizing')
      return [input, state, cells[index] ?? '']
    })
  })
}

const check = (table: string, manners: ProtocolTraits): void => {
  const rows = rowsOf(table)
  for (const [input, state, after] of rows) {
    const next = step(state, inputs[input], manners).state.name
    expect(`${input} in ${state.name}: ${next}`).toBe(
      `${input} in ${state.name}: ${after === '.' ? state.name : after}`,
    )
  }
}

describe('the machine of a session', () => {
  it('goes from each state as the table says', () => {
    expect(new Set(rowsOf(socketTable).map(([input]) => input))).toEqual(new Set(Object.keys(inputs)))
    check(socketTable, socket)
    check(streamTable, stream)
  })

  it('resumes from where it was streaming, and from a start that was cut off', () => {
    const lost = { type: 'link-failed', error: new SpeechError('connection-lost', 'Lost.') } as const
    const resuming = { ...socket, resumes: true }
    const again = (name: 'authorizing' | 'connecting' | 'starting'): MachineState => ({
      name,
      audioOver: true,
      refusal: undefined,
      resuming: true,
    })
    const rows: readonly (readonly [MachineState, MachineInput, string])[] = [
      [before('starting'), lost, 'waiting'],
      [before('starting'), inputs['link-failed'], 'failed'],
      [{ name: 'streaming' }, lost, 'waiting'],
      [{ name: 'draining' }, lost, 'waiting, audio over'],
      [{ name: 'finalizing', answered: true }, lost, 'waiting, audio over'],
      [{ name: 'finalizing', answered: true }, inputs['link-ended'], 'waiting, audio over'],
      [{ name: 'finalizing', answered: true }, inputs.deadline, 'failed'],
      [{ name: 'streaming' }, inputs.refused, 'waiting'],
      [{ name: 'streaming' }, inputs.failed, 'failed'],
      [{ name: 'stopping' }, lost, 'failed'],
      [{ name: 'closing' }, inputs['link-ended'], 'done'],
      [{ name: 'closing' }, inputs.deadline, 'done'],
      [{ name: 'closing' }, lost, 'waiting, audio over'],
      [{ name: 'closing' }, inputs.stop, 'stopped'],
      [{ name: 'waiting', audioOver: false, refusal: undefined }, { type: 'retry' }, 'authorizing'],
      [{ name: 'waiting', audioOver: false, refusal: undefined }, inputs.stop, 'stopped'],
      [{ name: 'waiting', audioOver: false, refusal: undefined }, inputs['audio-over'], 'waiting, audio over'],
      [again('authorizing'), { type: 'token-failed', error: lost.error }, 'waiting, audio over'],
      [again('connecting'), lost, 'waiting, audio over'],
      [again('connecting'), inputs.deadline, 'waiting, audio over'],
      [again('starting'), inputs.deadline, 'waiting, audio over'],
      [again('starting'), inputs['start-answer'], 'draining'],
    ]
    for (const [state, input, expected] of rows) {
      const next = step(state, input, resuming).state
      const isOver = 'audioOver' in next && next.audioOver && next.name !== 'authorizing'
      expect(`${input.type} in ${state.name}: ${next.name}${isOver ? ', audio over' : ''}`).toBe(
        `${input.type} in ${state.name}: ${expected}`,
      )
    }
    // Another connection is not told by the names of its steps.
    expect(step(again('authorizing'), inputs.authorized, resuming).commands).toEqual([{ do: 'dial' }])
  })

  it('repeats a first attempt after an answer that means "later", and after no other', () => {
    const outcome = (code: ErrorCode, state: MachineState, resumes: boolean, retryable?: boolean): string => {
      const error = new SpeechError(code, 'Said.', retryable === undefined ? {} : { retryable })
      const type = state.name === 'authorizing' ? 'token-failed' : 'link-failed'
      return step(state, { type, error }, { ...socket, resumes }).state.name
    }
    const firsts = [before('authorizing'), before('connecting'), before('starting')]
    for (const state of firsts) {
      for (const code of ['overloaded', 'going-away', 'connection-lost', 'too-many-attempts'] as const) {
        expect([code, state.name, outcome(code, state, true)]).toEqual([code, state.name, 'waiting'])
        expect([code, state.name, outcome(code, state, false)]).toEqual([code, state.name, 'failed'])
        expect([code, state.name, outcome(code, state, true, false)]).toEqual([code, state.name, 'failed'])
      }
      for (const code of ['connection-failed', 'connect-timeout', 'refused', 'tenant-denied', 'internal'] as const) {
        expect([code, state.name, outcome(code, state, true)]).toEqual([code, state.name, 'failed'])
      }
      const answer: MachineInput = { type: 'heard', meaning: { type: 'start-answer', error: later } }
      const expected = state.name === 'starting' ? 'waiting' : state.name
      expect(step(state, answer, { ...socket, resumes: true }).state.name).toBe(expected)
    }
    // A first attempt that has to wait is told as `reconnecting`, and its next steps are not told by their names.
    const waiting = step(before('connecting'), { type: 'link-failed', error: later }, { ...socket, resumes: true })
    expect(waiting.commands).toEqual([{ do: 'reconnect', error: later }])
    expect(step(waiting.state, { type: 'retry' }, socket).commands).toEqual([{ do: 'authorize' }])
  })

  it('still renews a refused token after an attempt to renew it failed', () => {
    const renewing: MachineState = { name: 'authorizing', audioOver: false, refusal, resuming: true }
    const resuming = { ...socket, resumes: true }
    const waiting = step(renewing, { type: 'token-failed', error: later }, resuming)
    expect(waiting.state).toEqual({ name: 'waiting', audioOver: false, refusal })
    expect(step(waiting.state, { type: 'retry' }, resuming).commands).toEqual([{ do: 'renew' }])
    // Another token was there, and the connection with it was lost: that one was not refused.
    const connecting: MachineState = { ...renewing, name: 'connecting' }
    expect(step(connecting, { type: 'link-failed', error: later }, resuming).state).toMatchObject({
      refusal: undefined,
    })
  })

  it('goes on with the next recognition where the service has ended one that nobody finalized', () => {
    const lasting = { ...socket, resumes: true, continuous: true }
    const flowing = { ...stream, resumes: true, continuous: true }
    const sound = { ...quiet, hasSound: true }
    const idle = { ...sound, hasProgress: false }
    const torn = { ...sound, isWhole: false }
    const lost = { type: 'link-failed', error: new SpeechError('connection-lost', 'Lost.') } as const
    const wrong = { type: 'link-failed', error: new SpeechError('tenant-denied', 'No.') } as const
    const open: MachineState = { name: 'resting', audioOver: false, connected: true }
    const shut: MachineState = { ...open, connected: false }
    const unanswered: MachineState = { name: 'finalizing', answered: false }
    const again: MachineState = {
      name: 'starting',
      audioOver: false,
      refusal: undefined,
      resuming: true,
      reusing: true,
    }
    const lastWord = inputs['last-word']
    const ended = inputs['link-ended']
    const refused = inputs['finalize-answer, refused']
    const rows: readonly (readonly [ProtocolTraits, Standing, MachineState, MachineInput, string, string])[] = [
      [lasting, quiet, { name: 'streaming' }, lastWord, 'resting on its connection', 'rest'],
      [lasting, sound, { name: 'streaming' }, lastWord, 'starting', 'rest restart'],
      [lasting, sound, { name: 'draining' }, lastWord, 'starting, audio over', 'rest restart'],
      [lasting, idle, { name: 'streaming' }, lastWord, 'waiting', 'rest slow reconnect'],
      [lasting, quiet, { name: 'draining' }, lastWord, 'done', 'tell drop announce complete'],
      [lasting, quiet, open, { type: 'sound' }, 'starting', 'restart'],
      [lasting, quiet, shut, { type: 'sound' }, 'authorizing', 'authorize'],
      [lasting, quiet, open, ended, 'resting', 'leave'],
      [lasting, quiet, open, lost, 'resting', 'leave'],
      [lasting, quiet, open, wrong, 'resting', 'leave'],
      [lasting, quiet, open, lastWord, 'resting on its connection', ''],
      [lasting, quiet, open, inputs['audio-over'], 'done', 'tell drop announce complete'],
      [lasting, quiet, open, inputs.stop, 'stopped', 'drop announce complete'],
      [lasting, quiet, again, ended, 'authorizing', 'authorize'],
      [lasting, quiet, again, lost, 'authorizing', 'authorize'],
      [lasting, quiet, again, wrong, 'failed', 'tell drop announce fail'],
      [lasting, quiet, again, inputs['start-answer'], 'streaming', 'stream'],
      [flowing, quiet, { name: 'streaming' }, ended, 'resting', 'rest'],
      [flowing, sound, { name: 'streaming' }, ended, 'authorizing', 'rest authorize'],
      [flowing, sound, { name: 'draining' }, ended, 'authorizing, audio over', 'rest authorize'],
      [flowing, torn, { name: 'streaming' }, ended, 'waiting', 'reconnect'],
      [flowing, torn, { name: 'finalizing', answered: false }, ended, 'waiting, audio over', 'reconnect'],
      [flowing, sound, { name: 'finalizing', answered: false }, ended, 'done', 'settle tell drop announce complete'],
      [flowing, { ...sound, isUnread: true }, unanswered, ended, 'authorizing, audio over', 'rest authorize'],
      [flowing, { ...sound, isAnswered: true }, unanswered, ended, 'done', 'settle tell drop announce complete'],
      [
        flowing,
        { ...sound, isAnswered: true, isUnread: true },
        unanswered,
        ended,
        'authorizing, audio over',
        'rest authorize',
      ],
      // The final before the answer to finalize may be one that the service gave by itself.
      [lasting, sound, unanswered, lastWord, 'closing', ''],
      [lasting, sound, unanswered, inputs['finalize-answer'], 'finalizing', ''],
      [lasting, sound, { name: 'closing' }, inputs['finalize-answer'], 'done', 'settle tell drop announce complete'],
      [lasting, sound, { name: 'closing' }, refused, 'starting, audio over', 'rest restart'],
      [lasting, quiet, { name: 'closing' }, refused, 'done', 'tell drop announce complete'],
      // One recognition and no more.
      [
        { ...lasting, continuous: false },
        sound,
        { name: 'streaming' },
        lastWord,
        'done',
        'tell drop announce complete',
      ],
      [
        { ...flowing, continuous: false },
        sound,
        { name: 'streaming' },
        { type: 'all-final' },
        'done',
        'tell drop announce complete',
      ],
      [flowing, sound, { name: 'streaming' }, { type: 'all-final' }, 'streaming', ''],
    ]
    for (const [manners, standing, state, input, expected, commands] of rows) {
      const next = step(state, input, manners, standing)
      const isOver = 'audioOver' in next.state && next.state.audioOver
      const isOpen = 'connected' in next.state && next.state.connected
      const name = `${next.state.name}${isOver ? ', audio over' : ''}${isOpen ? ' on its connection' : ''}`
      const told = `${input.type} in ${state.name}: `
      expect(`${told}${name}; ${next.commands.map((command) => command.do).join(' ')}`).toBe(
        `${told}${expected}; ${commands}`,
      )
    }
  })

  it('drops what is left as silence, and not as lost, where nothing is to be heard in it', () => {
    const lasting = { ...socket, continuous: true }
    const causeOf = ({ commands }: Step): unknown => commands.find((command) => command.do === 'drop')
    expect(causeOf(step({ name: 'draining' }, inputs['last-word'], lasting))).toEqual({ do: 'drop', cause: 'silence' })
    expect(causeOf(step({ name: 'draining' }, inputs['last-word'], socket))).toEqual({ do: 'drop', cause: 'ended' })
  })

  it('stays in done, stopped and failed, and commands nothing there', () => {
    for (const state of states.filter(isEnd)) {
      for (const input of Object.values(inputs)) expect(step(state, input, socket)).toEqual({ state, commands: [] })
    }
  })

  it('has a deadline for every state that waits for another, and none for those that wait for the user', () => {
    const waits = states.filter(({ name }) => isWait(name)).map(({ name }) => name)
    expect(waits).toEqual(['authorizing', 'connecting', 'starting', 'draining', 'finalizing', 'stopping'])
  })

  it.each([
    ['authorizing', 'token-timeout'],
    ['connecting', 'connect-timeout'],
    ['starting', 'start-timeout'],
    ['draining', 'finalize-timeout'],
    ['finalizing', 'finalize-timeout'],
    ['stopping', 'stop-timeout'],
  ])('names the time-out of %s %s', (name, code) => {
    const state = states.find((one) => one.name === name) ?? before('authorizing')
    const last = step(state, inputs.deadline, socket).commands.at(-1)
    expect(last?.do === 'fail' && last.error.code).toBe(code)
  })

  it('keeps the end of the audio until it can be told, from every state before streaming', () => {
    for (const state of states.slice(0, 4)) {
      let { state: now } = step(state, inputs['audio-over'], socket)
      for (const input of [inputs.begin, inputs.authorized, inputs.connected, inputs['start-answer']]) {
        now = step(now, input, socket).state
      }
      expect(now).toEqual({ name: 'draining' })
    }
  })

  it('asks for another token once, and gives up with the refusal when it is the same one or is refused too', () => {
    const renewed = step(before('starting'), inputs.refused, socket)
    expect(renewed.state).toEqual({ name: 'authorizing', audioOver: false, refusal, resuming: false })
    expect(renewed.commands).toEqual([{ do: 'announce', state: 'authorizing' }, { do: 'renew' }])
    const same = step(renewed.state, { type: 'authorized', fresh: false }, socket)
    expect(same.commands.at(-1)).toEqual({ do: 'fail', error: refusal })
    const other = step(renewed.state, inputs.authorized, socket)
    expect(other.state.name).toBe('connecting')
    expect(step(other.state, inputs.refused, socket).commands.at(-1)).toEqual({ do: 'fail', error: refusal })
  })

  it('extends the deadline with every progress of the rest, and of nothing else', () => {
    for (const state of states) {
      const { commands } = step(state, inputs.progress, socket)
      expect(commands).toEqual(state.name === 'draining' ? [{ do: 'extend' }] : [])
    }
  })

  it('tells what it drops before it announces an end, and ends last', () => {
    const ends: readonly (readonly [MachineState, MachineInput, readonly Command[]])[] = [
      [
        { name: 'streaming' },
        inputs['last-word'],
        [{ do: 'tell' }, { do: 'drop', cause: 'ended' }, { do: 'announce', state: 'done' }, { do: 'complete' }],
      ],
      [
        before('starting'),
        inputs.stop,
        [{ do: 'drop', cause: 'stopped' }, { do: 'announce', state: 'stopped' }, { do: 'complete' }],
      ],
      [
        { name: 'streaming' },
        inputs.failed,
        [
          { do: 'tell' },
          { do: 'drop', cause: 'failed' },
          { do: 'announce', state: 'failed' },
          { do: 'fail', error: broken },
        ],
      ],
    ]
    for (const [state, input, commands] of ends) expect(step(state, input, socket).commands).toEqual(commands)
  })

  it('begins another recognition for each that the service ends, without a retry', () => {
    const lasting = { ...socket, resumes: true, continuous: true }
    let state: MachineState = { name: 'streaming' }
    const done: string[] = []
    for (let nth = 0; nth < 20; nth++) {
      for (const input of [
        inputs['last-word'],
        inputs['link-ended'],
        { type: 'sound' },
        inputs.authorized,
        inputs.connected,
        inputs['start-answer'],
      ] as const) {
        const next = step(state, input, lasting)
        state = next.state
        done.push(...next.commands.map((command) => command.do))
      }
      expect(state).toEqual({ name: 'streaming' })
    }
    expect(done).not.toContain('reconnect')
    expect(done.filter((one) => one === 'dial')).toHaveLength(20)
  })

  it('ends at most once and never leaves an end, whatever comes in whatever order', () => {
    const input = fc.constantFrom(...Object.values(inputs), { type: 'authorized', fresh: false } as const)
    const manners = fc.record<ProtocolTraits>({
      endsWith: fc.constantFrom('end-of-stream', 'last-word'),
      finalizeBy: fc.constantFrom('half-close', 'request'),
      renews: fc.boolean(),
      resumes: fc.constant(false),
      continuous: fc.constant(false),
    })
    fc.assert(
      fc.property(fc.array(input, { maxLength: 60 }), manners, (sequence, ofOne) => {
        let state: MachineState = { name: 'idle', audioOver: false }
        const done: Command['do'][] = []
        for (const one of [inputs.begin, ...sequence]) {
          const wasEnd = isEnd(state)
          const next = step(state, one, ofOne)
          if (wasEnd) expect(next).toEqual({ state, commands: [] })
          // Whoever waits for the other side has a deadline; streaming waits for the user.
          expect(isEnd(next.state) || isWait(next.state.name) || next.state.name === 'streaming').toBe(true)
          done.push(...next.commands.map((command) => command.do))
          state = next.state
        }
        const count = (what: Command['do']): number => done.filter((one) => one === what).length
        expect(count('complete') + count('fail')).toBe(isEnd(state) ? 1 : 0)
        expect(count('renew')).toBeLessThanOrEqual(1)
        expect(count('finalize')).toBeLessThanOrEqual(1)
        expect(count('stop')).toBeLessThanOrEqual(1)
        expect(count('stream')).toBeLessThanOrEqual(1)
        expect(count('dial')).toBeLessThanOrEqual(2)
      }),
      { numRuns: runs(2000) },
    )
  })
})
