import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { firstValueFrom, mergeMap } from 'rxjs'
import { afterAll, describe, expect, it } from 'vitest'
import { writeRecognizerMessage, type RecognizerMessage } from '../../src/protocol/recognizer-results.js'
import { inMemoryService } from '../../src/testing/in-memory-service.js'
import { at, description, faultsBy, validators, type Json } from './json-schemas.js'

const document = description('asyncapi.yaml')
const validator = validators(document)
const schemaOf = (name: string) => validator(`#/components/schemas/${name}`)
const standard = JSON.parse(
  readFileSync(join(__dirname, '../../node_modules/@asyncapi/specs/schemas/3.0.0-without-$id.json'), 'utf8'),
) as object

const result = { recognitionId: 'r', text: 't', channel: 0, startMs: 0, endMs: 1 }
const response = { operationResult: 'Success', recognitionId: 'r' }
const said: readonly RecognizerMessage[] = [
  { message: 'recognize-response', ...response },
  { message: 'stop-recognition-response', ...response },
  { message: 'finalize-recognition-response', ...response },
  { message: 'partial-result', ...result },
  { message: 'milestone-result', ...result },
  { message: 'final-result', ...result, operationResult: 'Success', confidence: 0.5 },
]

const service = inMemoryService()
afterAll(() => service.close())

/** Whether the service takes it: what `operation-result` of the response says. */
const isTaken = async (message: unknown): Promise<boolean> => {
  const { dial, token } = service.recognizer
  const link$ = dial({ headers: { Authorization: `Bearer ${token}` } })
  const answer$ = link$.pipe(
    mergeMap((link) => {
      link.send(JSON.stringify(message))
      return link.incoming
    }),
  )
  const answer = await firstValueFrom(answer$)
  return typeof answer === 'string' && (JSON.parse(answer) as Json)['operation-result'] === 'Success'
}

const good = { 'message-name': 'recognize', 'audio-format': 'pcm', 'model-name': 'm', 'sample-rate': 8000 }
const properties = at(document, 'components', 'schemas', 'recognize', 'properties')

describe('asyncapi.yaml', () => {
  it('is a document of AsyncAPI 3', () => {
    expect(faultsBy(standard, document, '7')).toBeUndefined()
    expect(faultsBy(standard, { ...document, channels: 5 }, '7')).toBeDefined()
  })

  it('names the two operations of the description, and in them every message once', () => {
    const operations = at(document, 'operations')
    expect(Object.keys(operations)).toEqual(['processReceivedMessage', 'sendMessage'])
    const named = Object.values(operations).flatMap((one) => (one as { messages: { $ref: string }[] }).messages)
    const names = named.map(({ $ref }) => $ref.split('/').at(-1))
    expect(names.toSorted()).toEqual(Object.keys(at(document, 'components', 'messages')).toSorted())
    expect(names.toSorted()).toEqual(Object.keys(at(document, 'channels', 'recognizer', 'messages')).toSorted())
  })

  it.each(said.map((message) => [message.message, message] as const))(
    'has for %s the fields that its codec writes, and no other',
    (name, message) => {
      const written = JSON.parse(writeRecognizerMessage(message)) as Json
      const validate = schemaOf(name)
      expect(validate(written), JSON.stringify(validate.errors)).toBe(true)
      const schema = at(document, 'components', 'schemas', name)
      expect(Object.keys(at(schema, 'properties')).toSorted()).toEqual(Object.keys(written).toSorted())
      for (const key of schema['required'] as readonly string[]) {
        const { [key]: _left, ...rest } = written
        expect(validate(rest), key).toBe(false)
      }
    },
  )

  it('takes and refuses the same recognize as the service, field by field, at the edges of every range', async () => {
    const values: readonly unknown[] = [
      ...[-1, 0, 1, 10, 11, 49, 50, 999, 1000, 5000, 5001, 7999, 8000, 48_000, 48_001, 60_000, 60_001],
      ...['', 'pcm', 'ulaw', 'realtime-vad', 'audio-segmenter', 'abc', 5.5, true, null, [], {}],
    ]
    for (const name of Object.keys(properties).filter((one) => one !== 'message-name')) {
      for (const value of values) {
        const message = { ...good, [name]: value }
        expect(await isTaken(message), JSON.stringify(message)).toBe(schemaOf('recognize')(message))
      }
      const { [name]: _left, ...rest } = good as Json
      expect(await isTaken(rest), `without ${name}`).toBe(schemaOf('recognize')(rest))
    }
  })

  it('agrees with the service on any mixture of fields', async () => {
    const number = fc.constantFrom(-1, 0, 1, 6, 10, 11, 400, 1000, 8000, 16_000, 60_000, 60_001)
    const value = fc.oneof(number, fc.constantFrom('pcm', 'realtime-vad', 'audio-segmenter', 'x'))
    const fields = Object.fromEntries(Object.keys(properties).map((name) => [name, value]))
    await fc.assert(
      fc.asyncProperty(fc.record(fields, { requiredKeys: [] }), async (some) => {
        const message = { ...good, ...some, 'message-name': 'recognize' }
        expect(await isTaken(message)).toBe(schemaOf('recognize')(message))
      }),
      { numRuns: 200 },
    )
  })

  it('takes whole numbers as strings, as the service does', async () => {
    const message = { ...good, 'sample-rate': '16000', 'vad-sensitivity': '7' }
    expect([schemaOf('recognize')(message), await isTaken(message)]).toEqual([true, true])
  })
})
