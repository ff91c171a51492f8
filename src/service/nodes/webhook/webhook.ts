import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import { Agent as SecureAgent } from 'node:https'
import { defer, finalize, tap, type Observable } from 'rxjs'
import { SpeechError } from '../../../errors/speech-error.js'
import { completeEventEnvelope, writeEventEnvelope } from '../../../protocol/dataflow-events.js'
import { defineNode } from '../core/define-node.js'
import type { Node, NodeContext, NodeItem } from '../core/node.js'
import { deliver } from './delivery.js'
import { webhookDefaults, webhookOptions, type WebhookOptions, type WebhookSettings } from './options.js'
import { runOutbox } from './outbox.js'
import { sendWebhook, type WebhookAnswer, type WebhookRequest } from './request.js'

/** What a webhook takes from outside, so that tests can be without network and chance. */
export interface WebhookSeams {
  readonly send: (request: WebhookRequest) => Observable<WebhookAnswer>
  readonly random: () => number
  readonly newId: () => string
}

const seams: WebhookSeams = { send: (request) => sendWebhook(request), random: Math.random, newId: randomUUID }

/**
 * Sends the events to an address as POST of JSON {DeliveryId, SessionId, Tenant, Project, Node, Sequence, Events}, the
 * events as they are on the wire. Never holds up the session: events wait in a queue of `maxQueue` (and 16 MiB), and
 * what does not fit is dropped and told. In order, one request at a time (with `inFlight` up to 4, sent in order).
 *
 * `X-Rxspeech-Signature: t=<seconds>,v1=<hex>` is HMAC-SHA256 of `<t>.<body>` with the secret resource `secret`;
 * `X-Rxspeech-Delivery` stays the same in every attempt. Accepted is a status of 2xx. Tried again, after a pause that
 * grows from `retryBaseMs` to `retryMaxMs` and is drawn from its whole length, or as `Retry-After` says, are 408, 425, 429,
 * 5xx, a failed connection and an answer that takes longer than `timeoutMs`; all else is lost at once. Redirects are not
 * followed. https only, but for this machine; private addresses only with `allowPrivate`, asked of the very address that
 * is connected to.
 *
 * Events: `Webhook Failed` {Reason, Attempts, Lost} once for each row of failures, `Webhook Ended` {Delivered, Lost} at
 * the end where any were lost. At the end the rest is delivered, for at most `flushMs`.
 */
export const webhook = defineNode({
  name: 'webhook',
  summary: 'Sends events to an https address, signed, in batches, with retries.',
  inputs: { events: 'event' },
  outputs: { events: 'event' },
  options: webhookOptions,
  uses: ({ secret }) => [{ option: 'secret', resource: secret, kind: 'secret' }],
  open: (given, context) => openWebhook(given, context, seams),
})

export const openWebhook = (
  given: WebhookOptions,
  context: NodeContext,
  { send, random, newId }: WebhookSeams,
): Node => {
  const { node, session, scheduler, log } = context
  const terms: WebhookSettings = { ...webhookDefaults, ...given }
  const secret = context.resource(given.secret)
  if (secret?.kind !== 'secret')
    throw new SpeechError('invalid-options', `${node} has no secret resource ${given.secret}.`)
  const url = new URL(given.url)
  return (input$) =>
    defer(() => {
      const agentOptions = { keepAlive: true, maxSockets: terms.inFlight }
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
        terms,
        scheduler,
        encode: (event) => writeEventEnvelope(completeEventEnvelope(event)),
        deliver: (events) => {
          const id = newId()
          return deliver(bodyOf(id, events), id, {
            terms,
            secret: secret.reveal,
            send: (body, headers) => send({ url, body, headers, allowPrivate: terms.allowPrivate, agent }),
            random,
            scheduler,
          })
        },
      }).pipe(
        tap((item) => {
          noteLoss(item, node, log)
        }),
        finalize(() => {
          agent.destroy()
        }),
      )
    })
}

const noteLoss = (item: NodeItem, node: string, log: NodeContext['log']): void => {
  if (item.type !== 'event') return
  log(item.event.name === 'Webhook Ended' ? 'a webhook lost events' : 'a webhook failed', {
    node,
    ...(item.event.data as Readonly<Record<string, string | number>>),
  })
}
