import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { bearerToken } from '../../src/listen/upgrade-request.js'

const url = new URL('http://service/recognizer?access_token=q.q.q')
const presented = (headers: Readonly<Record<string, string>>, allowQuery = false) =>
  bearerToken({ headers } as unknown as IncomingMessage, url, allowQuery)

describe('the token of an upgrade', () => {
  it.each([
    ['Bearer a.b-c_d', { token: 'a.b-c_d', by: 'header' }],
    ['bearer   a.b=  ', { token: 'a.b=', by: 'header' }],
    ['BEARER a.b', { token: 'a.b', by: 'header' }],
    ['a.b-c_d', { token: 'a.b-c_d', by: 'header' }],
    ['a.b= ', { token: 'a.b=', by: 'header' }],
    ['bearer-like', { token: 'bearer-like', by: 'header' }],
    ['Basic a.b', undefined],
    ['Bearer Bearer', undefined],
    ['', undefined],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Bearer a b', undefined],
    ['xBearer a', undefined],
  ])('is read from the header %j', (authorization, expected) => {
    expect(presented({ authorization })).toEqual(expected)
  })

  it('is read from a subprotocol at any position', () => {
    const expected = { token: 'a.b.c', by: 'subprotocol' }
    expect(presented({ 'sec-websocket-protocol': 'rxspeech, bearer.a.b.c' })).toEqual(expected)
    expect(presented({ 'sec-websocket-protocol': 'bearer.a.b.c,rxspeech' })).toEqual(expected)
    expect(presented({ 'sec-websocket-protocol': 'rxspeech' })).toBeUndefined()
  })

  it('is read from the header first, and from the query only if that is enabled', () => {
    const headers = { authorization: 'Bearer h', 'sec-websocket-protocol': 'bearer.s' }
    expect(presented(headers, true)).toEqual({ token: 'h', by: 'header' })
    expect(presented({})).toBeUndefined()
    expect(presented({}, true)).toEqual({ token: 'q.q.q', by: 'query' })
  })
})
