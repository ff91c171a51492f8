import { concat, map, NEVER, of, range, ReplaySubject } from 'rxjs'
import { afterEach, describe, expect, it } from 'vitest'
import type { NodeItem } from '../../../server/src/nodes/core/node.js'
import { webhook } from '../../src/webhook/webhook.js'
import { event, openNode } from '../../../server/test/nodes/fixed-set.js'
import { nodeContext } from '../../../server/test/nodes/node-context.js'
import { signatureOf, eventOf, webhookBench } from './webhook-bench.js'
import { namesIn, ok } from './webhook-receiver.js'

const { context, logged, receive, open, run, clear } = webhookBench()
afterEach(clear)

describe('webhook', () => {
  it('posts the events in their wire format, signed, with a delivery id', async () => {
    const receiver = await receive(ok)
    const input$ = of(event('DTMF', { channel: 1, startMs: 5, data: { Digit: '5' } }), event('Other', { tags: ['x'] }))
    expect(await run({}, input$)).toEqual([])
    const [request] = receiver.received
    if (request === undefined) throw new Error('Nothing was received.')
    expect([request.method, request.url, request.headers['content-type']]).toEqual([
      'POST',
      '/hook?key=hidden',
      'application/json',
    ])
    const body = JSON.parse(request.body) as { DeliveryId: string }
    expect(body).toEqual({
      DeliveryId: request.headers['x-rxspeech-delivery'],
      SessionId: 'session-1',
      Tenant: 'Acme',
      Project: 'project',
      Node: 'node',
      Sequence: 1,
      Events: [
        { Name: 'DTMF', Channel: 1, StartMsec: 5, EndMsec: -1, GroupId: '', Tags: [], Data: { Digit: '5' } },
        { Name: 'Other', Channel: -1, StartMsec: -1, EndMsec: -1, GroupId: '', Tags: ['x'], Data: null },
      ],
    })
    const { timeS, given, due } = signatureOf(request)
    expect(given).toBe(due)
    expect(Math.abs(timeS - Date.now() / 1000)).toBeLessThan(60)
  })

  it.each([500, 503, 429, 408])('tries again after status %i, with the same delivery id and body', async (status) => {
    const receiver = await receive((response, count) => {
      response.writeHead(count < 3 ? status : 200).end('thanks')
    })
    expect(await run({}, of(event('a')))).toEqual([])
    expect(receiver.received).toHaveLength(3)
    expect(new Set(receiver.received.map(({ headers }) => headers['x-rxspeech-delivery'])).size).toBe(1)
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
  })

  it.each([400, 401, 404, 301, 307])(
    'does not try again after status %i, follows no redirect, and reports it once',
    async (status) => {
      const receiver = await receive((response) => {
        response.writeHead(status, { Location: '/elsewhere' }).end()
      })
      const answers = await run({ batchEvents: 1 }, of(event('a'), event('b')))
      expect(answers).toEqual([
        eventOf('Webhook Failed', { Reason: `status ${status}`, Attempts: 1, Lost: 1 }),
        eventOf('Webhook Ended', { Delivered: 0, Lost: 2 }),
      ])
      expect(receiver.received.map(({ url }) => url)).toEqual(['/hook?key=hidden', '/hook?key=hidden'])
    },
  )

  it('gives up after maxAttempts, and neither reports nor logs address, body and secret', async () => {
    await receive((response) => response.writeHead(500).end('inside'))
    const answers = await run({ maxAttempts: 2 }, of(event('words', { data: { Text: 'spoken' } })))
    expect(answers[0]).toEqual(eventOf('Webhook Failed', { Reason: 'status 500', Attempts: 2, Lost: 1 }))
    expect(logged).toHaveLength(2)
    expect(JSON.stringify([answers, logged])).not.toMatch(/hidden|spoken|words|secret|inside|127\.0/)
  })

  it('reports a failure again after a batch was accepted', async () => {
    await receive((response, count) => response.writeHead(count % 2 === 1 ? 400 : 200).end())
    const answers = await run({ batchEvents: 1 }, of(event('a'), event('b'), event('c')))
    expect(answers.map((item) => (item.type === 'event' ? item.event.name : ''))).toEqual([
      'Webhook Failed',
      'Webhook Failed',
      'Webhook Ended',
    ])
  })

  it('tries again when there is no response in time', async () => {
    const receiver = await receive((response, count) => {
      if (count > 1) ok(response)
    })
    expect(await run({ timeoutMs: 1_000 }, of(event('a')))).toEqual([])
    // A busy machine may need a third attempt.
    expect(receiver.received.length).toBeGreaterThanOrEqual(2)
  })

  it('accepts a status even if the body never ends, breaks off or is too long', async () => {
    const receiver = await receive((response, count, request) => {
      response.writeHead(200, count === 2 ? { 'Content-Length': 100 } : {})
      if (count === 1) response.write('slow')
      else if (count === 2) response.write('cut', () => request.socket.destroy())
      else response.end(Buffer.alloc(4_000_000))
    })
    expect(await run({ timeoutMs: 2_000, batchEvents: 1 }, of(event('a'), event('b'), event('c')))).toEqual([])
    expect(namesIn(receiver.received)).toEqual(['a', 'b', 'c'])
  })

  it('tries again when the connection breaks in the middle of the request', async () => {
    let count = 0
    await receive((response, _count, request) => {
      count += 1
      if (count < 3) request.socket.destroy()
      else ok(response)
    })
    expect(await run({}, of(event('a')))).toEqual([])
    expect(count).toBe(3)
  })

  it('reports a refused connection', async () => {
    const receiver = await receive(ok)
    const { url } = receiver
    await receiver.close()
    const answers = await run({ url, maxAttempts: 2 }, of(event('a')))
    expect(answers[0]).toEqual(eventOf('Webhook Failed', { Reason: 'ECONNREFUSED', Attempts: 2, Lost: 1 }))
  })

  it.each([1, 3])(
    'accepts a flood of 10,000 events, and delivers all in order with %i in progress',
    async (inFlight) => {
      const receiver = await receive((response) => setImmediate(() => ok(response)))
      const flood$ = range(0, 10_000).pipe(map((index) => event(String(index))))
      const options = { inFlight, maxQueue: 10_000, batchEvents: 100, flushMs: 30_000 }
      expect(await run(options, flood$)).toEqual([])
      const sorted = [...receiver.received].sort((a, b) => sequenceOf(a) - sequenceOf(b))
      expect(namesIn(sorted)).toEqual(Array.from({ length: 10_000 }, (_none, index) => String(index)))
      expect(receiver.received).toHaveLength(100)
      expect(receiver.maxAtOnce()).toBeLessThanOrEqual(inFlight)
    },
  )

  it.each([
    ['dropOldest', ['0', '8', '9']],
    ['dropNewest', ['0', '1', '2']],
  ])('with %s keeps what its queue can hold, and reports what it lost', async (whenFull, kept) => {
    const input$ = new ReplaySubject<NodeItem>(1)
    input$.next(event('0'))
    const receiver = await receive((response, count) => {
      // The first one is in progress when the others arrive.
      for (let index = 1; count === 1 && index < 10; index += 1) input$.next(event(String(index)))
      input$.complete()
      ok(response)
    })
    const answers = await run({ maxQueue: 2, whenFull, batchEvents: 1 }, input$)
    expect(answers).toEqual([
      eventOf('Webhook Failed', { Reason: 'queue full', Attempts: 0, Lost: 1 }),
      eventOf('Webhook Ended', { Delivered: 3, Lost: 7 }),
    ])
    expect(namesIn(receiver.received)).toEqual(kept)
  })

  it('ends within flushMs when the receiver does not answer', async () => {
    await receive(() => undefined)
    const answers = await run({ flushMs: 100, batchEvents: 2 }, of(event('a'), event('b'), event('c')))
    expect(answers).toEqual([
      eventOf('Webhook Failed', { Reason: 'session over', Attempts: 0, Lost: 3 }),
      eventOf('Webhook Ended', { Delivered: 0, Lost: 3 }),
    ])
  })

  it('aborts requests in progress when the session is cancelled', async () => {
    let subscription: { unsubscribe(): void } | undefined
    const closed = new Promise<void>((resolve, reject) => {
      receive((_response, _count, request) => {
        request.socket.on('close', () => resolve())
        subscription?.unsubscribe()
      }).then(async () => {
        const node = await open()
        subscription = node(concat(of(event('a')), NEVER), nodeContext()).subscribe()
      }, reject)
    })
    await closed
  })

  it('sends nothing to private networks unless that is allowed', async () => {
    const receiver = await receive(ok)
    const answers = await run({ allowPrivate: false }, of(event('a')))
    expect(answers[0]).toEqual(eventOf('Webhook Failed', { Reason: 'refused', Attempts: 1, Lost: 1 }))
    expect(receiver.received).toEqual([])
  })

  it.each([
    'http://example.org/',
    'https://user:pass@example.org/',
    'ftp://example.org/',
    'https://example.org/#x',
    'x',
    5,
  ])('rejects %j as its address', async (url) => {
    await expect(openNode(webhook, { url, secret: 'key' }, context)).rejects.toThrow('must be an https address')
  })

  it('is rejected without its secret', async () => {
    await expect(
      openNode(webhook, { url: 'https://example.org/', secret: 'gone' }, { resource: () => undefined }),
    ).rejects.toMatchObject({ code: 'invalid-options' })
  })
})

const sequenceOf = ({ body }: { readonly body: string }): number => (JSON.parse(body) as { Sequence: number }).Sequence
