import { defer, finalize, Subscription, type Observable } from 'rxjs'
import { toSpeechError } from '../errors/speech-error.js'
import { checkOptions } from '../protocol/validation.js'
import type { Dial, Link } from '../transport/link.js'
import { dialMemory, memoryLinkOptions, type MemoryLinkOptions } from '../transport/memory/link.js'

/** The messages of the client to a scripted peer, and the peer's end of the link, to close or pause it. */
export interface ScriptedPeer<Received, Sent> {
  /** The messages of the client as they arrive; one subscriber. */
  readonly received$: Observable<Received>
  /** The peer's end of the link. */
  readonly link: Link<Received, Sent>
}

/**
 * Connects a session to a script instead of a service, for the `dial` option. `script` receives the peer's end and
 * returns the messages of the peer: completion ends the link normally, an error closes it with that error. The script
 * controls the time, so it can be a marble string. `options` are those of the link, such as its water marks; messages
 * that the script does not read count as not taken, so a script that never subscribes to `received$` makes the link
 * congested.
 *
 * @example
 * const dial = scriptedDial<SocketMessage, SocketMessage>(({ received$ }) => received$.pipe(ignoreElements()))
 * audio$.pipe(recognize({ ...options, testing: { dial } })).subscribe({ error: console.error })
 */
export const scriptedDial = <Sent, Received>(
  script: (peer: ScriptedPeer<Received, Sent>) => Observable<Sent>,
  options: MemoryLinkOptions = {},
): (() => Dial<Sent, Received>) => {
  checkOptions(memoryLinkOptions, options)
  return () =>
    defer(() => {
      const life = new Subscription()
      const connected$ = dialMemory<Sent, Received>((link) => {
        const sent$ = script({ received$: link.incoming$, link })
        life.add(
          sent$.subscribe({
            next: (message) => {
              link.send(message)
            },
            complete: () => {
              link.close()
            },
            error: (error: unknown) => {
              link.close(toSpeechError(error, 'internal', 'The script failed.'))
            },
          }),
        )
      }, options)
      return connected$.pipe(
        finalize(() => {
          life.unsubscribe()
        }),
      )
    })
}
