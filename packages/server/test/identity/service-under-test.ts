import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hashSecret } from '../../src/identity/clients/client-secret.js'
import { createIdentity, type Identity, type IdentityOptions } from '../../src/identity/identity.js'
import { memoryClients, type ClientRegistration } from '../../src/identity/clients/client.js'

export const issuer = 'http://localhost'
export const tokenPath = '/connect/token'

/** An issuing client with its secret, whose subscription tests may change. */
export const subscriber = async (changes: Partial<ClientRegistration> = {}) => {
  const secret = 'correct horse battery staple'
  const client: ClientRegistration = {
    clientId: 'client-1',
    secretHash: await hashSecret(secret),
    tenants: ['Acme'],
    projects: ['*'],
    models: ['English', 'Deutsch'],
    validFromMs: 0,
    validUntilMs: Infinity,
    cancelled: false,
    ...changes,
  }
  return { client, secret }
}

export const storeOf = (...list: ClientRegistration[]) => memoryClients(list)

export const tokenForm = (changes: Readonly<Record<string, string | undefined>> = {}): URLSearchParams => {
  const fields: Readonly<Record<string, string | undefined>> = {
    client_id: 'client-1',
    client_secret: 'correct horse battery staple',
    grant_type: 'client_credentials',
    scope: 'Ldm_Integration',
    ...changes,
  }
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) form.append(name, value)
  return form
}

/**
 * A real HTTP server on a free loopback port that passes requests to the identity service first and otherwise answers
 * 404.
 */
const serve = async (identity: Identity) => {
  const server = createServer((request, response) => {
    void identity.handle(request, response).then((handled) => {
      if (!handled) response.writeHead(404).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    port,
    post: (body: URLSearchParams | string, headers: Record<string, string> = {}) =>
      fetch(url + tokenPath, { method: 'POST', body, headers }),
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await identity.close()
    },
  }
}

export const open = async (options: Partial<IdentityOptions> = {}) => {
  const clients = options.clients ?? storeOf((await subscriber()).client)
  const identity = await createIdentity({ issuer, ...options, clients })
  return { identity, ...(await serve(identity)) }
}

/** The access token that the endpoint issues for the form. */
export const tokenFrom = async (service: { post: (form: URLSearchParams) => Promise<Response> }): Promise<string> => {
  const answer = (await (await service.post(tokenForm())).json()) as { readonly access_token: string }
  return answer.access_token
}
