import { describe, expect, it } from 'vitest'
import { ConnectionGate, type ConnectionSlot } from '../../src/listen/connection-gate.js'

const unstarted = { unstarted: 3, unstartedPerAddress: 2 }

const outcomeOf = (place: ConnectionSlot | undefined): string =>
  place === undefined ? 'cut' : (place.refusal?.code ?? 'in')

describe('the connection gate', () => {
  it('accepts connections of one address up to its limit, refuses as many more with a reason, and cuts the rest', () => {
    const gate = new ConnectionGate({ connections: 10, connectionsPerAddress: 2, ...unstarted })
    const places = Array.from({ length: 6 }, () => gate.admit('192.0.2.1'))
    expect(places.map(outcomeOf)).toEqual(['in', 'in', 'overloaded', 'overloaded', 'cut', 'cut'])
    expect(outcomeOf(gate.admit('192.0.2.2'))).toBe('in')
    for (const place of places) place?.release()
    expect(outcomeOf(gate.admit('192.0.2.1'))).toBe('in')
  })

  it('counts the addresses of one IPv6 network together, and IPv4 in either form', () => {
    const gate = new ConnectionGate({ connections: 10, connectionsPerAddress: 1, ...unstarted })
    for (const [first, second] of [
      ['2001:db8::1', '2001:db8::2'],
      ['192.0.2.1', '::ffff:192.0.2.1'],
    ] as const) {
      gate.admit(first)
      expect(gate.admit(second)?.refusal?.message).toMatch(/^The address has 1 connections/)
    }
  })

  it('counts all addresses together, also those that share connections of a proxy', () => {
    const gate = new ConnectionGate({ connections: 2, connectionsPerAddress: 2, ...unstarted })
    expect(
      [gate.admit('192.0.2.1'), gate.admit(undefined), gate.admit('192.0.2.3')].map((value) => value?.refusal?.message),
    ).toEqual([undefined, undefined, 'The service has 2 connections, its limit; try again later.'])
  })

  it('counts no address for a shared connection, but each of its clients', () => {
    const gate = new ConnectionGate({ connections: 10, connectionsPerAddress: 1, ...unstarted })
    expect([undefined, undefined, undefined].map((address) => outcomeOf(gate.admit(address)))).toEqual([
      'in',
      'in',
      'in',
    ])
    const first = gate.admitClient('192.0.2.1')
    const second = gate.admitClient('192.0.2.1')
    expect([first, second, gate.admitClient('192.0.2.2')].map(outcomeOf)).toEqual(['in', 'overloaded', 'in'])
    second.release()
    first.release()
    expect(outcomeOf(gate.admitClient('192.0.2.1'))).toBe('in')
  })
})

describe('an address with a recent success', () => {
  it('has a tenth of the places of the service, which no stranger gets', () => {
    const gate = new ConnectionGate({
      connections: 10,
      connectionsPerAddress: 9,
      unstarted: 10,
      unstartedPerAddress: 9,
    })
    gate.succeeded('192.0.2.1')
    const strangers = Array.from({ length: 11 }, (_value, at) => `198.51.100.${at}`)
    expect(strangers.map((address) => outcomeOf(gate.admit(address))).slice(8)).toEqual([
      'in',
      'overloaded',
      'overloaded',
    ])
    expect(outcomeOf(gate.admit('192.0.2.1'))).toBe('in')
    expect(outcomeOf(gate.admit('192.0.2.1'))).toBe('overloaded')
    expect(strangers.filter((address) => gate.takeUnstarted(address) !== undefined)).toHaveLength(9)
    expect(gate.takeUnstarted(undefined)).toBeUndefined()
    expect(gate.takeUnstarted('192.0.2.1')).toBeTypeOf('function')
    expect(gate.takeUnstarted('192.0.2.1')).toBeUndefined()
  })

  it('is a stranger again after a day, and when many others have succeeded since', () => {
    let nowMs = 0
    const gate = new ConnectionGate(
      { connections: 10, connectionsPerAddress: 9, unstarted: 10, unstartedPerAddress: 9 },
      () => nowMs,
    )
    for (let count = 0; count < 9; count += 1) gate.takeUnstarted(`198.51.100.${count}`)
    gate.succeeded('192.0.2.1')
    const release = gate.takeUnstarted('192.0.2.1')
    release?.()
    nowMs += 86_400_000
    expect([release, gate.takeUnstarted('192.0.2.1')]).toEqual([expect.any(Function), undefined])
    gate.succeeded('192.0.2.1')
    for (let count = 0; count < 10_000; count += 1) gate.succeeded(`10.0.${count >> 8}.${count & 255}`)
    expect(gate.takeUnstarted('192.0.2.1')).toBeUndefined()
  })
})

describe('places of streams without a Start', () => {
  it('are counted in total only without an address', () => {
    const gate = new ConnectionGate({ connections: 9, connectionsPerAddress: 9, ...unstarted })
    const taken = Array.from({ length: 4 }, () => gate.takeUnstarted(undefined))
    expect(taken.map((release) => release !== undefined)).toEqual([true, true, true, false])
    taken[0]?.()
    expect(gate.takeUnstarted('192.0.2.1')).toBeTypeOf('function')
  })

  it('are granted until all of the address or of the service are held, and are released once each', () => {
    const gate = new ConnectionGate({ connections: 9, connectionsPerAddress: 9, ...unstarted })
    const first = gate.takeUnstarted('192.0.2.1')
    expect(gate.takeUnstarted('192.0.2.1')).toBeTypeOf('function')
    expect(gate.takeUnstarted('192.0.2.1')).toBeUndefined()
    expect(gate.takeUnstarted('192.0.2.2')).toBeTypeOf('function')
    expect(gate.takeUnstarted('192.0.2.3')).toBeUndefined()
    first?.()
    first?.()
    expect(gate.takeUnstarted('192.0.2.3')).toBeTypeOf('function')
    expect(gate.takeUnstarted('192.0.2.1')).toBeUndefined()
  })
})
