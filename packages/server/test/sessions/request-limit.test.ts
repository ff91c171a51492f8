import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { RequestLimit, TokenRequests } from '../../src/sessions/request-limit.js'
import { flushPromises, VirtualClock } from '../../../service/test/virtual-clock.js'
import {
  connectDataflow,
  finalize,
  nothingLeft,
  request,
  scriptedNode,
  start,
  stop,
} from '../dataflow/dataflow-connection.js'
import * as recognizer from '../recognizer/recognizer-connection.js'

const limits = { maxRequestsPerSecond: 10, requestBurst: 5 }
const update = (settings: Readonly<Record<string, unknown>>) => request({ MessageName: 'Update', Settings: settings })
const times = <Value>(count: number, value: Value): readonly Value[] => Array.from({ length: count }, () => value)

describe('the limit of requests', () => {
  it('refuses what exceeds the burst, and ends at twice the burst', () => {
    const limit = new RequestLimit(limits, new VirtualClock())
    const verdicts = Array.from({ length: 11 }, () => limit.take(10))
    expect(verdicts).toEqual([...times(5, 'handle'), ...times(5, 'refuse'), 'end'])
  })

  it('drains at its rate, and never below empty', () => {
    const clock = new VirtualClock()
    const limit = new RequestLimit(limits, clock)
    clock.advanceTo(3_600_000)
    expect(times(6, 0).map((length) => limit.take(length))).toEqual([...times(5, 'handle'), 'refuse'])
    expect(limit.refusal()).toMatchObject({ code: 'too-many-requests', retryAfterMs: 200 })
    clock.advanceTo(3_600_200)
    expect(limit.take(0)).toBe('handle')
    expect(limit.take(0)).toBe('refuse')
  })

  it('counts a long request once more for each 16,384 characters', () => {
    const limit = new RequestLimit(limits, new VirtualClock())
    expect(limit.take(4 * 16_384 - 1)).toBe('handle')
    expect(limit.take(16_384)).toBe('refuse')
    expect(limit.take(1_048_576)).toBe('end')
  })
})

const running = async (open = scriptedNode()) => {
  const connection = connectDataflow(open.open, limits)
  connection.send(start())
  await flushPromises()
  connection.since()
  return { ...connection, node: open }
}

describe('a dataflow session', () => {
  it('refuses requests beyond the burst, merges nothing of them, and ends a session that continues', async () => {
    const { node, ...connection } = await running()
    for (let count = 0; count < 10; count += 1) connection.send(update({ [`key${count}`]: count }))
    expect(connection.since()).toEqual([...times(5, 'Update: success'), ...times(5, 'Update: too-many-requests')])
    expect(Object.keys(node.account.context?.settings() ?? {})).toHaveLength(5)
    expect(connection.places()).toBe(1)
    connection.send(update({ one: 'more' }))
    expect(connection.since()).toEqual(['?: too-many-requests'])
    expect(connection.end()).toBe('too-many-requests')
    nothingLeft(connection, node)
  })

  it('counts requests that cannot be read, and accepts requests again after a while', async () => {
    const { node, ...connection } = await running()
    connection.send(...times(6, request('junk')), ...times(2, request({ MessageName: 'Nothing' })))
    expect(connection.since()).toEqual([...times(5, '?: invalid-json'), ...times(3, '?: too-many-requests')])
    connection.clock.advanceTo(connection.clock.now() + 400)
    connection.send(update({ a: 1 }))
    expect(connection.since()).toEqual(['Update: success'])
    connection.session.unsubscribe()
    nothingLeft(connection, node)
  })

  it.each([
    ['Finalize', finalize, ['Finalize: success', 'flushed']],
    ['Stop', stop, ['Stop: success']],
  ] as const)('accepts %s beyond the burst', async (_name, message, answers) => {
    const { node, ...connection } = await running()
    connection.send(...times(8, update({ a: 1 })))
    connection.since()
    connection.send(message)
    expect(connection.since()).toEqual(answers)
    expect(connection.end()).toBe('ok')
    nothingLeft(connection, node)
  })

  it('ends a flood of Finalize while it flushes', async () => {
    const { node, ...connection } = await running(scriptedNode(true))
    connection.send(...times(11, finalize))
    expect(connection.since()).toEqual([...times(10, 'Finalize: success'), '?: too-many-requests'])
    expect(connection.end()).toBe('too-many-requests')
    nothingLeft(connection, node)
  })
})

describe('a socket of the recognizer', () => {
  it('refuses recognitions beyond the burst, and closes when they continue', async () => {
    const connection = recognizer.connectRecognizer(() => Promise.resolve(recognizer.countedEngine()), limits)
    connection.send(...times(5, recognizer.stopRecognition))
    connection.send(...times(5, recognizer.recognize()))
    expect(connection.since()).toEqual([
      ...times(5, 'stop-recognition: no-recognition'),
      ...times(5, 'recognize: too-many-requests'),
    ])
    connection.send(recognizer.recognize())
    expect(connection.end()).toBe('too-many-requests')
    recognizer.nothingLeft(connection)
  })

  it('ends a running recognition normally beyond the burst, and sends its final when the flood continues', async () => {
    const engine = recognizer.countedEngine()
    const connection = recognizer.connectRecognizer(() => Promise.resolve(engine), limits)
    connection.send(recognizer.recognize())
    expect(recognizer.brief(await connection.receive())).toBe('recognize: Success')
    await flushPromises()
    connection.send(...times(9, recognizer.recognize()))
    expect(connection.since()).toEqual([
      ...times(4, 'recognize: already-started'),
      ...times(5, 'recognize: too-many-requests'),
    ])
    connection.send(recognizer.recognize())
    expect(connection.since()).toEqual(['final-result: too-many-requests ""'])
    expect(connection.end()).toBe('too-many-requests')
    recognizer.nothingLeft(connection, engine)
  })
})

describe('the requests of a token', () => {
  it('are limited over all of its sessions, also those that begin later', () => {
    const clock = new VirtualClock()
    const tokens = new TokenRequests(limits, clock)
    const first = tokens.admit('one')
    for (let count = 0; count < 4; count += 1) tokens.admit('one').release()
    first.release()
    expect(() => tokens.admit('one')).toThrow(/^More than 5 requests at once, or 10 per second; wait 200 ms\.$/)
    expect(() => tokens.admit('two')).not.toThrow()
    clock.advanceTo(100)
    expect(() => tokens.admit('one')).not.toThrow()
    expect(() => tokens.admit('one')).toThrow()
  })

  it('refuse those of another session, and do not end it', () => {
    const clock = new VirtualClock()
    const { bucket } = new TokenRequests(limits, clock).admit('one')
    const flooding = new RequestLimit(limits, clock, bucket)
    const other = new RequestLimit(limits, clock, bucket)
    expect(flooding.takeShort(390)).toBeUndefined()
    // The first one was counted with the admission.
    expect([other.takeOfToken(0), other.takeOfToken(0)]).toEqual([true, false])
    expect(other.take(0)).toBe('handle')
    expect(other.refusal()).toMatchObject({ code: 'too-many-requests' })
    expect(other.takeShort(40)).toBeUndefined()
    expect(flooding.takeShort()).toMatchObject({ code: 'too-many-requests' })
    clock.advanceTo(1_000)
    expect(other.takeOfToken(0)).toBe(true)
  })

  it('are limited for all tokens of a client together, to four times as many', () => {
    const clock = new VirtualClock()
    const tokens = new TokenRequests(limits, clock)
    let admitted = 0
    for (let token = 0; token < 40; token += 1) {
      try {
        tokens.admit(`token ${token}`, 'client').release()
        admitted += 1
      } catch (error) {
        expect(error).toMatchObject({ code: 'too-many-requests' })
      }
    }
    // The bucket of the client has a quarter of each, and takes no further one with less than a whole place.
    expect(admitted).toBe(17)
    expect(() => tokens.admit('another', 'other client')).not.toThrow()
    clock.advanceTo(1_000)
    expect(() => tokens.admit('another', 'client')).not.toThrow()
  })

  it('of one token take no place from the other tokens of its client, however many are refused', () => {
    const clock = new VirtualClock()
    const tokens = new TokenRequests(limits, clock)
    const { bucket } = tokens.admit('flooding', 'client')
    const session = new RequestLimit(limits, clock, bucket)
    for (let at = 0; at < 1_000; at += 1) session.takeOfToken(0)
    expect(bucket.level).toBeGreaterThan(limits.requestBurst)
    expect(() => tokens.admit('another', 'client')).not.toThrow()
  })

  it('recover from any flood within twice the burst', () => {
    const clock = new VirtualClock()
    const { bucket } = new TokenRequests(limits, clock).admit('one')
    new RequestLimit(limits, clock, bucket).takeShort(1_000_000)
    clock.advanceTo(1_100)
    expect(bucket.level).toBe(0)
  })

  it('count five for a start that is refused, unless the service refuses it for reasons of its own', () => {
    const clock = new VirtualClock()
    const { bucket } = new TokenRequests(limits, clock).admit('one')
    const session = new RequestLimit(limits, clock, bucket)
    session.startRefused(new SpeechError('overloaded', 'Full.'))
    expect(bucket.level).toBe(1)
    session.startRefused(new SpeechError('invalid-field', 'phrases[0] has no word.'))
    expect(bucket.level).toBe(5)
  })

  it('are forgotten when they have drained and no session is left', () => {
    const clock = new VirtualClock()
    const tokens = new TokenRequests(limits, clock)
    const kept = tokens.hold('kept')
    for (let count = 0; count < 5_000; count += 1) {
      tokens.admit(`token ${count}`, `client ${count % 3_000}`).release()
      clock.advanceTo(clock.now() + 200)
    }
    expect(tokens.size).toBeLessThan(1_003)
    expect(tokens.hold('kept').bucket).toBe(kept.bucket)
  })
})
