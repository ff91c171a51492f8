import * as t from 'io-ts'
import type { Observable } from 'rxjs'
import type { MessageBus } from '../connection/bus.js'
import { jsonMessages } from '../connection/json-messages.js'

/** What takes rights away: a revoked token, or a cancelled client. Neither is ever taken back. */
export type Withdrawal = { readonly tokenId: string; readonly untilMs: number } | { readonly clientId: string }

/** Exchanges withdrawals between the processes of one bucket, beside the bucket. */
export interface WithdrawalExchange {
  /** Sends it to all others, at most once; nothing waits for an answer. */
  readonly publish: (withdrawal: Withdrawal) => void
  /**
   * Those of the others, and perhaps own ones. Never completes; fails with `refused` if NATS does not allow the
   * subject.
   */
  readonly received$: Observable<Withdrawal>
}

/** The id of a token is kept, so not of any length. */
const tokenId = t.refinement(t.string, ({ length }) => length <= 1_024, 'id of a token')
const codec = t.intersection([
  t.type({ v: t.literal(1) }),
  t.union([t.type({ tokenId, untilMs: t.number }), t.type({ clientId: t.string })]),
])

/** The exchange of a bucket, by messages of its own subject. */
export const createWithdrawalExchange = (
  bus: Pick<MessageBus, 'publish' | 'messages'>,
  bucket: string,
): WithdrawalExchange => {
  const subject = `rxspeech.identity.${bucket}.withdrawn`
  return {
    publish: (withdrawal) => {
      bus.publish(subject, JSON.stringify({ v: 1, ...withdrawal }))
    },
    received$: jsonMessages(bus, subject, codec),
  }
}
