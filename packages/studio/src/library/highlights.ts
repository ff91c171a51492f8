import type { Hit } from './search.js'

const names = { all: 'search-hits', current: 'search-hit' } as const

/**
 * Marks the words of hits in the captions, without elements of its own: as ranges of text, because the captions replace
 * the elements of a line that comes into view or leaves it.
 */
export class Highlights {
  readonly #captions: HTMLElement
  readonly #observer: MutationObserver
  #hits: readonly Hit[] = []
  #current: Hit | undefined

  constructor(captions: HTMLElement) {
    this.#captions = captions
    this.#observer = new MutationObserver(() => this.#mark())
  }

  show(hits: readonly Hit[], current: Hit | undefined): void {
    this.#hits = hits
    this.#current = current
    this.#observer.disconnect()
    if (hits.length > 0) this.#observer.observe(this.#captions, { childList: true, subtree: true })
    this.#mark()
  }

  #mark(): void {
    // Browsers from before 2025 have no such marks; the hits are still counted, and scrolled to.
    if (!('highlights' in CSS)) return
    const paragraphs = new Map(
      [...this.#captions.querySelectorAll<HTMLElement>('[data-line]')].map((each) => [
        Number(each.dataset['line']),
        each,
      ]),
    )
    const [all, current] = [new Highlight(), new Highlight()]
    for (const hit of this.#hits) {
      const range = rangeOf(hit, paragraphs.get(hit.line))
      if (range !== undefined) (hit === this.#current ? current : all).add(range)
    }
    CSS.highlights.set(names.all, all)
    CSS.highlights.set(names.current, current)
  }
}

/** Of a line far from the view there are no words, and no range. */
const rangeOf = ({ fromWord, toWord }: Hit, paragraph: HTMLElement | undefined): Range | undefined => {
  const from = paragraph?.querySelector(`[data-word="${fromWord}"]`)
  const to = paragraph?.querySelector(`[data-word="${toWord}"]`)
  if (!from || !to) return undefined
  const range = document.createRange()
  range.setStart(from, 0)
  range.setEnd(to, to.childNodes.length)
  return range
}
