import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runs } from '../../../../test/thorough.js'
import { plainService, recognizeOf, startOf, type PlainService } from '../plain-service.js'
import { openStream, plainClient } from './plain-dataflow-client.js'
import { openSocket } from './plain-socket-client.js'

let live: PlainService
beforeAll(async () => {
  live = await plainService({ development: true, limits: { idleMs: 0 } })
})
afterAll(() => live.close())

/** A field value of any type, including valid ones. */
const anyValue = fc.oneof(
  fc.constantFrom<unknown>('pcm', 'ulaw', 'm', 'Default', 8000, '8000', 16_000, 1, 2, '2', -1, 0, 5.5, true, null),
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

/** A message with one or two of its fields changed, removed or added. */
const mutated = (message: Readonly<Record<string, unknown>>): fc.Arbitrary<Record<string, unknown>> =>
  fc
    .tuple(
      fc.subarray([...Object.keys(message), '__proto__', 'constructor', 'extra'], { minLength: 0, maxLength: 2 }),
      fc.array(fc.option(anyValue, { nil: undefined }), { minLength: 2, maxLength: 2 }),
    )
    .map(([keys, values]) => ({ ...message, ...Object.fromEntries(keys.map((key, at) => [key, values[at]])) }))

const junk = fc.oneof(
  fc.constantFrom('', '{', '[]', 'null', '"x"', '{"a":', '\u0000', '{"message-name":5}', '{"MessageName":[]}'),
  fc.json({ maxDepth: 3 }),
  fc.string({ unit: 'binary', maxLength: 200 }),
)

/** Each run opens a separate session. */
const someRuns = { numRuns: runs(300), endOnFailure: true }

describe('any messages in any state', { timeout: 180_000 }, () => {
  it('of the recognizer end in an answer or in a valid close, and affect no other session', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: mutated(recognizeOf()).map((json) => ({ text: JSON.stringify(json) })) },
      { weight: 2, arbitrary: fc.constant({ text: JSON.stringify(recognizeOf()) }) },
      {
        weight: 4,
        arbitrary: fc
          .constantFrom('finalize-recognition', 'stop-recognition', 'recognize', 'FINALIZE-RECOGNITION')
          .map((name) => ({ text: JSON.stringify({ 'message-name': name }) })),
      },
      { weight: 1, arbitrary: junk.map((text) => ({ text })) },
      { weight: 4, arbitrary: fc.uint8Array({ maxLength: 700 }).map((bytes) => ({ bytes })) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const socket = await openSocket(live)
        for (const step of steps) {
          if ('text' in step) socket.send(step.text)
          else socket.audio(step.bytes)
        }
        // After any preceding messages, this one is answered, unless the socket was closed.
        socket.send({ 'message-name': 'stop-recognition' })
        let responses = 0
        const wanted =
          1 +
          steps.filter((step) => 'text' in step && /"message-name":"(stop|finalize)-recognition"/.test(step.text))
            .length
        for (;;) {
          const received = await socket.receive()
          if ('close' in received) {
            expect([1000, 1003, 1007, 1008, 1009]).toContain(received['close'])
            return
          }
          expect(Object.values(received).every((value) => typeof value === 'string')).toBe(true)
          if (/^(stop|finalize)-recognition-response$/.test(String(received['message-name']))) responses += 1
          if (responses === wanted) break
        }
        socket.close()
      }),
      someRuns,
    )
    expect(live.faults).toEqual([])
  })

  it('of the dataflow stream end in a valid status, with a response to a Start, and affect no other session', async () => {
    const client = plainClient(live)
    const start = startOf(live.token)
    const step = fc.oneof(
      { weight: 3, arbitrary: mutated(start).map((json) => ({ request: JSON.stringify(json) })) },
      { weight: 3, arbitrary: fc.constant({ request: JSON.stringify(start) }) },
      {
        weight: 4,
        arbitrary: fc
          .constantFrom(
            { MessageName: 'Finalize' },
            { MessageName: 'Update', Settings: { a: 1 } },
            { MessageName: 'Nothing' },
          )
          .map((json) => ({ request: JSON.stringify(json) })),
      },
      { weight: 1, arbitrary: junk.map((request) => ({ request })) },
      {
        weight: 4,
        arbitrary: fc
          .tuple(fc.uint8Array({ maxLength: 700 }), fc.constantFrom(0, 0, 0, 1, 2, 3, 7), fc.constantFrom('', 'x'))
          .map(([binary_content, content_type, content]) => ({ raw: { binary_content, content_type, content } })),
      },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.boolean(), async (steps, startsWell) => {
        const stream = openStream(client)
        if (startsWell) stream.request(start)
        for (const step of steps) {
          if ('request' in step) stream.request(step.request)
          else stream.raw(step.raw)
        }
        stream.stream.end()
        const { responses, status } = await stream.ended
        expect(status).toMatch(/^(OK|INVALID_ARGUMENT|FAILED_PRECONDITION|UNAUTHENTICATED|PERMISSION_DENIED)$/)
        if (startsWell) expect(responses[0]).toMatchObject({ 'operation-result': 'success' })
        expect(responses.length).toBeGreaterThan(0)
        expect(responses.every((response) => /^success$|^[a-z-]+: \S/.test(String(response['operation-result'])))).toBe(
          true,
        )
      }),
      someRuns,
    )
    expect(live.faults).toEqual([])
    client.close()
  })

  it('leave a service that recognizes as before', async () => {
    const socket = await openSocket(live)
    socket.send(recognizeOf())
    expect(await socket.receive()).toMatchObject({ 'operation-result': 'Success' })
    socket.audio(new Uint8Array(16_000))
    socket.send({ 'message-name': 'finalize-recognition' })
    expect(await socket.receive()).toMatchObject({ 'message-name': 'finalize-recognition-response' })
    expect(await socket.receive()).toMatchObject({ 'message-name': 'final-result', 'operation-result': 'Success' })
    socket.close()
  })
})
