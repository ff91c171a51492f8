import { Subject } from 'rxjs'

const channelName = 'rxspeech-studio-library'
const lockPrefix = 'rxspeech-studio-session-'

/** The other tabs of the page in this browser: what they changed, and which sessions run in them. */
export class Tabs {
  readonly #changed = new Subject<void>()
  readonly #channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel(channelName) : undefined
  /** Emits when another tab has changed the sessions. */
  readonly changed$ = this.#changed.asObservable()

  constructor() {
    this.#channel?.addEventListener('message', () => this.#changed.next())
  }

  announce(): void {
    this.#channel?.postMessage('changed')
  }

  /** Marks a session as running until the returned function is called, or the tab closes. */
  hold(id: string): () => void {
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    // A page without a secure origin has no locks: there a session of another tab is taken for one that was interrupted.
    if ('locks' in navigator) void navigator.locks.request(`${lockPrefix}${id}`, () => held)
    return release
  }

  /** The sessions that run in any tab. */
  async held(): Promise<ReadonlySet<string>> {
    const { held = [] } = 'locks' in navigator ? await navigator.locks.query() : {}
    return new Set(
      held.flatMap(({ name = '' }) => (name.startsWith(lockPrefix) ? [name.slice(lockPrefix.length)] : [])),
    )
  }
}
