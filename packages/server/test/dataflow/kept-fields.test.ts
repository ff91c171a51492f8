import { describe, expect, it } from 'vitest'
import { flushPromises } from '../../../service/test/virtual-clock.js'
import { connectDataflow, nothingLeft, request, scriptedNode, start } from './dataflow-connection.js'

/** This many keys, each with a different value. */
const keys = (count: number, prefix = 'k'): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from({ length: count }, (_none, at) => [`${prefix}${at}`, 'v']))
const nested = (depth: number): unknown => (depth === 0 ? 1 : { in: nested(depth - 1) })

const running = async (change: Readonly<Record<string, unknown>> = {}) => {
  const node = scriptedNode()
  const connection = connectDataflow(node.open)
  connection.send(start(change))
  await flushPromises()
  return { ...connection, node }
}

const resultOf = ({ received }: { readonly received: readonly { readonly content: string }[] }): unknown =>
  (JSON.parse(received.at(-1)?.content ?? '{}') as Readonly<Record<string, unknown>>)['operation-result']

describe('what a session stores', () => {
  it('is at most 1,000 keys, however they are distributed over Start and Updates', async () => {
    const { node, ...connection } = await running({ Settings: keys(400), CallProperties: keys(400) })
    connection.send(request({ MessageName: 'Update', settings: keys(200, 'more') }))
    connection.send(request({ MessageName: 'Update', Settings: { ...keys(400), last: 1 } }))
    expect(connection.since()).toEqual(['Start: success', 'Update: success', 'Update: invalid-field'])
    expect(node.account.context?.settings()).not.toHaveProperty('last')
    connection.send(request({ MessageName: 'Update', 'call-properties': { k0: 'changed' } }))
    expect(connection.since()).toEqual(['Update: success'])
    expect(node.account.context?.callProperties()).toMatchObject({ k0: 'changed' })
    connection.session.unsubscribe()
    nothingLeft(connection, node)
  })

  it('is at most 256 KiB of settings, in bytes and not in characters', async () => {
    const { node, ...connection } = await running({ Settings: { a: 'ä'.repeat(100_000) } })
    connection.send(request({ MessageName: 'Update', CallProperties: { b: 'x'.repeat(62_000) } }))
    connection.send(request({ MessageName: 'Update', CallProperties: { b: 'ä'.repeat(62_000) } }))
    expect(resultOf(connection)).toMatch(
      /^invalid-field: Settings and CallProperties together are \d+ bytes; keep at most 262144\.$/,
    )
    expect(connection.since()).toEqual(['Start: success', 'Update: success', 'Update: invalid-field'])
    expect(node.account.context?.callProperties()['b']).toHaveLength(62_000)
    connection.session.unsubscribe()
    nothingLeft(connection, node)
  })

  it.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
    ['keys', { Settings: keys(600), CallProperties: keys(401) }, /^invalid-field: .* have 1001 keys/],
    ['bytes', { CallProperties: { a: 'x'.repeat(262_144) } }, /^invalid-field: .* bytes/],
    ['a list', { Settings: { a: Array.from({ length: 131_073 }, () => 1) } }, /^invalid-field: .* bytes/],
    ['Language', { Language: 'x'.repeat(257) }, /^invalid-field: Language is longer than 256 characters\.$/],
    [
      'Audio.Output that is large',
      { Audio: { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm', Output: { a: 'x'.repeat(16_384) } } },
      /^invalid-field: Audio\.Output is larger than 16384 bytes\.$/,
    ],
    [
      'Audio.Output that is deep',
      { Audio: { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm', Output: nested(9) } },
      /^invalid-field: Audio\.Output is nested deeper than 8 levels\.$/,
    ],
  ])('refuses a Start with too much data: %s', async (_name, change, refusal) => {
    const { node, ...connection } = await running(change)
    expect(resultOf(connection)).toMatch(refusal)
    expect(connection.end()).toBe('invalid-field')
    nothingLeft(connection, node)
  })

  it('refuses an Output that is nested 100,000 times, without a stack overflow', async () => {
    const node = scriptedNode()
    const connection = connectDataflow(node.open)
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    const json = JSON.stringify({
      MessageName: 'Start',
      Audio: { SampleRate: 8000, ChannelCount: 1, Encoding: 'pcm', Output: 'HERE' },
      Tenant: 'Acme',
      Token: 'the-secret-token',
      ProjectName: 'talk',
    })
    connection.send(request(json.replace('"HERE"', deep)))
    await flushPromises()
    expect(connection.since()).toEqual(['Start: invalid-field'])
    expect(connection.faults).toEqual([])
    nothingLeft(connection, node)
  })

  it('treats a name of Object.prototype as a plain name', async () => {
    const { node, ...connection } = await running()
    connection.since()
    connection.send(
      request('{"MessageName":"Update","Settings":{"__proto__":{"polluted":1},"constructor":"a","toString":"b"}}'),
      request('{"MessageName":"Update","CallProperties":{"__proto__":"c","hasOwnProperty":"d"}}'),
    )
    expect(connection.since()).toEqual(['Update: success', 'Update: success'])
    const settings = node.account.context?.settings() ?? {}
    expect(Object.getPrototypeOf(settings)).toBe(Object.prototype)
    expect(Object.entries(settings)).toEqual([
      ['constructor', 'a'],
      ['toString', 'b'],
    ])
    expect(Object.entries(node.account.context?.callProperties() ?? {})).toEqual([['hasOwnProperty', 'd']])
    expect(({} as Readonly<Record<string, unknown>>)['polluted']).toBeUndefined()
    connection.session.unsubscribe()
    nothingLeft(connection, node)
  })
})
