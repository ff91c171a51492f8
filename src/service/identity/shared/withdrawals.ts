import { either } from 'fp-ts'
import * as t from 'io-ts'
import { filter, map, type Observable } from 'rxjs'
import type { MessageBus } from '../../nats/bus.js'

/** What takes rights away: a revoked token, or a cancelled client. Neither is ever taken back. */
export type Withdrawal = { readonly tokenId: string; readonly untilMs: number } | { readonly clientId: string }

/** What the processes of one bucket tell each other beside it. */
export interface WithdrawalNews {
  /** Tells all others, at most once; nothing waits for an answer. */
  readonly tell: (withdrawal: Withdrawal) => void
  /** Those of the others, and perhaps own ones. Never completes; fails with `refused` if NATS does not allow the subject. */
  readonly heard$: Observable<Withdrawal>
}

const codec = t.intersection([
  t.type({ v: t.literal(1) }),
  t.union([t.type({ tokenId: t.string, untilMs: t.number }), t.type({ clientId: t.string })]),
])

/** The news of a bucket, as messages of its own subject. */
export const withdrawalNews = (bus: Pick<MessageBus, 'publish' | 'messages'>, bucket: string): WithdrawalNews => {
  const subject = `rxspeech.identity.${bucket}.withdrawn`
  return {
    tell: (withdrawal) => {
      bus.publish(subject, JSON.stringify({ v: 1, ...withdrawal }))
    },
    heard$: bus.messages(subject).pipe(
      map(({ payload }) => codec.decode(parse(payload))),
      filter(either.isRight),
      map(({ right }) => right),
    ),
  }
}

const parse = (payload: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(payload).toString()) as unknown
  } catch {
    return undefined
  }
}
