import { defer, finalize, Subscription, type Observable } from 'rxjs'
import { toSpeechError } from '../errors/speech-error.js'
import type { Dial, Link } from '../transport/link.js'
import { dialMemory, type MemoryLinkOptions } from '../transport/memory/link.js'

/** The messages of the client to a scripted peer, and the peer's end of the link, to close or pause it. */
export interface ScriptedPeer<Heard, Said> {
  /** The messages of the client as they arrive; one subscriber. */
  readonly heard$: Observable<Heard>
  /** The peer's end of the link. */
  readonly link: Link<Heard, Said>
}

/**
 * Connects a session to a script instead of a service, for the `dial` option. `script` receives the peer's end and
 * returns the messages of the peer: completion ends the link normally, an error closes it with that error. The script
 * controls the time, so it can be a marble string. `options` are those of the link, such as its water marks; messages
 * that the script does not read count as not taken, so a script that never subscribes to `heard$` makes the link
 * congested.
 *
 * @example
 * const dial = scriptedDial<SocketMessage, SocketMessage>(({ heard$ }) => heard$.pipe(ignoreElements()))
 * audio$.pipe(recognize({ ...options, testing: { dial } })).subscribe({ error: console.error })
 */
export const scriptedDial =
  <Said, Heard>(
    script: (peer: ScriptedPeer<Heard, Said>) => Observable<Said>,
    options: MemoryLinkOptions = {},
  ): (() => Dial<Said, Heard>) =>
  () =>
    defer(() => {
      const life = new Subscription()
      const connected$ = dialMemory<Said, Heard>((link) => {
        const said$ = script({ heard$: link.incoming$, link })
        life.add(
          said$.subscribe({
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
