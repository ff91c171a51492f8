import { defer, finalize, Subscription, type Observable } from 'rxjs'
import { toSpeechError } from '../errors/speech-error.js'
import type { Dial, Link } from '../transport/link.js'
import { dialMemory, type MemoryLinkOptions } from '../transport/memory/link.js'

/** What a scripted peer hears from the client, and its end of the link, to close or pause it. */
export interface ScriptedPeer<Heard, Said> {
  /** What the client says, as it comes; one subscriber. */
  readonly heard$: Observable<Heard>
  readonly link: Link<Heard, Said>
}

/**
 * Connects a session to a script instead of a service, for the `dial` option. `script` gets the peer's end and returns
 * what the peer says: completion of that ends the link in good order, an error closes it as that error says. Time is
 * the script's own, so a marble string can be one. `options` are those of the link, such as its water marks; what the
 * script does not read counts as not taken, so a script that never listens to `heard$` makes the link congested.
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
