import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { ConnectionGate } from '../../../src/service/listen/connection-gate.js'
import { Places } from '../../../src/service/listen/places.js'

class FakeConnection extends EventEmitter {
  destroyed = false
  constructor(
    readonly remoteAddress: string,
    readonly remotePort: number,
  ) {
    super()
  }
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

let port = 0
const from = (address: string): FakeConnection => {
  port += 1
  return new FakeConnection(address, port)
}

describe('the gate of connections', () => {
  it('lets in as many of one address as it may, tells as many more why not, and cuts the rest', () => {
    const gate = new ConnectionGate({ connections: 10, connectionsPerAddress: 2, unstarted: 1 })
    const all = Array.from({ length: 6 }, () => from('192.0.2.1'))
    for (const one of all) gate.take(one)
    expect(all.map((one) => gate.refusal(one)?.code ?? (one.destroyed ? 'cut' : 'in'))).toEqual([
      'in',
      'in',
      'overloaded',
      'overloaded',
      'cut',
      'cut',
    ])
    const other = from('192.0.2.2')
    gate.take(other)
    expect(gate.refusal(other)).toBeUndefined()
    for (const one of all.slice(0, 4)) one.destroy()
    const next = from('192.0.2.1')
    gate.take(next)
    expect(gate.refusal(next)).toBeUndefined()
    expect(gate.refusal(all[2] ?? next)).toBeUndefined()
  })

  it('counts the addresses of one IPv6 network together, and IPv4 in either form', () => {
    const gate = new ConnectionGate({ connections: 10, connectionsPerAddress: 1, unstarted: 1 })
    for (const [one, other] of [
      ['2001:db8::1', '2001:db8::2'],
      ['192.0.2.1', '::ffff:192.0.2.1'],
    ] as const) {
      gate.take(from(one))
      const second = from(other)
      gate.take(second)
      expect(gate.refusal(second)?.message).toMatch(/^The address has 1 connections/)
    }
  })

  it('counts all addresses together', () => {
    const gate = new ConnectionGate({ connections: 2, connectionsPerAddress: 2, unstarted: 1 })
    const all = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map(from)
    for (const one of all) gate.take(one)
    expect(all.map((one) => gate.refusal(one)?.message)).toEqual([
      undefined,
      undefined,
      'The service has 2 connections, its limit; try again later.',
    ])
  })
})

describe('places', () => {
  it('are given until all are held, and come back once each', () => {
    const places = new Places(2)
    const first = places.take()
    places.take()
    expect(places.take()).toBeUndefined()
    first?.()
    first?.()
    expect(places.take()).toBeTypeOf('function')
    expect(places.take()).toBeUndefined()
  })
})
