import { lastValueFrom } from 'rxjs'
import { afterEach, expect, it } from 'vitest'
import { clientCredentials } from '../../../src/cli/parsing/service-flags.js'
import { tokenOf } from '../../../src/cli/service/access.js'
import { serveTokens, type TokenServer } from '../../../../../test/auth/token-server.js'

const granted = JSON.stringify({ access_token: 'tok', expires_in: 60, token_type: 'Bearer' })

let server: TokenServer | undefined
afterEach(() => server?.close())

const served = async (resets: number): Promise<{ readonly authUrl: string; readonly requests: readonly string[] }> => {
  let left = resets
  const running = await serveTokens((request, response) => {
    left -= 1
    if (left >= 0) request.socket.resetAndDestroy()
    else response.end(granted)
  })
  server = running
  return { authUrl: running.authUrl, requests: running.bodies }
}

const ask = (authUrl: string, timeoutMs: number) =>
  lastValueFrom(tokenOf({ type: 'client', authUrl, clientId: 'a', clientSecret: 'secret' }, { timeoutMs }))

it('asks again after the token endpoint has reset the connection', async () => {
  const { authUrl, requests } = await served(1)
  expect(await ask(authUrl, 5_000)).toMatchObject({ accessToken: 'tok' })
  expect(requests).toHaveLength(2)
})

it('asks no longer than the deadline', async () => {
  const { authUrl, requests } = await served(Infinity)
  await expect(ask(authUrl, 300)).rejects.toMatchObject({ code: 'token-timeout' })
  expect(requests).toHaveLength(2)
})

it.each([
  ['a line end', 'the-right-secret\n'],
  ['a line end of Windows', 'the-right-secret\r\n'],
  ['a no-break space', 'the-right-secret\u00a0'],
])('refuses a secret with %s before it asks', (_, secret) => {
  const flags = { authUrl: 'https://id.example.com', clientId: 'a', clientSecret: undefined }
  expect(() => clientCredentials(flags, { RXSPEECH_CLIENT_SECRET: secret })).toThrow(
    'The client secret must be printable ASCII characters, without a line end; check where it was copied from.',
  )
})
