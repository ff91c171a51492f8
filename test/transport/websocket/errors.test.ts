import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorTable, isErrorCode, type ErrorCode } from '../../../src/errors/error-table.js'
import { closeError, closeFrame, receiverError } from '../../../src/transport/websocket/errors.js'
import { resolveWebSocketLimits, type CloseReason } from '../../../src/transport/websocket/socket.js'
import { SocketLink } from '../../../src/transport/websocket/link.js'
import { FakeBrowserSocket } from './fake-browser-socket.js'

const codes = Object.keys(errorTable).filter(isErrorCode)

const closedByBrowser = (reason: CloseReason | undefined): readonly [number, string] => {
  const socket = new FakeBrowserSocket()
  new SocketLink(socket, resolveWebSocketLimits({})).close(reason)
  const [code = 0, text = ''] = socket.closedWith ?? []
  return [code, text]
}

describe('closeFrame and closeError', () => {
  it('close normally with 1000 and without a reason', () => {
    expect(closeFrame(undefined)).toEqual({ code: 1000, reason: '' })
    expect(closedByBrowser(undefined)).toEqual([1000, ''])
  })

  it('close with the code of the reason if it has one', () => {
    const frame = closeFrame({ code: 'going-away', message: 'Connect again.', closeCode: 1011 })
    expect(frame).toEqual({ code: 1011, reason: 'going-away: Connect again.' })
  })

  it.each(codes)('carry %s to the peer, or break the connection if its close code must not be sent', (code) => {
    const frame = closeFrame({ code, message: 'Do this.' })
    if (errorTable[code].closeCode === 1006) expect(frame).toBeUndefined()
    else {
      expect(frame?.code).toBe(errorTable[code].closeCode)
      expect(closeError(frame?.code ?? 0, frame?.reason ?? '')).toMatchObject({ code, message: 'Do this.' })
    }
  })

  it.each(codes)('carry %s from a browser by a code that a browser may send', (code) => {
    const [closeCode, reason] = closedByBrowser({ code, message: 'Do this.' })
    expect(closeCode).toBeGreaterThanOrEqual(3000)
    expect(closeCode).toBeLessThan(5000)
    expect(closeError(closeCode, reason)).toMatchObject({ code, message: 'Do this.' })
  })

  it('limit a reason to 123 bytes of well-formed UTF-8, using as much of it as fits', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (message) => {
        const reason = closeFrame({ code: 'internal', message })?.reason ?? ''
        const whole = new TextDecoder().decode(new TextEncoder().encode(`internal: ${message}`))
        const byteCount = new TextEncoder().encode(reason).byteLength
        expect(byteCount).toBeLessThanOrEqual(123)
        expect(whole.startsWith(reason)).toBe(true)
        // A character has at most four bytes.
        if (reason !== whole) expect(byteCount).toBeGreaterThan(119)
      }),
    )
  })

  it.each([1000, 1005])('treat %d as a normal end', (code) => {
    expect(closeError(code, 'overloaded: not this')).toBeUndefined()
  })

  it.each<[number, ErrorCode]>([
    [1001, 'going-away'],
    [1002, 'protocol-violation'],
    [1003, 'unknown-message'],
    [1006, 'connection-lost'],
    [1007, 'invalid-json'],
    [1008, 'refused'],
    [1009, 'message-too-big'],
    [1011, 'internal'],
    [1012, 'going-away'],
    [1013, 'overloaded'],
    [4401, 'unauthenticated'],
    [4403, 'tenant-denied'],
    [4429, 'overloaded'],
    [4999, 'refused'],
  ])('read %d without one of our codes as %s', (code, expected) => {
    expect(closeError(code, '')?.code).toBe(expected)
    expect(closeError(code, 'other: words')?.message).toContain('other: words')
  })
})

describe('receiverError', () => {
  it.each<[string, ErrorCode]>([
    ['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', 'message-too-big'],
    ['WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH', 'protocol-violation'],
    ['WS_ERR_INVALID_UTF8', 'invalid-json'],
    ['WS_ERR_UNEXPECTED_RSV_1', 'protocol-violation'],
    ['ECONNRESET', 'connection-lost'],
  ])('reads %s as %s', (code, expected) => {
    expect(receiverError(Object.assign(new Error('text'), { code })).code).toBe(expected)
  })

  it('read an unclassified error as a lost connection', () => {
    expect(receiverError(undefined).code).toBe('connection-lost')
  })
})
