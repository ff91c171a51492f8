import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dataflowSuccess, isSuccess, recognizerSuccess } from '../../src/protocol/operation-result.js'

describe('isSuccess', () => {
  it('writes success as each interface does (service.md 2.6, section 7)', () => {
    expect([dataflowSuccess, recognizerSuccess]).toEqual(['success', 'Success'])
  })

  it('compares without letter case', () => {
    for (const text of [dataflowSuccess, recognizerSuccess, 'SUCCESS']) expect(isSuccess(text)).toBe(true)
  })

  it('takes every other text as a failure', () => {
    for (const text of ['', ' success', 'success.', 'unsuccessful', 'true']) expect(isSuccess(text)).toBe(false)
    fc.assert(fc.property(fc.string(), (text) => isSuccess(text) === (text.toLowerCase() === 'success')))
  })
})
