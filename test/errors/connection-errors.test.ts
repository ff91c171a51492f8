import { describe, expect, it } from 'vitest'
import { connectFailure } from '../../src/errors/connection-errors.js'

describe('connectFailure', () => {
  it.each([
    ['ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1', true, 'Nothing listens'],
    ['ENOTFOUND', 'getaddrinfo ENOTFOUND speech.invalid', true, 'not known'],
    ['EAI_AGAIN', 'getaddrinfo EAI_AGAIN speech.invalid', true, 'not known'],
    [undefined, 'Name resolution failed for target dns:speech.invalid:443', true, 'not known'],
    ['EHOSTUNREACH', 'connect EHOSTUNREACH', true, 'cannot be reached'],
    ['ECONNRESET', 'read ECONNRESET', true, 'closed the connection'],
    [undefined, 'socket hang up', true, 'closed the connection'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate', false, 'not trusted'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable to verify the first certificate', false, 'not trusted'],
    ['CERT_HAS_EXPIRED', 'certificate has expired', false, 'not valid today'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', "Hostname/IP does not match certificate's altnames", false, 'another name'],
    ['EPROTO', 'write EPROTO ssl3_get_record:wrong version number', false, 'does not speak'],
    ['HPE_INVALID_CONSTANT', 'Parse Error: Expected HTTP/', false, 'does not speak'],
    [undefined, 'Server sent no subprotocol', false, 'subprotocol'],
    [undefined, 'Invalid Sec-WebSocket-Accept header', false, 'WebSocket server'],
    [undefined, 'something new', true, 'No connection'],
  ])('explain what to do about %s (%s)', (code, message, retryable, words) => {
    const error = connectFailure('speech.example.com:443', Object.assign(new Error(message), { code }))
    expect(error).toMatchObject({ code: 'connection-failed', retryable })
    expect(error.message).toContain('speech.example.com:443')
    expect(error.message).toContain(words)
  })

  it('have a sentence when the platform gives no reason', () => {
    expect(connectFailure('a:1', undefined).message).toContain('a:1')
  })
})
