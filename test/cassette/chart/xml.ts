/** Checks XML as far as an SVG needs it: every tag is closed, attributes are quoted, no bare `<` or `&` in text. */
export class XMLParser {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  read(): void {
    const open: string[] = []
    const token = /<(\/?)([a-z]+)((?: [a-zA-Z0-9:-]+="[^"<&]*(?:&#\d+;[^"<&]*)*")*)(\/?)>|([^<]+)/gy
    let end = 0
    for (let match = token.exec(this.#text); match !== null; match = token.exec(this.#text)) {
      end = token.lastIndex
      const [, closing, name = '', , selfClosing, text] = match
      if (text !== undefined) {
        if (/&(?!#\d+;)/.test(text)) throw new Error(`A bare & in: ${text}`)
      } else if (closing === '/') {
        if (open.pop() !== name) throw new Error(`</${name}> closes another element.`)
      } else if (selfClosing !== '/') open.push(name)
    }
    if (end !== this.#text.length) throw new Error(`No XML from ${String(end)}: ${this.#text.slice(end, end + 80)}`)
    if (open.length > 0) throw new Error(`Not closed: ${open.join(', ')}`)
  }
}
