import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { Agent as SecureAgent } from 'node:https'
import type * as t from 'io-ts'
import { defer, finalize, tap, type Observable } from 'rxjs'
import {
  defineNode,
  flag,
  type Node,
  type NodeContext,
  type NodeItem,
  nodeOptions,
  nonEmptyText,
  oneOfWords,
  wholeNumberFrom,
} from 'rxspeech-server/nodes'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { completeEventEnvelope, writeEventEnvelope } from 'rxspeech/internal/protocol/dataflow-events'
import { codec } from 'rxspeech/internal/protocol/validation'
import { isLoopbackUrl } from './address.js'
import { deliver } from './delivery.js'
import { runOutbox } from './outbox.js'
import { sendWebhook, type WebhookRequest, type WebhookResponse } from './request.js'

const webhookUrl = codec(
  'an https address without user, password and fragment (http only for this machine)',
  (value): value is string => {
    if (typeof value !== 'string' || value.length > 2048 || !URL.canParse(value)) return false
    const url = new URL(value)
    if (url.username !== '' || url.password !== '' || url.hash !== '') return false
    return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackUrl(url))
  },
)

const options = nodeOptions(
  { url: webhookUrl, secret: nonEmptyText },
  {
    allowPrivate: flag,
    inFlight: wholeNumberFrom(1, 4),
    batchEvents: wholeNumberFrom(1, 1000),
    batchMs: wholeNumberFrom(0, 60_000),
    maxQueue: wholeNumberFrom(1, 100_000),
    whenFull: oneOfWords('dropOldest', 'dropNewest'),
    timeoutMs: wholeNumberFrom(100, 60_000),
    maxAttempts: wholeNumberFrom(1, 20),
    retryBaseMs: wholeNumberFrom(10, 60_000),
    retryMaxMs: wholeNumberFrom(10, 300_000),
    flushMs: wholeNumberFrom(0, 30_000),
  },
)

export type WebhookOptions = t.TypeOf<typeof options>

const defaults = {
  allowPrivate: false,
  inFlight: 1,
  batchEvents: 100,
  batchMs: 200,
  maxQueue: 1000,
  whenFull: 'dropOldest',
  timeoutMs: 10_000,
  maxAttempts: 6,
  retryBaseMs: 500,
  retryMaxMs: 30_000,
  flushMs: 5000,
} as const satisfies Partial<WebhookOptions>

/**
 * Sends events by POST as JSON {DeliveryId, SessionId, Tenant, Project, Node, Sequence, Events}, the events as on the
 * wire. It never delays the session: events wait in a queue of `maxQueue` (and 16 MiB); those that do not fit are
 * dropped and reported. Batches leave in order, one request at a time, or up to 4 with `inFlight`.
 *
 * `X-Rxspeech-Signature: t=<seconds>,v1=<hex>` is HMAC-SHA256 of `<t>.<body>` with the secret resource `secret`;
 * `X-Rxspeech-Delivery` is the same in every attempt. A status of 2xx accepts the batch. After 408, 425, 429, 5xx, a
 * failed connection and a response that takes longer than `timeoutMs`, it is sent again, after exponential backoff with
 * full jitter from `retryBaseMs` to `retryMaxMs` and not before `Retry-After`. After any other status it is lost at
 * once. Redirects are not followed. Plain http is allowed to this machine only; private addresses only with
 * `allowPrivate`, which is checked for the address of the connection itself.
 *
 * Events: `Webhook Failed` {Reason, Attempts, Lost} once for each series of failures; `Webhook Ended` {Delivered, Lost}
 * at the end if any event was lost. At the end the remaining events are delivered within `flushMs`.
 */
export const webhook = defineNode({
  name: 'webhook',
  summary: 'Sends events to an https address, signed, in batches, with retries.',
  inputs: { events: 'event' },
  outputs: { events: 'event' },
  options,
  uses: ({ secret }) => [{ option: 'secret', resource: secret, kind: 'secret' }],
  open: (given, context) => openWebhook(given, context),
})

/** Network and random numbers, which tests replace. */
export interface WebhookTesting {
  readonly send: (request: WebhookRequest) => Observable<WebhookResponse>
  readonly random: () => number
  readonly newId: () => string
}

const production: WebhookTesting = {
  send: (request) => sendWebhook(request),
  random: Math.random,
  newId: randomUUID,
}

export const openWebhook = (
  given: WebhookOptions,
  context: NodeContext,
  { send, random, newId }: WebhookTesting = production,
): Node => {
  const { node, session, scheduler, log } = context
  const settings = { ...defaults, ...given }
  const secret = context.resource(given.secret)
  if (secret?.kind !== 'secret')
    throw new SpeechError('invalid-options', `${node} has no secret resource ${given.secret}.`)
  const url = new URL(given.url)
  return (input$) =>
    defer(() => {
      const agentOptions = { keepAlive: true, maxSockets: settings.inFlight }
      const agent = url.protocol === 'https:' ? new SecureAgent(agentOptions) : new Agent(agentOptions)
      let sequence = 0
      const bodyOf = (id: string, events: readonly string[]): string => {
        const { id: sessionId, tenant, project } = session
        sequence += 1
        const head = {
          DeliveryId: id,
          SessionId: sessionId,
          Tenant: tenant,
          Project: project,
          Node: node,
          Sequence: sequence,
        }
        return `${JSON.stringify(head).slice(0, -1)},"Events":[${events.join(',')}]}`
      }
      return runOutbox(input$, {
        settings,
        scheduler,
        encode: (event) => writeEventEnvelope(completeEventEnvelope(event)),
        deliver: (events) => {
          const id = newId()
          return deliver(bodyOf(id, events), id, {
            settings,
            secret: secret.reveal,
            send: (body, headers) => send({ url, body, headers, allowPrivate: settings.allowPrivate, agent }),
            random,
            scheduler,
          })
        },
      }).pipe(
        tap((item) => logLoss(item, node, log)),
        finalize(() => agent.destroy()),
      )
    })
}

const logLoss = (item: NodeItem, node: string, log: NodeContext['log']): void => {
  if (item.type !== 'event') return
  log(item.event.name === 'Webhook Ended' ? 'a webhook lost events' : 'a webhook failed', {
    node,
    ...(item.event.data as Readonly<Record<string, string | number>>),
  })
}
