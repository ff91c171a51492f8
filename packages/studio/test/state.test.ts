import { describe, expect, it } from 'vitest'
import type { LedgerAccount, SessionEvent } from '../../../src/index.js'
import { failureSentence, incidentSentence, statusSentence } from '../src/state/sentences.js'
import { initialState, reduce, type StudioInput, type StudioState } from '../src/state/state.js'

const started: StudioInput = { type: 'started', title: 'Call', channels: ['Agent', 'Customer'] }

const at = (atMs: number, event: SessionEvent, channel = 0): StudioInput => ({
  type: 'event',
  event,
  channel,
  atMs,
  audioMs: atMs,
})

const connection = (state: 'connecting' | 'streaming' | 'finalizing' | 'done' | 'stopped'): SessionEvent => ({
  type: 'connection',
  state,
})

const reconnecting = (attempt: number, bufferedMs: number): SessionEvent => ({
  type: 'connection',
  state: 'reconnecting',
  attempt,
  delayMs: 100,
  bufferedMs,
  cause: 'connection-lost',
})

const milestone = (text: string, startMs: number, endMs: number): SessionEvent => ({
  type: 'milestone',
  text,
  startMs,
  endMs,
})
const partial = (text: string, startMs: number, endMs: number, stableLength = 0): SessionEvent => ({
  type: 'partial',
  text,
  stableLength,
  startMs,
  endMs,
})

const run = (...inputs: readonly StudioInput[]): StudioState => inputs.reduce(reduce, reduce(initialState, started))

const texts = ({ lines }: StudioState): readonly string[] =>
  lines.map(({ channel, words }) => `${channel}: ${words.map(({ text }) => text).join(' ')}`)

describe('the state of the studio', () => {
  it('keeps partial text apart from definitive text, for each channel', () => {
    const state = run(
      at(900, partial(' good m', 500, 900, 5)),
      at(1000, partial('hello', 800, 1000), 1),
      at(1500, milestone('good morning', 500, 1400)),
    )
    expect(texts(state)).toEqual(['0: good morning'])
    expect(state.partials).toEqual(['', 'hello'])
    expect(state.stableLengths).toEqual([0, 0])
    const open = run(at(900, partial(' good m', 500, 900, 5)))
    expect([open.partials, open.stableLengths]).toEqual([['good m'], [4]])
    expect(state.speaking).toEqual([undefined, { channel: 1, fromMs: 800, toMs: 1000 }])
    expect(state.milestones).toEqual([{ channel: 0, atMs: 1500, text: 'good morning' }])
  })

  it('shows sound that matches nothing that the model knows, in place of its partial text', () => {
    const noMatch = (startMs: number, endMs: number): SessionEvent => ({
      ...{ type: 'event', name: 'SR No Match', channel: 0, startMs, endMs, tags: [], groupId: '' },
      data: undefined,
    })
    const state = run(
      at(1000, milestone('one', 0, 900)),
      at(1400, partial('two', 1100, 1400)),
      at(1600, noMatch(1100, 1500)),
      at(2000, noMatch(1600, 1900)),
      at(3000, milestone('three', 2000, 2900)),
    )
    expect(texts(state)).toEqual(['0: one', '0: ', '0: three'])
    expect(state.lines[1]).toMatchObject({ startMs: 1100, endMs: 1900, status: 'rejected' })
    expect(state.partials).toEqual([''])
    expect(state.speaking).toEqual([undefined])
    expect(state.rejected).toEqual([
      { channel: 0, fromMs: 1100, toMs: 1500 },
      { channel: 0, fromMs: 1600, toMs: 1900 },
    ])
  })

  it('starts a paragraph with another speaker and after a pause', () => {
    const state = run(
      at(1000, milestone('one', 0, 900)),
      at(2000, milestone(' two', 1100, 1900)),
      at(3000, milestone('three', 2000, 2900), 1),
      at(9000, milestone('four', 8000, 8900), 1),
    )
    expect(texts(state)).toEqual(['0: one two', '1: three', '1: four'])
    expect(state.lines.map(({ id }) => id)).toEqual([1, 2, 3])
  })

  it('has the paragraphs in the order of time, however the results of the channels arrive', () => {
    const late = run(
      at(4000, milestone('hello there', 3000, 3900), 1),
      at(4100, milestone('good morning', 500, 2900)),
      at(4200, milestone('how are you', 2950, 3500)),
      at(4300, milestone('fine', 5000, 5300), 1),
    )
    expect(texts(late)).toEqual(['0: good morning how are you', '1: hello there fine'])
    expect(late.lines.map(({ id }) => id)).toEqual([2, 1])
    const between = run(
      at(1000, milestone('one', 0, 900)),
      at(9000, milestone('three', 8000, 8900)),
      at(9100, milestone('two', 2000, 2900), 1),
    )
    expect(texts(between)).toEqual(['0: one', '1: two', '0: three'])
    const inside = run(
      at(9000, milestone('one moment please', 0, 1000)),
      at(9000, milestone('i have a table', 3000, 4000)),
      at(9000, milestone('at eight', 4000, 5000)),
      at(9100, milestone('sure', 1500, 2000), 1),
      at(9100, milestone('thank you', 3500, 3900), 1),
    )
    expect(texts(inside)).toEqual([
      '0: one moment please',
      '1: sure',
      '0: i have a table',
      '1: thank you',
      '0: at eight',
    ])
    expect(inside.lines.map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
      [0, 1000],
      [1500, 2000],
      [3000, 4000],
      [3500, 3900],
      [4000, 5000],
    ])
    expect(inside.lines.map(({ id }) => id).toSorted()).toEqual([1, 2, 3, 4, 5])
  })

  it('never changes a word that is definitive when a partial arrives', () => {
    const before = run(at(1000, milestone('one', 0, 900)))
    expect(reduce(before, at(1500, partial('two', 1000, 1400))).lines).toBe(before.lines)
  })

  it('is in the phase of the channel that is furthest behind', () => {
    const phases = [
      [at(1, connection('connecting')), at(1, connection('connecting'), 1)],
      [at(2, connection('streaming'))],
      [at(3, connection('streaming'), 1)],
      [at(4, reconnecting(1, 0), 1)],
      [at(5, connection('streaming'), 1)],
      [at(6, connection('finalizing'))],
      [at(7, connection('finalizing'), 1)],
    ].reduce<StudioState[]>((states, inputs) => [...states, inputs.reduce(reduce, states.at(-1) ?? run())], [])
    expect(phases.map(({ phase }) => phase)).toEqual([
      'connecting',
      'connecting',
      'streaming',
      'reconnecting',
      'streaming',
      'streaming',
      'finalizing',
    ])
  })

  it('closes a span of the connection when the next one begins, and the last one at the end', () => {
    const { connection: spans } = run(
      at(0, connection('connecting')),
      at(100, connection('streaming')),
      at(400, connection('streaming')),
      at(900, connection('done')),
      { type: 'ended', atMs: 950, audioMs: 950 },
    )
    expect(spans).toEqual([
      { channel: 0, fromMs: 0, toMs: 100, state: 'connecting' },
      { channel: 0, fromMs: 100, toMs: 900, state: 'streaming' },
      { channel: 0, fromMs: 900, toMs: 950, state: 'done' },
    ])
  })

  it('says why a session ended', () => {
    const ended: StudioInput = { type: 'ended', atMs: 1, audioMs: 1 }
    expect(statusSentence(run(ended))).toBe('Ended. All results have arrived.')
    expect(statusSentence(run(at(0, connection('stopped')), ended))).toBe(
      'Stopped. Audio without a result was discarded.',
    )
    const failure = { code: 'overloaded', message: 'The service is full.' } as const
    expect(statusSentence(run({ ...ended, failure }))).toMatch(/^The service is full\. \S/)
    const denied = { code: 'microphone-denied', message: 'Allow it.' } as const
    expect(statusSentence(run({ ...ended, failure: denied }))).toBe('Allow it.')
    expect(failureSentence(denied)).toBe('Allow it.')
    const unreachable = { code: 'connection-failed', message: 'The connection failed; see the cause.' } as const
    expect(failureSentence(unreachable)).toMatch(/^The service cannot be reached\. Check that the service runs\. /)
    const withoutToken = { code: 'token-endpoint-failed', message: 'The token source failed; see the cause.' } as const
    expect(failureSentence(withoutToken)).toBe(
      'The service gave this page no token. Check that the service runs, then try again.',
    )
  })

  it('keeps the ledger as it was reported', () => {
    const account: LedgerAccount = {
      capturedMs: 5,
      finalizedMs: 1,
      pendingMs: 4,
      replayedPendingMs: 0,
      droppedMs: 0,
      sentMs: 5,
    }
    expect(run({ type: 'ledger', account, isEstimated: true })).toMatchObject({
      ledger: account,
      isLedgerEstimated: true,
    })
  })
})

describe('the sentence about a lost connection', () => {
  const lost = [at(12_400, reconnecting(1, 900)), at(12_410, reconnecting(1, 800), 1)]
  const cut: StudioInput = { type: 'cut', audioMs: 12_400 }

  it('says what is kept while the session reconnects', () => {
    const [incident] = run(...lost, at(12_900, reconnecting(2, 1400))).incidents
    expect(incident && incidentSentence(incident)).toBe(
      'Connection lost at 12.4 s on 2 channels. Attempt 2 to reconnect; 1.4 s of audio are kept and will be sent again.',
    )
  })

  it('says when it resumed, how much was sent again, and that nothing was lost', () => {
    const { incidents } = run(
      cut,
      ...lost,
      at(12_900, { type: 'resumed', replayedMs: 600 }),
      at(13_000, { type: 'resumed', replayedMs: 500 }, 1),
    )
    expect(incidents.map((incident) => incidentSentence(incident))).toEqual([
      'Connection cut at 12.4 s on 2 channels, resumed after 0.6 s, 1.1 s of audio sent again, nothing lost.',
    ])
  })

  it('says how much was lost, also in the text', () => {
    const { incidents, lines } = run(
      at(5000, reconnecting(1, 100)),
      at(5100, { type: 'gap', fromMs: 1000, toMs: 3000, cause: 'replay-full' }),
      at(5200, { type: 'gap', fromMs: 3000, toMs: 4000, cause: 'silence' }),
      at(6000, { type: 'resumed', replayedMs: 100 }),
    )
    expect(incidents.map((incident) => incidentSentence(incident))).toEqual([
      'Connection lost at 5.0 s, resumed after 1.0 s, 0.1 s of audio sent again, 2.0 s of audio lost.',
    ])
    expect(lines).toMatchObject([{ status: 'gap', startMs: 1000, endMs: 3000, cause: 'replay-full', words: [] }])
  })

  it('is about another loss after the session has resumed', () => {
    const { incidents } = run(
      at(1000, reconnecting(1, 0)),
      at(1200, { type: 'resumed', replayedMs: 0 }),
      at(1400, reconnecting(1, 0)),
    )
    expect(incidents).toHaveLength(2)
  })

  it('does not call the next recognition a resumption', () => {
    const state = run(at(1000, { type: 'resumed', replayedMs: 500, isNextRecognition: true }))
    expect(state.incidents).toEqual([])
  })

  it('says that a session ended before it resumed', () => {
    const [incident] = run(...lost, { type: 'ended', atMs: 20_000, audioMs: 20_000 }).incidents
    expect(incident && incidentSentence(incident, true)).toBe(
      'Connection lost at 12.4 s on 2 channels, and not resumed before the session ended.',
    )
  })
})
