import { describe, expect, it } from 'vitest'
import { bitString, der, integer, objectIdentifier, time } from '../../../../src/service/identity/keys/der.js'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
const bytes = (text: string) => Buffer.from(text, 'hex')

describe('DER', () => {
  it.each([
    ['', '020100'],
    ['00', '020100'],
    ['7f', '02017f'],
    ['80', '02020080'],
    ['0080', '02020080'],
    ['000001', '020101'],
  ])('writes the integer %s in the fewest bytes, never negative', (value, expected) => {
    expect(hex(integer(bytes(value)))).toBe(expected)
  })

  it.each([
    [127, '047f'],
    [128, '048180'],
    [255, '0481ff'],
    [256, '04820100'],
    [65_535, '0482ffff'],
  ])('writes a length of %i bytes in the shortest form', (length, expected) => {
    expect(hex(der(0x04, new Uint8Array(length)).subarray(0, expected.length / 2))).toBe(expected)
  })

  it('refuses what is longer than a certificate', () => {
    expect(() => der(0x04, new Uint8Array(65_536))).toThrow(RangeError)
  })

  it.each([
    ['1.2.840.10045.4.3.2', '06082a8648ce3d040302'],
    ['2.5.29.17', '0603551d11'],
    ['1.3.6.1.5.5.7.3.1', '06082b06010505070301'],
  ])('writes the object identifier %s', (dotted, expected) => {
    expect(hex(objectIdentifier(dotted))).toBe(expected)
  })

  it('writes a bit string with its count of unused bits', () => {
    expect(hex(bitString(bytes('06'), 1))).toBe('03020106')
  })

  it.each([
    [Date.UTC(2026, 0, 2, 3, 4, 5, 999), 0x17, '260102030405Z'],
    [Date.UTC(2049, 11, 31, 23, 59, 59), 0x17, '491231235959Z'],
    [Date.UTC(2050, 0, 1), 0x18, '20500101000000Z'],
  ])('writes the time %i as RFC 5280 wants it', (atMs, tag, digits) => {
    expect(hex(time(atMs))).toBe(hex(der(tag, Buffer.from(digits))))
  })
})
