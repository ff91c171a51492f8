import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { number, optionsCodec, text } from '../../../../src/protocol/validation.js'
import { Channel, type Protocol } from '../../src/workers/channel.js'

const near = { questions: {}, notices: {} } satisfies Protocol
const far = {
  questions: { double: { question: optionsCodec({ of: number() }, {}), answer: optionsCodec({ is: number() }, {}) } },
  notices: { said: optionsCodec({ words: text }, {}) },
} satisfies Protocol

/** Two channels whose messages go through JSON, as between processes. */
const connected = (double: (question: { readonly of: number }) => Promise<{ readonly is: number }>) => {
  const faults: unknown[] = []
  const said: string[] = []
  const asking = new Channel<typeof near, typeof far>(
    { local: near, remote: far },
    (message) => answering.receive(JSON.parse(JSON.stringify(message))),
    (error) => faults.push(error),
  )
  const answering = new Channel<typeof far, typeof near>(
    { local: far, remote: near },
    (message) => asking.receive(JSON.parse(JSON.stringify(message))),
    (error) => faults.push(error),
  )
  answering.handle({ questions: { double }, notices: { said: ({ words }) => said.push(words) } })
  return { asking, answering, faults, said }
}

const doubled = ({ of }: { readonly of: number }) => Promise.resolve({ is: 2 * of })

describe('Channel', () => {
  it('resolves a question with the answer of the other process', async () => {
    const { asking } = connected(doubled)
    expect(await Promise.all([asking.ask('double', { of: 2 }), asking.ask('double', { of: 21 })])).toEqual([
      { is: 4 },
      { is: 42 },
    ])
  })

  it('passes errors on with code, reason and time to wait', async () => {
    const error = new SpeechError('unauthenticated', 'The token has expired.', {
      cause: 'expired-token',
      retryAfterMs: 5,
    })
    const { asking, faults } = connected(() => Promise.reject(error))
    await expect(asking.ask('double', { of: 1 })).rejects.toMatchObject({
      code: 'unauthenticated',
      message: 'The token has expired.',
      cause: 'expired-token',
      retryAfterMs: 5,
    })
    expect(faults).toEqual([])
  })

  it('reports any other error where it occurred, and rejects the question with internal', async () => {
    const broken = new TypeError('broken')
    const { asking, faults } = connected(() => Promise.reject(broken))
    await expect(asking.ask('double', { of: 1 })).rejects.toMatchObject({ code: 'internal' })
    expect(faults).toEqual([broken])
  })

  it('rejects a question with a malformed answer', async () => {
    const { asking } = connected(() => Promise.resolve({ is: 'four' as unknown as number }))
    await expect(asking.ask('double', { of: 2 })).rejects.toThrow('A message between processes: is must be a number.')
  })

  it.each([
    ['a message that is no object', 'hello'],
    ['an unknown kind of notice', { type: 'notice', kind: 'shouted', body: {} }],
    ['a malformed notice', { type: 'notice', kind: 'said', body: { words: 5 } }],
  ])('reports %s as a fault', (_what, message) => {
    const { answering, faults, said } = connected(doubled)
    answering.receive(message)
    expect(faults).toMatchObject([{ code: 'internal' }])
    expect(said).toEqual([])
  })

  it('delivers notices, and none after it is closed', () => {
    const { asking, said } = connected(doubled)
    asking.tell('said', { words: 'first' })
    asking.close()
    asking.tell('said', { words: 'second' })
    expect(said).toEqual(['first'])
  })

  it('gathers notices for a while and keeps their order before questions', async () => {
    const sent: unknown[] = []
    const channel = new Channel<typeof near, typeof far>(
      { local: near, remote: far },
      (message) => sent.push(message),
      () => undefined,
      1,
    )
    const said = (words: string) => ({ type: 'notice', kind: 'said', body: { words } })
    for (const words of ['a', 'b']) channel.tell('said', { words })
    expect(sent).toEqual([])
    await expect.poll(() => sent).toEqual([[said('a'), said('b')]])
    channel.tell('said', { words: 'c' })
    void channel.ask('double', { of: 1 }).catch(() => undefined)
    expect(sent.slice(1)).toEqual([[said('c')], { type: 'question', kind: 'double', id: 1, body: { of: 1 } }])
    const answering = connected(doubled)
    answering.answering.receive([said('a'), 5, said('b')])
    expect([answering.said, answering.faults.length]).toEqual([['a', 'b'], 1])
    channel.close()
  })

  it('rejects the questions that wait for an answer when it is closed', async () => {
    const { asking } = connected(() => new Promise(() => undefined))
    const waiting = expect(asking.ask('double', { of: 1 })).rejects.toThrow('The other process has ended.')
    asking.close()
    await waiting
    await expect(asking.ask('double', { of: 1 })).rejects.toThrow('The other process has ended.')
  })
})
