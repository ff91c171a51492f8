import { element, elementOf, setText } from '../views/page.js'

/** A short text that a person changes: a word, a name, a title. */
export interface TextEdit {
  /** What is changed, as its label. */
  readonly label: string
  readonly value: string
  /** What else a person should know. */
  readonly hint: string
  /** The element beside which the editor opens, and which gets the focus back if it can have it. */
  readonly at: HTMLElement
  readonly save: (text: string) => void
  /** Takes the change back; absent if there is none. */
  readonly putBack?: { readonly text: string; readonly act: () => void } | undefined
}

/** One small form for all of them: Enter saves, Escape and a click elsewhere leave it as it was. */
export class TextEditor {
  readonly #editor = element('editor')
  readonly #form = elementOf(HTMLFormElement, 'editor-form')
  readonly #input = elementOf(HTMLInputElement, 'editor-text')
  readonly #putBack = element('editor-put-back')
  #edit: TextEdit | undefined

  constructor() {
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault()
      this.#close((edit) => {
        if (this.#input.value.trim() !== edit.value) edit.save(this.#input.value)
      })
    })
    this.#putBack.addEventListener('click', () => this.#close(({ putBack }) => putBack?.act()))
    element('editor-cancel').addEventListener('click', () => this.#close(() => undefined))
    window.addEventListener('resize', () => {
      if (this.#edit !== undefined) this.#place(this.#edit.at)
    })
    this.#editor.addEventListener('toggle', () => {
      if (!this.#editor.matches(':popover-open')) this.#edit = undefined
    })
    // The keys of the page are not for what is typed here.
    this.#editor.addEventListener('keydown', (event) => event.stopPropagation())
  }

  open(edit: TextEdit): void {
    const { label, value, hint, at, putBack } = edit
    this.#edit = edit
    setText(element('editor-label'), label)
    setText(element('editor-hint'), hint)
    setText(this.#putBack, putBack?.text ?? '')
    this.#putBack.hidden = putBack === undefined
    this.#input.value = value
    this.#editor.showPopover()
    this.#place(at)
    this.#input.focus()
    this.#input.select()
  }

  /** Below the element, or above it; in the middle of the page if that is no longer there. */
  #place(at: HTMLElement): void {
    const { left, bottom, top } = at.isConnected
      ? at.getBoundingClientRect()
      : new DOMRect(innerWidth / 3, innerHeight / 3)
    const { offsetWidth, offsetHeight, style } = this.#editor
    const isBelow = bottom + offsetHeight + 8 < innerHeight
    style.left = `${Math.max(8, Math.min(left, innerWidth - offsetWidth - 8))}px`
    style.top = `${Math.max(8, isBelow ? bottom + 4 : top - offsetHeight - 4)}px`
  }

  #close(act: (edit: TextEdit) => void): void {
    const edit = this.#edit
    this.#editor.hidePopover()
    if (edit === undefined) return
    act(edit)
    edit.at.focus()
  }
}
