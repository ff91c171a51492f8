import { Subscription } from 'rxjs'
import type { StudioConfig } from '../session/config.js'
import { renderOperations, watchOperations } from './operations-view.js'
import { element } from './page.js'

/** Shows the session, or at `#sessions` the operations of the service, whose metrics it then watches. */
export class Navigation {
  readonly #config: () => StudioConfig | undefined
  #operations = new Subscription()

  constructor(config: () => StudioConfig | undefined) {
    this.#config = config
    window.addEventListener('hashchange', () => this.show())
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.show()
    })
  }

  show(): void {
    const isOperations = location.hash === '#sessions'
    for (const id of ['session-view', 'controls', 'choices']) element(id).hidden = isOperations
    element('operations-view').hidden = !isOperations
    for (const [id, isCurrent] of [
      ['nav-session', !isOperations],
      ['nav-operations', isOperations],
    ] as const) {
      if (isCurrent) element(id).setAttribute('aria-current', 'page')
      else element(id).removeAttribute('aria-current')
    }
    this.#operations.unsubscribe()
    const config = this.#config()
    if (!isOperations || config === undefined) return
    this.#operations = watchOperations(config.metrics, () => !document.hidden).subscribe(renderOperations)
  }
}
