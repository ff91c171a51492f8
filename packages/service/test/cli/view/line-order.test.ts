import { describe, expect, it } from 'vitest'
import { LineOrder, maxWaitOfAudioMs, silentAfterMs, type LineOrderOptions } from '../../../src/cli/view/line-order.js'

const orderOf = (options: Partial<LineOrderOptions> = {}) => {
  const order = new LineOrder({ channels: 2, isPaced: false, ...options })
  const due = (nowMs = 0): readonly string[] => order.due(nowMs).map(({ text }) => text)
  return {
    order,
    due,
    partial: (channel: number, startMs: number, text = 'words') =>
      order.take({ type: 'partial', channel, startMs, text }, undefined),
    line: (channel: number, startMs: number, endMs: number, text = `${channel}:${startMs}`) =>
      order.take({ type: 'milestone', channel, startMs, endMs, text }, { channel, startMs, text }),
    final: (channel: number, endMs: number, heardMs?: number) =>
      order.take({ type: 'final', channel, endMs, text: '', ...(heardMs !== undefined && { heardMs }) }, undefined),
    rest: () => order.rest().map(({ text }) => text),
  }
}

describe('LineOrder', () => {
  it('returns the lines of a single channel as they arrive, whatever the service calls it', () => {
    const { line, due } = orderOf({ channels: 1 })
    line(0, 500, 3400)
    expect(due()).toEqual(['0:500'])
    line(1, 4000, 5000)
    expect(due()).toEqual(['1:4000'])
  })

  it('returns a line when the results of the other channel have reached it', () => {
    const { line, due } = orderOf()
    line(0, 500, 3400)
    line(0, 6500, 9000)
    expect(due()).toEqual([])
    line(1, 3200, 6700)
    expect(due()).toEqual(['0:500', '1:3200', '0:6500'])
  })

  it('waits for a line whose words may still change if it began earlier, and not if it began later', () => {
    const { partial, line, due } = orderOf()
    partial(1, 1000)
    line(0, 500, 800)
    expect(due()).toEqual(['0:500'])
    line(0, 1500, 2000)
    expect(due()).toEqual([])
    line(1, 1000, 3000)
    expect(due()).toEqual(['1:1000', '0:1500'])
  })

  it('takes what the final of the other channel has heard as its position', () => {
    const { line, final, due } = orderOf()
    line(0, 5000, 6000)
    final(1, 2000)
    expect(due()).toEqual([])
    final(1, 2000, 9000)
    expect(due()).toEqual(['0:5000'])
  })

  it('returns a line at once if a channel is silent whose audio was sent long enough ago', () => {
    const { order, line, due } = orderOf({ isPaced: true })
    order.sent(4000, 4000)
    order.sent(9000, 9000)
    line(0, 4100, 8500)
    expect(due(4000 + silentAfterMs - 1)).toEqual([])
    expect(due(4000 + silentAfterMs)).toEqual([])
    expect(due(9000 + silentAfterMs - 1)).toEqual([])
    expect(due(9000 + silentAfterMs)).toEqual(['0:4100'])
  })

  it('does not take a channel as silent whose words may still change, until they are withdrawn', () => {
    const { order, partial, line, due } = orderOf({ isPaced: true })
    order.sent(9000, 0)
    partial(1, 2000)
    line(0, 4000, 5000)
    expect(due(silentAfterMs)).toEqual([])
    partial(1, 2000, '')
    expect(due(silentAfterMs)).toEqual(['0:4000'])
  })

  it('does not take a channel as silent if audio is sent as fast as the service reads', () => {
    const { order, line, due } = orderOf({ isPaced: false })
    order.sent(9000, 0)
    line(0, 4000, 5000)
    expect(due(10 * silentAfterMs)).toEqual([])
  })

  it.each(['results', 'sent audio'])('holds no line for more audio than the limit, by %s', (progress) => {
    const { order, partial, line, due } = orderOf({ isPaced: progress === 'sent audio' })
    partial(1, 2000)
    line(0, 4000, 5000)
    const proceed = (audioMs: number): void => {
      if (progress === 'results') partial(0, audioMs)
      else order.sent(audioMs, 0)
    }
    proceed(4000 + maxWaitOfAudioMs - 200)
    expect(due(silentAfterMs)).toEqual([])
    if (progress === 'results') proceed(4000 + maxWaitOfAudioMs)
    else order.sent(4000 + maxWaitOfAudioMs, silentAfterMs)
    expect(due(2 * silentAfterMs)).toEqual(['0:4000'])
  })

  it('keeps the last text of a recognition, which has no time of its own, behind the line before it', () => {
    const { order, line, rest } = orderOf()
    line(0, 5000, 6000)
    order.take({ type: 'final', channel: 0, endMs: 7000, text: 'a b' }, { channel: 0, text: 'end' })
    line(1, 5500, 6500)
    line(1, 1000, 1500, 'repeated')
    expect(rest()).toEqual(['0:5000', 'end', '1:5500', 'repeated'])
  })

  it('returns lines without times at once', () => {
    const { order, due } = orderOf()
    order.take({ type: 'milestone', channel: 1, text: 'one' }, { channel: 1, text: 'one' })
    order.take({ type: 'milestone', channel: 0, text: 'two' }, { channel: 0, text: 'two' })
    expect(due()).toEqual(['one', 'two'])
  })

  it('returns the rest in order, and each line once', () => {
    const { line, due, rest } = orderOf()
    line(0, 6500, 9000)
    line(1, 7000, 9500)
    line(0, 9500, 9580)
    line(1, 9600, 9900)
    expect(due()).toEqual(['0:6500', '1:7000', '0:9500'])
    expect(rest()).toEqual(['1:9600'])
    expect([rest(), due()]).toEqual([[], []])
  })
})
