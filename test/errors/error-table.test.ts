import { describe, expect, it } from 'vitest'
import { codesWith, errorTable, isErrorCode, type ErrorRow } from '../../src/errors/error-table.js'

const rows: readonly (readonly [string, ErrorRow])[] = Object.entries(errorTable)
/** Codes that an endpoint may send (RFC 6455 section 7.4.1), of those that represent an error. */
const sendable = [1001, 1002, 1003, 1007, 1008, 1009, 1011]
/** RFC 6455 section 7.4.1: 1006 is never sent. It is what the client sees of a lost connection. */
const local = ['connection-failed', 'connection-lost', 'connect-timeout']

describe('errorTable', () => {
  it('names every error in lower-case words', () => {
    for (const [code] of rows) expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/)
  })

  it('closes a WebSocket with a code that may be sent, and with 1006 only if none can be sent', () => {
    for (const [code, { closeCode }] of rows) {
      const isPrivate = closeCode >= 4000 && closeCode <= 4999
      const isValid = local.includes(code) ? closeCode === 1006 : sendable.includes(closeCode) || isPrivate
      expect([code, closeCode, isValid]).toEqual([code, closeCode, true])
    }
  })

  it('ends a gRPC stream with a status that is an error, never UNKNOWN', () => {
    for (const [code, { grpcStatus }] of rows) {
      const isValid = Number.isInteger(grpcStatus) && grpcStatus >= 1 && grpcStatus <= 16 && grpcStatus !== 2
      expect([code, grpcStatus, isValid]).toEqual([code, grpcStatus, true])
    }
  })

  it('uses INTERNAL only for internal errors', () => {
    expect(rows.filter(([, { grpcStatus }]) => grpcStatus === 13).map(([code]) => code)).toEqual(['internal'])
  })

  it('has one sentence of help for each', () => {
    for (const [, { help }] of rows) {
      expect(help).toMatch(/^[A-Z][^\n|]*\.$/)
      expect(help.slice(0, -1)).not.toMatch(/[.!?]\s/)
    }
  })

  it('ends authorization, grants and overload with the close codes of PROTOCOL 9', () => {
    const codes = (...names: readonly (keyof typeof errorTable)[]) => names.map((name) => errorTable[name].closeCode)
    expect(codes('unauthenticated', 'invalid-client')).toEqual([4401, 4401])
    expect(codes('tenant-denied', 'project-denied', 'model-denied')).toEqual([4403, 4403, 4403])
    expect(codes('overloaded', 'too-fast', 'too-many-attempts')).toEqual([4429, 4429, 4429])
    expect(codes('going-away', 'message-too-big', 'internal')).toEqual([1001, 1009, 1011])
  })

  it('tries a service again or another one only after an error that it may not repeat', () => {
    const permanent = [...codesWith('temporary'), ...codesWith('engine-loss')].filter(
      (code) => !errorTable[code].retryable,
    )
    expect(permanent).toEqual([])
    // Another service may have the model and the project, and speak the protocol.
    const elsewhere = [...codesWith('failover')].filter((code) => !errorTable[code].retryable)
    expect(elsewhere).toEqual(['invalid-model', 'invalid-project', 'protocol-violation'])
  })

  it('has every error of a token endpoint (RFC 6749 section 5.2)', () => {
    const names = ['request', 'client', 'grant', 'scope'].map((name) => `invalid-${name}`)
    for (const name of [...names, 'unauthorized-client', 'unsupported-grant-type']) expect(isErrorCode(name)).toBe(true)
  })
})

describe('isErrorCode', () => {
  it('recognizes the codes of the table and no inherited name', () => {
    expect(rows.every(([code]) => isErrorCode(code))).toBe(true)
    for (const name of ['', 'nonsense', '__proto__', 'constructor', 'toString']) expect(isErrorCode(name)).toBe(false)
  })
})
