import { element, setText } from '../views/page.js'

/** A sentence stays this long; longer while it has the focus. */
const shownMs = 10_000
const maxUndos = 100

/** A sentence at the lower edge of the page about what was just done, and what takes it and earlier changes back. */
export class Toast {
  readonly #toast = element('toast')
  readonly #text = element('toast-text')
  readonly #button = element('toast-undo')
  readonly #undos: (() => void)[] = []
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor() {
    this.#button.addEventListener('click', () => this.undo())
    element('toast-close').addEventListener('click', () => this.#hide())
    this.#toast.addEventListener('focusin', () => clearTimeout(this.#timer))
    this.#toast.addEventListener('focusout', () => this.#hideLater())
  }

  /** @param undo takes back what was done; absent if nothing was */
  show(sentence: string, undo?: () => void): void {
    if (undo !== undefined) this.#undos.push(undo)
    if (this.#undos.length > maxUndos) this.#undos.shift()
    this.#button.hidden = undo === undefined
    this.#toast.hidden = false
    setText(this.#text, sentence)
    this.#hideLater()
  }

  /** Takes the newest change back. Returns whether there was one. */
  undo(): boolean {
    const undo = this.#undos.pop()
    if (undo === undefined) return false
    this.show('Undone.')
    undo()
    return true
  }

  #hideLater(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#hide(), shownMs)
  }

  #hide(): void {
    clearTimeout(this.#timer)
    this.#toast.hidden = true
    setText(this.#text, '')
  }
}
