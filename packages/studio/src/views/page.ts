/** The element with an id; the page is built with it. */
export const element = (id: string): HTMLElement => elementOf(HTMLElement, id)

/** The same of a kind. */
export const elementOf = <E extends HTMLElement>(kind: new () => E, id: string): E => {
  const found = document.getElementById(id)
  if (!(found instanceof kind)) throw new Error(`The page has no ${kind.name} #${id}.`)
  return found
}

/** Creates an element. */
export const create = <K extends keyof HTMLElementTagNameMap>(
  name: K,
  fields: { readonly className?: string; readonly text?: string } = {},
  ...children: readonly Node[]
): HTMLElementTagNameMap[K] => {
  const created = document.createElement(name)
  if (fields.className !== undefined) created.className = fields.className
  if (fields.text !== undefined) created.textContent = fields.text
  created.append(...children)
  return created
}

/** Changes the page only if the text differs, so that screen readers and layout are left alone. */
export const setText = (target: HTMLElement, text: string): void => {
  if (target.textContent !== text) target.textContent = text
}

/** The items of a description list: values are replaced in place, so that only what changes is laid out again. */
export const setList = (list: HTMLElement, entries: readonly (readonly [name: string, value: string])[]): void => {
  if (list.children.length !== entries.length) {
    list.replaceChildren(...entries.map(([name]) => create('div', {}, create('dt', { text: name }), create('dd'))))
  }
  for (const [index, [name, value]] of entries.entries()) {
    const [term, description] = list.children[index]?.children ?? []
    if (term instanceof HTMLElement) setText(term, name)
    if (description instanceof HTMLElement) setText(description, value)
  }
}
