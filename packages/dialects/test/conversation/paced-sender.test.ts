import { describe, expect, it } from 'vitest'
import { memoryLinks } from '../../../../src/transport/memory/link.js'
import { pacedSender } from '../../src/conversation/paced-sender.js'

describe('a paced sender', () => {
  const opened = () => {
    const [near, far] = memoryLinks<string, string>({ highWaterMarkBytes: 10, lowWaterMarkBytes: 4 })
    const log: string[] = []
    const send = pacedSender(near, { pause: () => log.push('pause'), resume: () => log.push('resume') })
    return { near, far, log, send }
  }

  it('stops the source while messages wait, and continues when they were read', () => {
    const { far, log, send } = opened()
    send('123456')
    expect(log).toEqual([])
    send('789012')
    send('late')
    expect(log).toEqual(['pause'])
    far.incoming$.subscribe((message) => log.push(message))
    expect(log).toEqual(['pause', '123456', '789012', 'resume', 'late'])
    send('more')
    expect(log.at(-1)).toBe('more')
  })

  it('continues the source when the link ends', () => {
    const { near, log, send } = opened()
    send('1234567890123')
    expect(log).toEqual(['pause'])
    near.close()
    expect(log).toEqual(['pause', 'resume'])
  })
})
