import { describe, expect, it } from 'vitest'
import { faultMarbles } from '../../../src/testing/faults/fault-marbles.js'
import { codeThrownBy } from '../../operators/marbles.js'

const shown = (...diagram: Parameters<typeof faultMarbles>) =>
  faultMarbles(...diagram).map(({ at, fault }) => `${at.when === 'elapsed' ? at.ms : '?'} ${fault.do}`)

describe('faultMarbles', () => {
  it('reads one frame per character, and times between spaces', () => {
    expect(shown('---r---o 1500ms |')).toEqual(['3 reset', '7 outage', '1508 restore'])
    expect(shown('1.5s h 2m s')).toEqual(['1500 half-open', '121501 stall'])
    expect(shown('-(nr)-e')).toEqual(['1 refuse', '1 reset', '6 end'])
    expect(shown('--r', { frameMs: 10 })).toEqual(['20 reset'])
    expect(shown('')).toEqual([])
  })

  it('adds the letters of a legend', () => {
    expect(shown('-x-r', { legend: { x: { do: 'delay', delayMs: 5 } } })).toEqual(['1 delay', '3 reset'])
  })

  it('rejects an unknown letter, and an unclosed parenthesis', () => {
    expect(codeThrownBy(() => faultMarbles('--x'))).toBe('invalid-options')
    expect(codeThrownBy(() => faultMarbles('-(r'))).toBe('invalid-options')
    expect(codeThrownBy(() => faultMarbles('-8r'))).toBe('invalid-options')
  })
})
