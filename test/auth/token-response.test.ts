import { either } from 'fp-ts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseToken, tokenResponse, type TokenResponse } from '../../src/auth/token-response.js'

const granted = { access_token: 'abc.def', expires_in: 31_536_000, token_type: 'Bearer', scope: 'Ldm_Integration' }

describe('parseToken', () => {
  it('reads the response of the description, with its end as a timestamp', () => {
    expect(parseToken(JSON.stringify(granted), 5000)).toEqual(
      either.right({
        accessToken: 'abc.def',
        tokenType: 'Bearer',
        expiresAtMs: 5000 + 31_536_000_000,
        scope: 'Ldm_Integration',
      }),
    )
  })

  it.each([
    ['seconds as a string', { ...granted, expires_in: '3600' }],
    ['any letter case of the type', { ...granted, token_type: 'bEARER' }],
    ['no scope', { access_token: 'a', expires_in: 1, token_type: 'Bearer' }],
    ['unknown fields', { ...granted, refresh_token: 'x', id: { deep: true } }],
  ])('accepts %s', (_, answer) => {
    expect(either.isRight(parseToken(JSON.stringify(answer), 0))).toBe(true)
  })

  it.each([
    ['HTML', ' <html>Sign in</html>', 'sent HTML or XML in place of a JSON object; check authUrl'],
    ['another text', 'token=abc', 'sent text in place of a JSON object; check authUrl'],
    ['an empty text', '', 'sent an empty answer; try again'],
    ['half a text', '{"access_token', 'not JSON; try again'],
    ['a list', '[]', 'sent text in place of a JSON object'],
    ['no token', JSON.stringify({ ...granted, access_token: undefined }), 'access_token must be'],
    ['an empty token', JSON.stringify({ ...granted, access_token: '' }), 'access_token must be'],
    ['a token that breaks a header', JSON.stringify({ ...granted, access_token: 'a\r\nx: y' }), 'access_token must be'],
    ['a token with a space', JSON.stringify({ ...granted, access_token: 'a b' }), 'access_token must be'],
    ['a number as token', JSON.stringify({ ...granted, access_token: 7 }), 'access_token must be'],
    ['an end that is over', JSON.stringify({ ...granted, expires_in: 0 }), 'expires_in must be'],
    ['an end in the past', JSON.stringify({ ...granted, expires_in: -1 }), 'expires_in must be'],
    [
      'an end that exceeds the range of a clock',
      JSON.stringify({ ...granted, expires_in: 1e15 }),
      'expires_in must be',
    ],
    ['text as end', JSON.stringify({ ...granted, expires_in: 'soon' }), 'expires_in must be'],
    ['another type', JSON.stringify({ ...granted, token_type: 'mac' }), 'token_type must be "Bearer"'],
    ['no type', JSON.stringify({ ...granted, token_type: undefined }), 'token_type must be "Bearer"'],
    ['a scope that is not a text', JSON.stringify({ ...granted, scope: ['a'] }), 'scope must be a string'],
  ])('rejects %s and names the field', (_, body, message) => {
    expect(parseToken(body, 0)).toMatchObject({ _tag: 'Left', left: { message: expect.stringContaining(message) } })
  })

  it('never throws and never repeats a value, for any input', () => {
    const marker = 'S3CRET-VALUE'
    const value = fc.oneof(fc.jsonValue(), fc.constant(marker), fc.constant({ [marker]: marker }))
    const answer = fc.dictionary(fc.constantFrom('access_token', 'expires_in', 'token_type', 'scope', 'error'), value)
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          answer.map((part) => JSON.stringify(part)),
        ),
        (body) => {
          const token = parseToken(body, 0)
          if (either.isLeft(token)) expect(token.left.message).not.toContain(marker)
        },
      ),
    )
  })
})

describe('the end of a token', () => {
  it.each([
    ['unknown without expires_in', { ...granted, expires_in: undefined }, Infinity],
    ['unknown with null', { ...granted, expires_in: null, scope: null }, Infinity],
    ['exact with a fraction', { ...granted, expires_in: 3599.7 }, 3_600_700],
    ['known with a string', { ...granted, expires_in: '3600' }, 3_601_000],
  ])('is %s', (_, answer, expiresAtMs) => {
    expect(parseToken(JSON.stringify(answer), 1000)).toMatchObject({ _tag: 'Right', right: { expiresAtMs } })
  })
})

describe('tokenResponse', () => {
  it('reads what it writes', () => {
    const response = fc.record<TokenResponse>(
      {
        accessToken: fc.stringMatching(/^[\x21-\x7e]+$/),
        expiresInSeconds: fc.integer({ min: 1, max: 31_536_000_000 }),
        tokenType: fc.constant('Bearer'),
        scope: fc.string(),
      },
      { requiredKeys: ['accessToken', 'expiresInSeconds', 'tokenType'] },
    )
    fc.assert(
      fc.property(response, (item) => {
        expect(tokenResponse.decode(tokenResponse.encode(item))).toEqual(either.right(item))
      }),
    )
  })
})
