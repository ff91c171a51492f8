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
import { isSpeechError } from '../../../errors/speech-error.js'
import { backoffMs } from '../../../kernel/backoff.js'
import type { WebhookSettings } from './options.js'
import type { WebhookAnswer } from './request.js'
import { askedWaitMs, mayRetry } from './retry.js'
import { signatureOf } from './signature.js'

/** What became of a batch. The reason has nothing of the address, the body or the answer. */
export type Delivery =
  { readonly type: 'accepted' } | { readonly type: 'lost'; readonly reason: string; readonly attempts: number }

export interface DeliveryContext {
  readonly terms: WebhookSettings
  readonly secret: () => string
  readonly send: (body: string, headers: Readonly<Record<string, string>>) => Observable<WebhookAnswer>
  readonly random: () => number
  readonly scheduler: SchedulerLike
}

type Attempt =
  | { readonly type: 'accepted' }
  | { readonly type: 'failed'; readonly reason: string; readonly retry: boolean; readonly waitMs: number | undefined }

/**
 * Sends a body until it is accepted, refused for good, or given up; emits once. Each attempt is signed anew, for its time
 * is part of the signature, and has the same delivery id, by which a receiver knows what it has already.
 */
export const deliver = (body: string, id: string, context: DeliveryContext, attempt = 1): Observable<Delivery> =>
  attemptOnce(body, id, context).pipe(
    switchMap((outcome): Observable<Delivery> => {
      const { terms, random, scheduler } = context
      if (outcome.type === 'accepted') return of(outcome)
      const { reason, retry, waitMs = 0 } = outcome
      if (!retry || attempt >= terms.maxAttempts) return of({ type: 'lost', reason, attempts: attempt })
      const pauseMs = backoffMs({ firstDelayMs: terms.retryBaseMs, maxDelayMs: terms.retryMaxMs }, attempt, random)
      return timer(Math.max(pauseMs, waitMs), scheduler).pipe(switchMap(() => deliver(body, id, context, attempt + 1)))
    }),
  )

const attemptOnce = (
  body: string,
  id: string,
  { terms, secret, send, scheduler }: DeliveryContext,
): Observable<Attempt> => {
  // The time is for the status and for the rest of the answer; a status that is there counts.
  const answer$ = defer(() =>
    send(body, {
      'Content-Type': 'application/json',
      'User-Agent': 'rxspeech',
      'X-Rxspeech-Delivery': id,
      'X-Rxspeech-Signature': signatureOf(secret(), Math.floor(scheduler.now() / 1000), body),
    }),
  ).pipe(takeUntil(timer(terms.timeoutMs, scheduler)))
  return answer$.pipe(
    map(({ status, retryAfter }): Attempt => {
      if (status >= 200 && status < 300) return { type: 'accepted' }
      const waitMs = askedWaitMs(retryAfter, scheduler.now())
      return { type: 'failed', reason: `status ${status}`, retry: mayRetry(status), waitMs }
    }),
    defaultIfEmpty<Attempt, Attempt>({ type: 'failed', reason: 'timeout', retry: true, waitMs: undefined }),
    catchError((error: unknown) => of(failureOf(error))),
    // Once it is over: until then its connection is in use.
    takeLast(1),
  )
}

const failureOf = (error: unknown): Attempt => {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'failed'
  return { type: 'failed', reason: code, retry: !(isSpeechError(error) && error.code === 'refused'), waitMs: undefined }
}
