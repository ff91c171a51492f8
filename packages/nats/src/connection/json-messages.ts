import { either } from 'fp-ts'
import type { Decoder } from 'io-ts'
import { filter, map, type Observable } from 'rxjs'
import { parseJson } from 'rxspeech/internal/protocol/parse-json'
import type { MessageBus } from './bus.js'

/**
 * The JSON messages of a subject that a codec accepts; others are ignored. Ends and fails as `messages` of the bus
 * does.
 */
export const jsonMessages = <A>(
  bus: Pick<MessageBus, 'messages'>,
  subject: string,
  codec: Decoder<unknown, A>,
): Observable<A> =>
  bus.messages(subject).pipe(
    map(({ payload }) => codec.decode(parseJson(Buffer.from(payload).toString()))),
    filter(either.isRight),
    map(({ right }) => right),
  )
