import { describe, expect, it } from 'vitest'
import type { DataflowMessage } from '../../../../src/transport/link.js'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import {
  audio,
  connectDataflow,
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
} from './dataflow-connection.js'
import { deferred } from '../sessions/test-connection.js'

describe('a session', () => {
  it('answers Start, passes audio to the project and events to the client, and ends with OK after the flush', async () => {
    const node = scriptedNode()
    const connection = connectDataflow(node.open)
    connection.send(start({ Language: 'en', Settings: { a: 1 } }))
    await flushPromises()
    expect(connection.since()).toEqual(['Start: success'])
    expect(node.account.context).toMatchObject({
      inputs: { audio: { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } },
      language: 'en',
      idleMs: 0,
    })
    connection.send(audio(320), audio(2))
    node.output$.next(event('SR Partial'))
    node.output$.next({ type: 'audio', bytes: new Uint8Array(4) })
    expect(node.account.audio).toEqual([320, 2])
    expect(connection.since()).toEqual(['SR Partial', 'audio 4'])
    expect(connection.places()).toBe(1)
    connection.send(finalize)
    expect(connection.since()).toEqual(['Finalize: success', 'flushed'])
    expect(connection.end()).toBe('ok')
    nothingLeft(connection, node)
  })

  it('handles a half-close as a Finalize without a response', async () => {
    const { node, ...connection } = await inState('running')
    connection.send(audio(320))
    connection.client.finish()
    expect(connection.since()).toEqual(['flushed'])
    expect(connection.end()).toBe('ok')
    nothingLeft(connection, node)
  })

  it('merges an Update into the settings that nodes read', async () => {
    const { node, ...connection } = await inState('running')
    connection.send(request({ MessageName: 'Update', Settings: { a: 1, b: 2 }, CallProperties: { Agent: 'Ann' } }))
    connection.send(request({ MessageName: 'Update', Settings: { b: 3 } }))
    expect(connection.since()).toEqual(['Update: success', 'Update: success'])
    expect(node.account.context?.settings()).toEqual({ a: 1, b: 3 })
    expect(node.account.context?.callProperties()).toEqual({ Agent: 'Ann' })
  })

  it('ends with OK when the project ends by itself, and drops later messages', async () => {
    const { node, ...connection } = await inState('running')
    node.output$.next(event('last'))
    node.output$.complete()
    connection.send(audio(320), finalize)
    expect(connection.since()).toEqual(['last'])
    expect(connection.end()).toBe('ok')
    nothingLeft(connection, node)
  })
})

/** The responses, and how the stream ends (`-`: it continues), by state. */
type Row = readonly [string, DataflowMessage, Readonly<Record<State, readonly [readonly string[], string]>>]
const refused = (answer: string, code: string): readonly [readonly string[], string] => [[`${answer}: ${code}`], code]
const continuing = (...answers: readonly string[]): readonly [readonly string[], string] => [answers, '-']
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
      { ...inEveryState(continuing('Update: success')), opened: refused('Update', 'not-started') },
    ],
    [
      'Finalize',
      finalize,
      {
        opened: refused('Finalize', 'not-started'),
        running: [['Finalize: success', 'flushed'], 'ok'],
        flushing: continuing('Finalize: success'),
      },
    ],
    ['Stop', stop, { ...inEveryState([['Stop: success'], 'ok']), opened: refused('Stop', 'not-started') }],
    [
      'a second Start',
      start(),
      { ...inEveryState(continuing('Start: already-started')), opened: continuing('Start: success') },
    ],
    [
      'a Start with a bad field',
      start({ Audio: 5 }),
      { ...inEveryState(continuing('Start: already-started')), opened: refused('Start', 'invalid-field') },
    ],
    [
      'an Update with a bad field',
      request({ MessageName: 'Update', Settings: 5 }),
      { ...inEveryState(continuing('Update: invalid-field')), opened: refused('Start', 'invalid-field') },
    ],
    [
      'an unknown request',
      request({ MessageName: 'Dance' }),
      { ...inEveryState(continuing('?: unknown-message')), opened: refused('Start', 'unknown-message') },
    ],
    [
      'junk',
      request('junk'),
      { ...inEveryState(continuing('?: invalid-json')), opened: refused('Start', 'invalid-json') },
    ],
    ['audio', audio(320), { ...inEveryState(continuing()), opened: refused('Start', 'not-started') }],
    ['audio of no bytes', audio(0), { ...inEveryState(continuing()), opened: refused('Start', 'not-started') }],
    [
      'a cut sample',
      audio(321),
      { opened: refused('Start', 'not-started'), running: refused('?', 'cut-sample'), flushing: continuing() },
    ],
    ['audio that is text', audio(0, '{}'), refusedInEveryState('empty-audio')],
    ['an event', { ...request('{}'), contentType: 1 }, refusedInEveryState('unknown-content-type')],
    ['a response', { ...request('{}'), contentType: 3 }, refusedInEveryState('unknown-content-type')],
    ['another content type', { ...request('{}'), contentType: 99 }, refusedInEveryState('unknown-content-type')],
  ]
  const cases = table.flatMap(([name, message, byState]) =>
    states.map((state) => [name, state, message, byState[state]] as const),
  )
  it.each(cases)('answers %s when %s as the protocol defines', async (_name, state, message, [answers, end]) => {
    const { node, ...connection } = await inState(state)
    connection.send(message)
    await flushPromises()
    expect(connection.since()).toEqual(answers)
    expect(connection.end() ?? '-').toBe(end)
    if (end === '-') connection.session.unsubscribe()
    nothingLeft(connection, node)
    expect(connection.faults).toEqual([])
  })

  it('drops audio after Finalize, and pending results at a Stop', async () => {
    const { node, ...connection } = await inState('flushing')
    connection.send(audio(320))
    expect(node.account.audio).toEqual([])
    connection.send(stop)
    node.output$.next(event('late'))
    expect(connection.since()).toEqual(['Stop: success'])
    nothingLeft(connection, node)
  })

  it('ignores an audio message without bytes', async () => {
    const { node, ...connection } = await inState('running')
    connection.send(audio(0))
    expect(node.account.audio).toEqual([])
  })

  it('refuses a half-close before Start', async () => {
    const connection = await inState('opened')
    connection.client.finish()
    expect(connection.since()).toEqual(['Start: not-started'])
    expect(connection.end()).toBe('not-started')
    nothingLeft(connection)
  })
})

describe('while a session starts', () => {
  it('queues messages in order, with the client paused, until the start is answered', async () => {
    const node = scriptedNode()
    const admitted = deferred<undefined>()
    const connection = connectDataflow(node.open, {}, () => admitted.promise)
    connection.send(start(), request({ MessageName: 'Update', Settings: { a: 1 } }), audio(320), finalize, audio(320))
    await flushPromises()
    expect(connection.since()).toEqual([])
    expect(connection.client.bufferedBytes).toBeGreaterThan(640)
    admitted.resolve(undefined)
    await flushPromises()
    expect(connection.since()).toEqual(['Start: success', 'Update: success', 'Finalize: success', 'flushed'])
    expect(node.account.audio).toEqual([320])
    expect(node.account.context?.settings()).toEqual({ a: 1 })
    expect(connection.end()).toBe('ok')
    nothingLeft(connection, node)
  })

  it('queues a Stop and a half-close', async () => {
    for (const late of ['stop', 'half-close'] as const) {
      const node = scriptedNode()
      const admitted = deferred<undefined>()
      const connection = connectDataflow(node.open, {}, () => admitted.promise)
      connection.send(start())
      if (late === 'stop') connection.send(stop)
      else connection.client.finish()
      await flushPromises()
      admitted.resolve(undefined)
      await flushPromises()
      expect(connection.since()).toEqual(['Start: success', late === 'stop' ? 'Stop: success' : 'flushed'])
      expect(connection.end()).toBe('ok')
      nothingLeft(connection, node)
    }
  })
})
