import { from, Subscription, switchMap } from 'rxjs'
import { isForOperators, type StudioConfig } from '../session/config.js'
import { element, setText } from './page.js'

/** What the page shows, as its address says after `#`. */
export type Screen = { readonly type: 'start' | 'operations' } | { readonly type: 'session'; readonly id: string }

export const screenOf = (hash: string): Screen => {
  if (hash === '#sessions') return { type: 'operations' }
  const id = /^#transcript=(\w+(?:-\w+)*)$/.exec(hash)?.[1]
  return id === undefined ? { type: 'start' } : { type: 'session', id }
}

export const showSession = ({ id }: { readonly id: string }): void => {
  location.hash = `#transcript=${id}`
}

export const showStart = (): void => {
  location.hash = ''
}

/** Shows one screen; watches the metrics of the service while that of its operations is shown. */
export class Navigation {
  readonly #config: () => StudioConfig | undefined
  readonly #changed: (screen: Screen) => void
  #operations = new Subscription()

  constructor(config: () => StudioConfig | undefined, changed: (screen: Screen) => void) {
    this.#config = config
    this.#changed = changed
    window.addEventListener('hashchange', () => this.show())
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.show()
    })
  }

  get screen(): Screen {
    return this.#isForOperators ? { type: 'operations' } : screenOf(location.hash)
  }

  get #isForOperators(): boolean {
    const config = this.#config()
    return config !== undefined && isForOperators(config)
  }

  /** Also when the configuration has arrived. */
  show(): void {
    const { screen } = this
    for (const type of ['start', 'session', 'operations'] as const) {
      element(`${type}-view`).hidden = type !== screen.type
    }
    document.body.classList.toggle('operations', screen.type === 'operations')
    for (const id of ['nav-session', 'help']) element(id).hidden = this.#isForOperators
    for (const [id, isCurrent] of [
      ['nav-session', screen.type !== 'operations'],
      ['nav-operations', screen.type === 'operations'],
      ['new', screen.type === 'start'],
    ] as const) {
      if (isCurrent) element(id).setAttribute('aria-current', 'page')
      else element(id).removeAttribute('aria-current')
    }
    this.#operations.unsubscribe()
    const config = this.#config()
    this.#changed(screen)
    if (screen.type !== 'operations' || config === undefined) return
    // Its charts are loaded when they are shown for the first time.
    this.#operations = from(import('../operations/operations.js'))
      .pipe(switchMap(({ showOperations }) => showOperations(config, () => !document.hidden)))
      .subscribe({
        error: () => {
          element('operations-error').hidden = false
          setText(element('operations-error'), 'This part of the page could not be loaded. Reload the page.')
        },
      })
  }
}
