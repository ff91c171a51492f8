import { inspect } from 'node:util'
import { concat, EMPTY, firstValueFrom, map, NEVER, of, throwError, timer, type ObservableInput } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { requestToken } from '../../src/auth/request-token.js'
import type {
  RequestTokenOptions,
  TokenFetch,
  TokenFetchResponse,
  TokenRequestInit,
} from '../../src/auth/token-fetch.js'
import { errorTable, type ErrorCode } from '../../src/errors/error-table.js'
import { codeThrownBy, marbles } from '../operators/marbles.js'

const clientSecret = 'p+q/r s=%~secret'
const options: RequestTokenOptions = { authUrl: 'https://id.example/base/', clientId: 'client 1', clientSecret }
const granted = JSON.stringify({ access_token: 'tok', expires_in: 60, token_type: 'Bearer', scope: 'Ldm_Integration' })

const answer = (
  status: number,
  body: string | ObservableInput<Uint8Array>,
  headers: Record<string, string> = {},
): TokenFetchResponse => ({
  status,
  headers: { get: (name) => headers[name] ?? null },
  body: typeof body === 'string' ? [new TextEncoder().encode(body)] : body,
})

/** Subscribes with a scripted response, and returns the outcome. */
const outcome = async (fetch: TokenFetch, more: Partial<RequestTokenOptions> = {}): Promise<unknown> =>
  firstValueFrom(requestToken({ ...options, fetch, ...more })).catch((error: unknown) => error)

const outcomeOf = (...response: Parameters<typeof answer>): Promise<unknown> => outcome(() => of(answer(...response)))
const refusal = (error: string, description?: string): string =>
  JSON.stringify({ error, ...(description !== undefined && { error_description: description }) })

describe('requestToken', () => {
  it('posts the form of the description to connect/token, and follows no redirect', async () => {
    const requests: [string, TokenRequestInit][] = []
    const token = await outcome((...request) => {
      requests.push(request)
      return of(answer(200, granted))
    })
    expect(token).toMatchObject({ accessToken: 'tok', tokenType: 'Bearer', scope: 'Ldm_Integration' })
    const [url, init] = requests[0] ?? []
    expect(url).toBe('https://id.example/base/connect/token')
    expect(init).toMatchObject({
      method: 'POST',
      redirect: 'manual',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(Object.fromEntries(new URLSearchParams(init?.body))).toEqual({
      client_id: 'client 1',
      client_secret: clientSecret,
      grant_type: 'client_credentials',
      scope: 'Ldm_Integration',
    })
  })

  it('counts the lifetime of the token from the request on, emits it and completes', () => {
    marbles(({ scheduler, cold, expectObservable, expectSubscriptions }) => {
      const response$ = cold('     5ms (r|)', {
        r: answer(200, cold('3ms (b|)', { b: new TextEncoder().encode(granted) })),
      })
      const subscription = '       ^ 4ms !'
      const expected = '           8ms (t|)'
      const token$ = requestToken({ ...options, fetch: () => response$, scheduler })
      expectObservable(token$.pipe(map(({ expiresAtMs }) => expiresAtMs))).toBe(expected, { t: 60_000 })
      expectSubscriptions(response$.subscriptions).toBe(subscription)
    })
  })

  it('makes one request for each subscription, and none before', () => {
    marbles(({ scheduler, cold, expectObservable, expectSubscriptions, flush }) => {
      const response$ = cold('     --(r|)', { r: answer(200, granted) })
      let requests = 0
      const fetch: TokenFetch = () => {
        requests += 1
        return response$
      }
      const token$ = requestToken({ ...options, fetch, scheduler }).pipe(map(({ accessToken }) => accessToken))
      expect(requests).toBe(0)
      expectObservable(token$).toBe('       --(t|)', { t: 'tok' })
      expectObservable(token$, '-----^').toBe('-------(t|)', { t: 'tok' })
      expectSubscriptions(response$.subscriptions).toBe(['^-!', '-----^-!'])
      flush()
      expect(requests).toBe(2)
    })
  })

  it.each([
    ['the connection', () => NEVER],
    ['the body', () => of(answer(200, NEVER))],
  ])('errors with token-timeout when %s hangs, and aborts', (_, fetch: () => ObservableInput<TokenFetchResponse>) => {
    marbles(({ scheduler, flush }) => {
      const signals: AbortSignal[] = []
      const seen: unknown[] = []
      requestToken({
        ...options,
        scheduler,
        timeoutMs: 500,
        fetch: (_url, { signal }) => {
          signals.push(signal)
          return fetch()
        },
      }).subscribe({ error: (error: unknown) => seen.push(error, scheduler.now()) })
      flush()
      expect(seen).toMatchObject([{ code: 'token-timeout', retryable: true }, 500])
      expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    })
  })

  it('aborts the request when it is unsubscribed', () => {
    marbles(({ scheduler, cold, expectObservable, expectSubscriptions, flush }) => {
      const response$ = cold<TokenFetchResponse>('-')
      const subscription = '                      ^--!'
      const aborts: number[] = []
      const fetch: TokenFetch = (_url, { signal }) => {
        signal.addEventListener('abort', () => aborts.push(scheduler.now()))
        return response$
      }
      expectObservable(requestToken({ ...options, fetch, scheduler }), subscription).toBe('----')
      expectSubscriptions(response$.subscriptions).toBe(subscription)
      flush()
      expect(aborts).toEqual([3])
    })
  })

  it.each<[string, number, ErrorCode]>([
    ['invalid_request', 400, 'invalid-request'],
    ['invalid_client', 401, 'invalid-client'],
    ['invalid_client', 400, 'invalid-client'],
    ['invalid_grant', 400, 'invalid-grant'],
    ['unauthorized_client', 400, 'unauthorized-client'],
    ['unsupported_grant_type', 400, 'unsupported-grant-type'],
    ['invalid_scope', 400, 'invalid-scope'],
  ])('maps the refusal %s with status %i to a code with the help of the error table', async (error, status, code) => {
    const { help } = errorTable[code]
    expect(await outcomeOf(status, refusal(error))).toMatchObject({ code, retryable: false, message: help })
  })

  it.each([
    ['401 without a body', [401, ''], 'invalid-client', false],
    ['an error that RFC 6749 does not know', [400, refusal('slow_down')], 'token-endpoint-failed', false],
    ['an error named like a method', [400, refusal('toString')], 'token-endpoint-failed', false],
    ['no such path', [404, '<h1>Not found</h1>'], 'token-endpoint-failed', false],
    ['a redirect', [302, '', { location: 'https://elsewhere.example/' }], 'token-endpoint-failed', false],
    ['a failure of the server', [500, refusal('invalid_client')], 'token-endpoint-failed', true],
    ['a page', [200, '<!doctype html><title>Sign in</title>'], 'token-endpoint-failed', false],
    ['an error with the status 200', [200, refusal('invalid_client')], 'invalid-client', false],
    [
      'an error with the status 200 beside empty fields',
      [200, JSON.stringify({ error: 'invalid_client', access_token: null })],
      'invalid-client',
      false,
    ],
    ['an unknown error with the status 200', [200, refusal('slow_down')], 'token-endpoint-failed', false],
    ['half a JSON', [200, '{"access_token":"tok"'], 'token-endpoint-failed', true],
    ['no token', [200, '{}'], 'token-endpoint-failed', false],
    ['an empty body', [200, EMPTY], 'token-endpoint-failed', true],
    ['no content', [204, ''], 'token-endpoint-failed', false],
  ] as const)('maps %s to a code', async (_, response, code, retryable) => {
    expect(await outcomeOf(...(response as unknown as Parameters<typeof answer>))).toMatchObject({ code, retryable })
  })

  it('handles a redirect that a browser hides', async () => {
    const hidden = { ...answer(0, ''), type: 'opaqueredirect', body: null }
    expect(await outcome(() => of(hidden))).toMatchObject({
      code: 'token-endpoint-failed',
      message: expect.stringContaining('redirects'),
    })
  })

  it('reports how long to wait after too many attempts', async () => {
    const busy = answer(429, refusal('invalid_client'), { 'retry-after': '30' })
    expect(await outcome(() => of(busy))).toMatchObject({
      code: 'too-many-attempts',
      retryable: true,
      retryAfterMs: 30_000,
      message: expect.stringContaining('30 s'),
    })
    const silent = await outcomeOf(429, '')
    expect(silent).toMatchObject({ code: 'too-many-attempts' })
    expect(silent).not.toHaveProperty('retryAfterMs')
    expect(await outcomeOf(502, '', { 'retry-after': '5' })).toMatchObject({ retryAfterMs: 5000 })
  })

  it.each([
    ['503 temporarily_unavailable', 503, refusal('temporarily_unavailable'), {}, 'later'],
    ['503 with Retry-After', 503, '', { 'retry-after': '5' }, 'in 5 s'],
    ['temporarily_unavailable with another status', 400, refusal('temporarily_unavailable'), {}, 'later'],
  ])('suggests to try again later after %s', async (_what, status, body, headers, when) => {
    const error = await outcomeOf(status, body, headers)
    expect(error).toMatchObject({
      code: 'overloaded',
      retryable: true,
      message: `The token endpoint accepts no requests now; try again ${when}.`,
    })
  })

  it('reads at most 64 KiB of an endless body', async () => {
    let pulled = 0
    const endless = (function* () {
      for (;;) {
        pulled += 1
        yield new Uint8Array(16 * 1024).fill(0x20)
      }
    })()
    expect(await outcomeOf(200, endless)).toMatchObject({
      code: 'token-endpoint-failed',
      message: expect.stringContaining('65536'),
    })
    expect(pulled).toBe(5)
    const padded = granted + ' '.repeat(64 * 1024 - granted.length)
    expect(await outcomeOf(200, padded)).toMatchObject({ accessToken: 'tok' })
  })

  it('joins characters that the body splits between slices', async () => {
    const bytes = new TextEncoder().encode(granted.replace('Ldm_Integration', 'größe'))
    const token = await outcomeOf(
      200,
      Array.from(bytes, (byte) => Uint8Array.of(byte)),
    )
    expect(token).toMatchObject({ scope: 'größe' })
  })

  it('errors when the response breaks off', async () => {
    const broken$ = concat(
      of(new Uint8Array(3)),
      throwError(() => new Error(`socket closed ${clientSecret}`)),
    )
    expect(await outcomeOf(200, broken$)).toMatchObject({ code: 'token-endpoint-failed', retryable: true })
  })

  it('includes the reason of the system when there is no response', async () => {
    const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
    const failed = await outcome(() => Promise.reject(new TypeError('fetch failed', { cause })))
    expect(failed).toMatchObject({
      code: 'connection-failed',
      retryable: true,
      message: expect.stringContaining('(ECONNREFUSED)'),
    })
    expect(await outcome(() => EMPTY)).toMatchObject({ code: 'connection-failed' })
    const circle = new Error('round')
    circle.cause = circle
    expect(await outcome(() => throwError(() => circle))).toMatchObject({ code: 'connection-failed' })
  })

  it('quotes the text of the endpoint if it is harmless', async () => {
    const quoted = await outcomeOf(400, refusal('unauthorized_client', 'The subscription ended on May 1'))
    expect(quoted).toMatchObject({
      message: expect.stringContaining('The token endpoint says: The subscription ended on May 1'),
    })
    for (const bad of ['tab\there', 'quote "', 'x'.repeat(201), '\u001b[31mred', '']) {
      expect((await outcomeOf(400, refusal('invalid_client', bad))) as Error).toMatchObject({
        message: expect.not.stringContaining('says:'),
      })
    }
  })

  it('shows *** where the endpoint repeats the secret, in any encoding', async () => {
    const basic = Buffer.from(`client:${encodeURIComponent(clientSecret)}`).toString('base64')
    const spellings = [
      clientSecret,
      encodeURIComponent(clientSecret),
      new URLSearchParams([['', clientSecret]]).toString().slice(1),
      `p%2Bq${clientSecret.slice(3)}`,
      clientSecret.replace('/', '&#47;'),
      Buffer.from(clientSecret).toString('base64'),
      Buffer.from(`client:${clientSecret}`).toString('base64'),
    ]
    for (const spelling of spellings) {
      const error = await outcomeOf(401, refusal('invalid_client', `No client has ${spelling} here`))
      expect(error).toMatchObject({
        message: expect.stringMatching(/The token endpoint says: No client has \S*\*\*\* here$/),
      })
      expect(inspect(error)).not.toContain(spelling)
    }
    // Encoded as RFC 6749 section 2.3.1 requires, and then in base64.
    const error = await outcomeOf(401, refusal('invalid_client', `Basic ${basic}`))
    expect(inspect(error)).not.toContain(basic.slice(10, 30))
  })

  it('never shows the secret or a token in any form of any error', async () => {
    const encoded = new URLSearchParams({ client_secret: clientSecret }).toString()
    const leaky = Object.assign(new Error(`POST failed: ${encoded}`), { request: { body: encoded }, code: encoded })
    const errors = await Promise.all([
      outcome(() => Promise.reject(new TypeError('fetch failed', { cause: leaky }))),
      outcome(() => {
        throw leaky
      }),
      outcomeOf(
        200,
        throwError(() => leaky),
      ),
      outcomeOf(401, refusal('invalid_client', `bad secret ${clientSecret}`)),
      outcomeOf(401, refusal('invalid_client', `bad form ${encoded}`)),
      outcomeOf(401, refusal('invalid_client', `bad ${encodeURIComponent(clientSecret)}`)),
      outcomeOf(500, `echo ${encoded} ${clientSecret}`),
      outcomeOf(200, JSON.stringify({ access_token: 'tok3n-value', expires_in: clientSecret, token_type: 'Bearer' })),
      outcomeOf(
        200,
        JSON.stringify({ access_token: `tok3n-value ${clientSecret}`, expires_in: 1, token_type: 'Bearer' }),
      ),
      outcomeOf(302, '', { location: `https://x.example/?${encoded}` }),
    ])
    for (const error of errors) {
      expect(error).toBeInstanceOf(Error)
      const own = Object.fromEntries(Object.getOwnPropertyNames(error).map((key) => [key, (error as never)[key]]))
      const shown = `${inspect(error, { depth: 9, showHidden: true })} ${JSON.stringify(own)} ${String(error)}`
      for (const word of [clientSecret, encoded.split('=')[1] ?? '', encodeURIComponent(clientSecret), 'tok3n-value']) {
        expect(shown).not.toContain(word)
      }
      expect((error as Error).cause).toBeUndefined()
    }
  })

  it.each([
    ['no address', { authUrl: 'id.example' }],
    ['another protocol', { authUrl: 'ftp://id.example' }],
    ['plain http to another host', { authUrl: 'http://id.example' }],
    ['plain http to a name that only begins like a local address', { authUrl: 'http://127.0.0.1.example' }],
    ['plain http to a name that begins like localhost', { authUrl: 'http://localhost.example' }],
    ['a user in the address', { authUrl: 'https://user:pass@id.example' }],
    ['a query', { authUrl: 'https://id.example/?a=b' }],
    ['an empty client id', { clientId: '' }],
    ['an empty secret', { clientSecret: '' }],
    ['a secret with a line end', { clientSecret: 'the-secret\n' }],
    ['a secret with a line end of Windows', { clientSecret: 'the-secret\r\n' }],
    ['a client id with a line end', { clientId: 'client\n' }],
    ['the address of the endpoint itself', { authUrl: 'https://id.example/base/connect/token/' }],
    ['an empty scope', { scope: '' }],
    ['no time', { timeoutMs: 0 }],
    ['an infinite timeout', { timeoutMs: Infinity }],
  ])('rejects %s immediately', (_, wrong) => {
    expect(codeThrownBy(() => requestToken({ ...options, ...wrong }))).toBe('invalid-options')
  })

  it.each(['http://localhost:1', 'http://127.0.0.1:1', 'http://[::1]:1', 'http://id.localhost', 'HTTP://LOCALHOST'])(
    'allows plain http to this host: %s',
    (authUrl) => {
      expect(codeThrownBy(() => requestToken({ ...options, authUrl }))).toBeUndefined()
    },
  )

  it('allows plain http to another host with an option', () => {
    const insecure = { ...options, authUrl: 'http://id.example', insecure: true }
    expect(codeThrownBy(() => requestToken(insecure))).toBeUndefined()
  })

  it('accepts a slow response that is in time', () => {
    marbles(({ scheduler, expectObservable }) => {
      const fetch: TokenFetch = () => timer(499, scheduler).pipe(map(() => answer(200, granted)))
      const token$ = requestToken({ ...options, fetch, scheduler, timeoutMs: 500 })
      expectObservable(token$.pipe(map(({ accessToken }) => accessToken))).toBe('499ms (t|)', { t: 'tok' })
    })
  })
})
