import { createHmac } from 'node:crypto'
import {
  catchError,
  defaultIfEmpty,
  defer,
  map,
  of,
  switchMap,
  takeLast,
  takeUntil,
  timer,
  type Observable,
  type SchedulerLike,
} from 'rxjs'
import { codeOf, isSpeechError } from 'rxspeech/internal/errors/speech-error'
import { backoffMs } from 'rxspeech/internal/kernel/backoff'
import { retryAfterMs } from 'rxspeech/internal/protocol/retry-after'
import type { WebhookResponse } from './request.js'

/** The result of a batch. The reason contains nothing of the address, the body or the response. */
export type Delivery =
  { readonly type: 'accepted' } | { readonly type: 'lost'; readonly reason: string; readonly attempts: number }

interface DeliverySettings {
  readonly timeoutMs: number
  readonly maxAttempts: number
  readonly retryBaseMs: number
  readonly retryMaxMs: number
}

export interface DeliveryContext {
  readonly settings: DeliverySettings
  readonly secret: () => string
  readonly send: (body: string, headers: Readonly<Record<string, string>>) => Observable<WebhookResponse>
  readonly random: () => number
  readonly scheduler: SchedulerLike
}

type Attempt =
  | { readonly type: 'accepted' }
  | { readonly type: 'failed'; readonly reason: string; readonly isRetryable: boolean; readonly waitMs: number }

/**
 * Sends a body until it is accepted, refused permanently, or given up, and emits the result once. Each attempt has its
 * own signature, which contains the time, and the same delivery id, by which a receiver recognizes a repeated batch.
 */
export const deliver = (body: string, id: string, context: DeliveryContext, attempt = 1): Observable<Delivery> =>
  attemptOnce(body, id, context).pipe(
    switchMap((outcome): Observable<Delivery> => {
      const { settings, random, scheduler } = context
      if (outcome.type === 'accepted') return of(outcome)
      const { reason, isRetryable, waitMs } = outcome
      if (!isRetryable || attempt >= settings.maxAttempts) return of({ type: 'lost', reason, attempts: attempt })
      const backoff = { firstDelayMs: settings.retryBaseMs, maxDelayMs: settings.retryMaxMs }
      return timer(Math.max(backoffMs(backoff, attempt, random), waitMs), scheduler).pipe(
        switchMap(() => deliver(body, id, context, attempt + 1)),
      )
    }),
  )

const attemptOnce = (
  body: string,
  id: string,
  { settings, secret, send, scheduler }: DeliveryContext,
): Observable<Attempt> => {
  // The time limit covers the status and the rest of the response; a status that arrived counts.
  const response$ = defer(() =>
    send(body, {
      'Content-Type': 'application/json',
      'User-Agent': 'rxspeech',
      'X-Rxspeech-Delivery': id,
      'X-Rxspeech-Signature': signatureOf(secret(), Math.floor(scheduler.now() / 1000), body),
    }),
  ).pipe(takeUntil(timer(settings.timeoutMs, scheduler)))
  return response$.pipe(
    map(({ status, retryAfter }): Attempt => {
      if (status >= 200 && status < 300) return { type: 'accepted' }
      const waitMs = requestedWaitMs(retryAfter, scheduler.now()) ?? 0
      return { type: 'failed', reason: `status ${status}`, isRetryable: isRetryableStatus(status), waitMs }
    }),
    defaultIfEmpty<Attempt, Attempt>({ type: 'failed', reason: 'timeout', isRetryable: true, waitMs: 0 }),
    catchError((error: unknown) => of(failureOf(error))),
    // Waits for the end of the response, because its connection is in use until then.
    takeLast(1),
  )
}

const failureOf = (error: unknown): Attempt => {
  const reason = codeOf(error) ?? 'failed'
  return { type: 'failed', reason, isRetryable: !(isSpeechError(error) && error.code === 'refused'), waitMs: 0 }
}

/** Whether the receiver may accept the same request later: it is overloaded, failing or too slow. */
const isRetryableStatus = (status: number): boolean =>
  status === 408 || status === 425 || status === 429 || status >= 500

/** The longest wait that a receiver can ask for. */
const maxRetryAfterMs = 300_000

/** The wait of a `Retry-After` header, bounded; undefined without a valid one. */
export const requestedWaitMs = (header: string | undefined, nowMs: number): number | undefined => {
  const waitMs = retryAfterMs(header, nowMs)
  return waitMs === undefined ? undefined : Math.min(waitMs, maxRetryAfterMs)
}

/** `X-Rxspeech-Signature`: the time in seconds, and HMAC-SHA256 of `<t>.<body>` in hexadecimal. */
const signatureOf = (secret: string, timeSeconds: number, body: string): string =>
  `t=${timeSeconds},v1=${createHmac('sha256', secret).update(`${timeSeconds}.${body}`).digest('hex')}`
