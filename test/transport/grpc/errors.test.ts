import { describe, expect, it } from 'vitest'
import { errorTable, isErrorCode, type ErrorCode } from '../../../src/errors/error-table.js'
import { requestedWaitMs, refusalStatus, statusError } from '../../../src/transport/grpc/errors.js'

const codes = Object.keys(errorTable).filter(isErrorCode)

describe('refusalStatus and statusError', () => {
  it.each(codes)('carry %s to the client with its sentence', (code) => {
    const status = refusalStatus({ code, message: 'Do this: wait.' })
    expect(status).toMatchObject({ code: errorTable[code].grpcStatus, details: `${code}: Do this: wait.` })
    expect(statusError(status)).toMatchObject({ code, message: 'Do this: wait.' })
  })

  it('ask the client to wait when another attempt may succeed, for at least the delay of the error plus a random share', () => {
    const asked = (code: ErrorCode, retryAfterMs?: number) =>
      refusalStatus(
        { code, message: '', ...(retryAfterMs !== undefined && { retryAfterMs }) },
        () => 0.999,
      ).metadata.get('retry-after')
    expect(codes.filter((code) => asked(code).length > 0).sort()).toEqual(['going-away', 'overloaded'])
    expect([asked('overloaded'), asked('overloaded', 30_000), asked('engine-failed', 5_000)]).toEqual([
      ['3'],
      ['33'],
      ['7'],
    ])
    expect(
      requestedWaitMs([refusalStatus({ code: 'overloaded', message: '', retryAfterMs: 30_000 }, () => 0).metadata], 0),
    ).toBe(30_000)
  })

  it('never send UNKNOWN', () => {
    expect(codes.filter((code) => errorTable[code].grpcStatus === 2)).toEqual([])
  })

  it('cut long details at a whole character, because the gRPC package fails at half a character', () => {
    const { details } = refusalStatus({ code: 'internal', message: `\ud83d${'ž'.repeat(2000)}` })
    expect(Buffer.byteLength(details)).toBeLessThanOrEqual(1024)
    expect(() => encodeURI(details)).not.toThrow()
  })

  it('are retryable when the message was too large for the peer, and not when it was too large for this side', () => {
    const status = { code: 8, details: 'Received message larger than max (2097152 vs 1048576)' }
    expect(statusError(status, 1_048_576)).toMatchObject({ code: 'message-too-big', retryable: true })
    expect(statusError(status, 4_194_304)).toMatchObject({ code: 'message-too-big', retryable: false })
  })

  it('treat OK as a normal end', () => {
    expect(statusError({ code: 0, details: 'OK' })).toBeUndefined()
  })

  it('treat a status without code and details, as of an unreadable frame, as a fault', () => {
    expect(statusError({})).toMatchObject({ code: 'internal' })
  })

  it.each<[number, string, ErrorCode]>([
    [1, 'Call cancelled', 'connection-lost'],
    [2, '', 'internal'],
    [3, 'bad', 'refused'],
    [4, 'Deadline exceeded', 'connection-lost'],
    [5, 'no such thing', 'refused'],
    [7, 'no', 'tenant-denied'],
    [8, 'quota', 'overloaded'],
    [8, 'Received message larger than max (5 vs. 4)', 'message-too-big'],
    [9, 'not now', 'refused'],
    [12, 'unknown service dataflow', 'protocol-violation'],
    [13, 'oops', 'internal'],
    [13, 'Received RST_STREAM with code 2', 'connection-lost'],
    [14, 'Connection dropped', 'connection-lost'],
    [16, '', 'unauthenticated'],
  ])('read status %d (%s) without one of our codes as %s', (code, details, expected) => {
    expect(statusError({ code, details })?.code).toBe(expected)
  })

  it('keep the text of a refusal with an unknown code', () => {
    expect(statusError({ code: 9, details: 'Not before noon' })?.message).toContain('Not before noon')
  })
})
