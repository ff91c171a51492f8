import * as t from 'io-ts'
import { flag, nodeOptions, oneOfWords, text, wholeNumberFrom } from '../core/node-options.js'
import { namesLoopback } from './address.js'

const isWebhookUrl = (value: unknown): value is string => {
  if (typeof value !== 'string' || value.length > 2048 || !URL.canParse(value)) return false
  const url = new URL(value)
  if (url.username !== '' || url.password !== '' || url.hash !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && namesLoopback(url))
}

const webhookUrl: t.Type<string, unknown> = new t.Type<string, unknown>(
  'an https address without user, password and fragment (http only for this machine)',
  isWebhookUrl,
  (input, context) => (isWebhookUrl(input) ? t.success(input) : t.failure(input, context)),
  (value) => value,
)

export const webhookOptions = nodeOptions(
  { url: webhookUrl, secret: text },
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

export type WebhookOptions = t.TypeOf<typeof webhookOptions>

/** What an option means that is left out. */
export const webhookDefaults = {
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

export type WebhookSettings = Required<WebhookOptions>
