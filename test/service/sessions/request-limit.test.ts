import { describe, expect, it } from 'vitest'
import { RequestLimit } from '../../../src/service/sessions/request-limit.js'
import { turn, VirtualClock } from '../virtual-clock.js'
import { dataflowTalk, finalize, nothingLeft, request, scriptedNode, start, stop } from '../dataflow/dataflow-talk.js'
import * as recognizer from '../recognizer/recognizer-talk.js'

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
  const one = dataflowTalk(open.open, limits)
  one.say(start())
  await turn()
  one.since()
  return { ...one, node: open }
}

describe('a dataflow session', () => {
  it('declines requests beyond the burst, merges nothing of them, and ends one that goes on', async () => {
    const { node, ...one } = await running()
    for (let count = 0; count < 10; count += 1) one.say(update({ [`key${count}`]: count }))
    expect(one.since()).toEqual([...times(5, 'Update: success'), ...times(5, 'Update: too-many-requests')])
    expect(Object.keys(node.account.context?.settings() ?? {})).toHaveLength(5)
    expect(one.places()).toBe(1)
    one.say(update({ one: 'more' }))
    expect(one.since()).toEqual(['?: too-many-requests'])
    expect(one.end()).toBe('too-many-requests')
    nothingLeft(one, node)
  })

  it('counts requests that cannot be read, and takes them again after a while', async () => {
    const { node, ...one } = await running()
    one.say(...times(6, request('junk')), ...times(2, request({ MessageName: 'Nothing' })))
    expect(one.since()).toEqual([...times(5, '?: invalid-json'), ...times(3, '?: too-many-requests')])
    one.clock.advanceTo(one.clock.now() + 400)
    one.say(update({ a: 1 }))
    expect(one.since()).toEqual(['Update: success'])
    one.session.unsubscribe()
    nothingLeft(one, node)
  })

  it.each([
    ['Finalize', finalize, ['Finalize: success', 'flushed']],
    ['Stop', stop, ['Stop: success']],
  ] as const)('takes %s beyond the burst', async (_name, message, answers) => {
    const { node, ...one } = await running()
    one.say(...times(8, update({ a: 1 })))
    one.since()
    one.say(message)
    expect(one.since()).toEqual(answers)
    expect(one.end()).toBe('ok')
    nothingLeft(one, node)
  })

  it('ends a flood of Finalize while it flushes', async () => {
    const { node, ...one } = await running(scriptedNode(true))
    one.say(...times(11, finalize))
    expect(one.since()).toEqual([...times(10, 'Finalize: success'), '?: too-many-requests'])
    expect(one.end()).toBe('too-many-requests')
    nothingLeft(one, node)
  })
})

describe('a socket of the recognizer', () => {
  it('refuses recognitions beyond the burst, and closes when that goes on', async () => {
    const one = recognizer.recognizerTalk(() => Promise.resolve(recognizer.countedEngine()), limits)
    one.say(...times(5, recognizer.stopRecognition))
    one.say(...times(5, recognizer.recognize()))
    expect(one.since()).toEqual([
      ...times(5, 'stop-recognition: no-recognition'),
      ...times(5, 'recognize: too-many-requests'),
    ])
    one.say(recognizer.recognize())
    expect(one.end()).toBe('too-many-requests')
    recognizer.nothingLeft(one)
  })

  it('ends what runs in good order beyond the burst, and says its final when the flood goes on', async () => {
    const engine = recognizer.countedEngine()
    const one = recognizer.recognizerTalk(() => Promise.resolve(engine), limits)
    one.say(recognizer.recognize())
    expect(recognizer.brief(await one.hear())).toBe('recognize: Success')
    await turn()
    one.say(...times(9, recognizer.recognize()))
    expect(one.since()).toEqual([
      ...times(4, 'recognize: already-started'),
      ...times(5, 'recognize: too-many-requests'),
    ])
    one.say(recognizer.recognize())
    expect(one.since()).toEqual(['final-result: too-many-requests ""'])
    expect(one.end()).toBe('too-many-requests')
    recognizer.nothingLeft(one, engine)
  })
})
