import type { Unsubscribable } from 'rxjs'
import type { Link } from 'rxspeech/internal/transport/link'

/**
 * Sends messages that are made of those of another link, which is not read while they wait: audio from a socket to a
 * conversation, and results the other way. Unread results then end the conversation as on the recognition socket.
 */
export const pacedSender = <Message>(
  to: Pick<Link<unknown, Message>, 'send' | 'isCongested' | 'drain$'>,
  from: Pick<Link<unknown, unknown>, 'pause' | 'resume'>,
): ((message: Message) => void) => {
  let waiting: Unsubscribable | undefined
  return (message) => {
    to.send(message)
    if (waiting !== undefined || !to.isCongested) return
    from.pause()
    waiting = to.drain$.subscribe({
      complete: () => {
        waiting = undefined
        from.resume()
      },
    })
  }
}
