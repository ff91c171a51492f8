import { EMPTY, NEVER, of, Subject, throwError, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { NodeItem } from '../../../server/src/nodes/core/node.js'
import { openWebhook, type WebhookOptions } from '../../src/webhook/webhook.js'

import type { WebhookResponse } from '../../src/webhook/request.js'
import { requestedWaitMs } from '../../src/webhook/delivery.js'
import { marbles, type MarbleHelpers } from '../../../../test/operators/marbles.js'
import { event } from '../../../server/test/nodes/fixed-set.js'
import { nodeContext } from '../../../server/test/nodes/node-context.js'

const values = {
  x: event('x'),
  f: event('Webhook Failed', {
    channel: -2,
    startMs: -1,
    endMs: -1,
    data: { Reason: 'status 400', Attempts: 1, Lost: 1 },
  }),
  e: event('Webhook Ended', { channel: -2, startMs: -1, endMs: -1, data: { Delivered: 0, Lost: 1 } }),
}
const status = (code: number, retryAfter?: string): Observable<WebhookResponse> => of({ status: code, retryAfter })

/** A webhook in virtual time; `answer` is the response to the n-th request, and `atMs` lists when each was sent. */
const open = (
  { scheduler }: MarbleHelpers,
  answer: (count: number) => Observable<WebhookResponse>,
  more: Partial<WebhookOptions> = {},
) => {
  const atMs: number[] = []
  const context = nodeContext({ scheduler, resource: () => ({ kind: 'secret', reveal: () => 'key' }) })
  const options = { url: 'https://example.org/', secret: 'key', batchMs: 10, ...more }
  const node = openWebhook(options, context, {
    random: () => 1,
    newId: () => 'id',
    send: () => {
      atMs.push(scheduler.now())
      return answer(atMs.length)
    },
  })
  return { node: (input$: Observable<NodeItem>) => node(input$, context), atMs }
}

describe('webhook in virtual time', () => {
  it('sends after batchMs, reports losses, and completes', () => {
    marbles((helpers) => {
      const { node, atMs } = open(helpers, () => status(400))
      const input$ = helpers.cold<NodeItem>('x 29ms |', values)
      helpers.expectObservable(node(input$)).toBe('10ms f 19ms (e|)', values)
      helpers.expectSubscriptions(input$.subscriptions).toBe('^ 29ms !')
      helpers.flush()
      expect(atMs).toEqual([10])
    })
  })
  it('completes immediately when the input is empty', () => {
    marbles((helpers) => helpers.expectObservable(open(helpers, () => status(200)).node(EMPTY)).toBe('|'))
  })
  it('emits nothing while the input emits nothing', () => {
    marbles((helpers) => helpers.expectObservable(open(helpers, () => status(200)).node(NEVER)).toBe('-'))
  })
  it('passes an error of the input on', () => {
    marbles((helpers) => {
      const input$ = helpers.cold<NodeItem>('x-#', values)
      helpers.expectObservable(open(helpers, () => NEVER).node(input$)).toBe('--#')
    })
  })
  it('ends input and request on unsubscription, and starts again for each subscription', () => {
    marbles((helpers) => {
      const request$ = helpers.cold<WebhookResponse>('-')
      const { node } = open(helpers, () => request$)
      const input$ = helpers.cold<NodeItem>('x--', values)
      const node$ = node(input$)
      helpers.expectObservable(node$, '^ 14ms !').toBe('-')
      helpers.expectObservable(node$, '50ms ^ 14ms !').toBe('-')
      helpers.expectSubscriptions(input$.subscriptions).toBe(['^ 14ms !', '50ms ^ 14ms !'])
      helpers.expectSubscriptions(request$.subscriptions).toBe(['10ms ^ 4ms !', '60ms ^ 4ms !'])
      helpers.flush()
      expect(helpers.scheduler.actions).toHaveLength(0)
    })
  })
  it('accepts an event in response to its own report', () => {
    marbles((helpers) => {
      const { node, atMs } = open(helpers, () => status(400), { batchMs: 0, batchEvents: 1 })
      const input$ = new Subject<NodeItem>()
      let again = true
      const subscription = node(input$).subscribe(() => {
        if (again) input$.next(values.x)
        again = false
      })
      input$.next(values.x)
      helpers.flush()
      subscription.unsubscribe()
      expect(atMs).toHaveLength(2)
    })
  })
  it('backs off up to retryMaxMs, and waits at least for Retry-After', () => {
    marbles((helpers) => {
      const { node, atMs } = open(
        helpers,
        (count) => (count === 4 ? status(429, '7') : count < 6 ? throwError(() => new Error('x')) : status(200)),
        { batchMs: 0, retryBaseMs: 100, retryMaxMs: 300, maxAttempts: 20, flushMs: 30_000 },
      )
      helpers.expectObservable(node(of(values.x))).toBe('7900ms |')
      helpers.flush()
      expect(atMs).toEqual([0, 100, 300, 600, 7600, 7900])
    })
  })
  it('ends a request after timeoutMs', () => {
    marbles((helpers) => {
      const { node, atMs } = open(helpers, (count) => (count === 1 ? NEVER : status(200)), {
        batchMs: 0,
        timeoutMs: 200,
        retryBaseMs: 50,
      })
      helpers.expectObservable(node(of(values.x))).toBe('250ms |')
      helpers.flush()
      expect(atMs).toEqual([0, 250])
    })
  })
})

describe('requestedWaitMs', () => {
  it('reads seconds and dates, and limits them', () => {
    expect(requestedWaitMs('3', 0)).toBe(3000)
    expect(requestedWaitMs('Thu, 01 Jan 1970 00:00:10 GMT', 4000)).toBe(6000)
    expect(requestedWaitMs('99999', 0)).toBe(300_000)
    expect(requestedWaitMs('Thu, 01 Jan 1970 00:00:10 GMT', 40_000)).toBe(0)
    expect([requestedWaitMs('soon', 0), requestedWaitMs(undefined, 0)]).toEqual([undefined, undefined])
  })
})
