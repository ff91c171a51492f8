import { describe, expect, it } from 'vitest'
import type { DataflowMessage } from '../../../src/transport/link.js'
import { turn } from '../virtual-clock.js'
import {
  audio,
  dataflowTalk,
  event,
  finalize,
  inState,
  nothingLeft,
  request,
  scriptedNode,
  start,
  states,
  stop,
  type State,
} from './dataflow-talk.js'
import { deferred } from '../sessions/talk.js'

describe('a session', () => {
  it('answers Start, passes audio to the project and events to the client, and ends with OK after the flush', async () => {
    const node = scriptedNode()
    const one = dataflowTalk(node.open)
    one.say(start({ Language: 'en', Settings: { a: 1 } }))
    await turn()
    expect(one.since()).toEqual(['Start: success'])
    expect(node.account.context).toMatchObject({
      inputs: { audio: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } },
      language: 'en',
      idleMs: 0,
    })
    one.say(audio(320), audio(2))
    node.says$.next(event('SR Partial'))
    node.says$.next({ type: 'audio', bytes: new Uint8Array(4) })
    expect(node.account.audio).toEqual([320, 2])
    expect(one.since()).toEqual(['SR Partial', 'audio 4'])
    expect(one.places()).toBe(1)
    one.say(finalize)
    expect(one.since()).toEqual(['Finalize: success', 'flushed'])
    expect(one.end()).toBe('ok')
    nothingLeft(one, node)
  })

  it('handles a half-close as a Finalize without a response', async () => {
    const { node, ...one } = await inState('running')
    one.say(audio(320))
    one.client.finish()
    expect(one.since()).toEqual(['flushed'])
    expect(one.end()).toBe('ok')
    nothingLeft(one, node)
  })

  it('merges an Update into the settings that nodes read', async () => {
    const { node, ...one } = await inState('running')
    one.say(request({ MessageName: 'Update', Settings: { a: 1, b: 2 }, CallProperties: { Agent: 'Ann' } }))
    one.say(request({ MessageName: 'Update', Settings: { b: 3 } }))
    expect(one.since()).toEqual(['Update: success', 'Update: success'])
    expect(node.account.context?.settings()).toEqual({ a: 1, b: 3 })
    expect(node.account.context?.callProperties()).toEqual({ Agent: 'Ann' })
  })

  it('ends with OK when the project ends by itself, and drops later messages', async () => {
    const { node, ...one } = await inState('running')
    node.says$.next(event('last'))
    node.says$.complete()
    one.say(audio(320), finalize)
    expect(one.since()).toEqual(['last'])
    expect(one.end()).toBe('ok')
    nothingLeft(one, node)
  })
})

/** What is answered, how the stream ends (`-`: it goes on), by state. */
type Row = readonly [string, DataflowMessage, Readonly<Record<State, readonly [readonly string[], string]>>]
const refused = (answer: string, code: string): readonly [readonly string[], string] => [[`${answer}: ${code}`], code]
const goesOn = (...answers: readonly string[]): readonly [readonly string[], string] => [answers, '-']
const inEveryState = (result: Row[2][State]): Row[2] => ({ opened: result, running: result, flushing: result })

/** Until a Start was accepted, every refusal is the response to it. */
const refusedInEveryState = (code: string): Row[2] => ({
  ...inEveryState(refused('?', code)),
  opened: refused('Start', code),
})

describe('every message in every state', () => {
  const table: readonly Row[] = [
    [
      'Update',
      request({ MessageName: 'Update' }),
      { ...inEveryState(goesOn('Update: success')), opened: refused('Update', 'not-started') },
    ],
    [
      'Finalize',
      finalize,
      {
        opened: refused('Finalize', 'not-started'),
        running: [['Finalize: success', 'flushed'], 'ok'],
        flushing: goesOn('Finalize: success'),
      },
    ],
    ['Stop', stop, { ...inEveryState([['Stop: success'], 'ok']), opened: refused('Stop', 'not-started') }],
    [
      'a second Start',
      start(),
      { ...inEveryState(goesOn('Start: already-started')), opened: goesOn('Start: success') },
    ],
    [
      'a Start with a bad field',
      start({ Audio: 5 }),
      { ...inEveryState(goesOn('Start: already-started')), opened: refused('Start', 'invalid-field') },
    ],
    [
      'an Update with a bad field',
      request({ MessageName: 'Update', Settings: 5 }),
      { ...inEveryState(goesOn('Update: invalid-field')), opened: refused('Start', 'invalid-field') },
    ],
    [
      'an unknown request',
      request({ MessageName: 'Dance' }),
      { ...inEveryState(goesOn('?: unknown-message')), opened: refused('Start', 'unknown-message') },
    ],
    ['junk', request('junk'), { ...inEveryState(goesOn('?: invalid-json')), opened: refused('Start', 'invalid-json') }],
    ['audio', audio(320), { ...inEveryState(goesOn()), opened: refused('Start', 'not-started') }],
    ['audio of no bytes', audio(0), { ...inEveryState(goesOn()), opened: refused('Start', 'not-started') }],
    [
      'a cut sample',
      audio(321),
      { opened: refused('Start', 'not-started'), running: refused('?', 'cut-sample'), flushing: goesOn() },
    ],
    ['audio that is text', audio(0, '{}'), refusedInEveryState('empty-audio')],
    ['an event', { ...request('{}'), contentType: 1 }, refusedInEveryState('unknown-content-type')],
    ['a response', { ...request('{}'), contentType: 3 }, refusedInEveryState('unknown-content-type')],
    ['another content type', { ...request('{}'), contentType: 99 }, refusedInEveryState('unknown-content-type')],
  ]
  const cases = table.flatMap(([name, message, byState]) =>
    states.map((state) => [name, state, message, byState[state]] as const),
  )
  it.each(cases)('answers %s when %s as the protocol says', async (_name, state, message, [answers, end]) => {
    const { node, ...one } = await inState(state)
    one.say(message)
    await turn()
    expect(one.since()).toEqual(answers)
    expect(one.end() ?? '-').toBe(end)
    if (end === '-') one.session.unsubscribe()
    nothingLeft(one, node)
    expect(one.faults).toEqual([])
  })

  it('drops audio after Finalize, and pending results at a Stop', async () => {
    const { node, ...one } = await inState('flushing')
    one.say(audio(320))
    expect(node.account.audio).toEqual([])
    one.say(stop)
    node.says$.next(event('late'))
    expect(one.since()).toEqual(['Stop: success'])
    nothingLeft(one, node)
  })

  it('ignores an audio message without bytes', async () => {
    const { node, ...one } = await inState('running')
    one.say(audio(0))
    expect(node.account.audio).toEqual([])
  })

  it('refuses a half-close before Start', async () => {
    const one = await inState('opened')
    one.client.finish()
    expect(one.since()).toEqual(['Start: not-started'])
    expect(one.end()).toBe('not-started')
    nothingLeft(one)
  })
})

describe('while a session starts', () => {
  it('queues messages in order, with the client paused, until the start is answered', async () => {
    const node = scriptedNode()
    const admitted = deferred<undefined>()
    const one = dataflowTalk(node.open, {}, () => admitted.promise)
    one.say(start(), request({ MessageName: 'Update', Settings: { a: 1 } }), audio(320), finalize, audio(320))
    await turn()
    expect(one.since()).toEqual([])
    expect(one.client.bufferedBytes).toBeGreaterThan(640)
    admitted.resolve(undefined)
    await turn()
    expect(one.since()).toEqual(['Start: success', 'Update: success', 'Finalize: success', 'flushed'])
    expect(node.account.audio).toEqual([320])
    expect(node.account.context?.settings()).toEqual({ a: 1 })
    expect(one.end()).toBe('ok')
    nothingLeft(one, node)
  })

  it('queues a Stop and a half-close', async () => {
    for (const late of ['stop', 'half-close'] as const) {
      const node = scriptedNode()
      const admitted = deferred<undefined>()
      const one = dataflowTalk(node.open, {}, () => admitted.promise)
      one.say(start())
      if (late === 'stop') one.say(stop)
      else one.client.finish()
      await turn()
      admitted.resolve(undefined)
      await turn()
      expect(one.since()).toEqual(['Start: success', late === 'stop' ? 'Stop: success' : 'flushed'])
      expect(one.end()).toBe('ok')
      nothingLeft(one, node)
    }
  })
})
