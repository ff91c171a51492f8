type Method = (this: unknown, ...given: readonly unknown[]) => unknown

/** The methods that read a text, with the text that each reads. */
const readers: readonly (readonly [
  prototype: object,
  name: string,
  textOf: (self: unknown, given: unknown) => unknown,
])[] = [
  ...Object.getOwnPropertyNames(String.prototype)
    .filter((name) => name !== 'constructor' && name !== 'toString' && name !== 'valueOf' && name !== 'length')
    .map((name) => [String.prototype, name, (self: unknown) => self] as const),
  ...['exec', 'test'].map((name) => [RegExp.prototype, name, (_self: unknown, given: unknown) => given] as const),
]

/**
 * Counts the characters of the texts whose methods `act` calls. JavaScript copies a text that was joined from parts as
 * soon as a method reads it, so each call costs as much as the text is long.
 */
export const readCharacters = (act: () => void): number => {
  let count = 0
  const restore = readers.map(([prototype, name, textOf]) => {
    const original = Reflect.get(prototype, name) as Method
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name)
    Reflect.defineProperty(prototype, name, {
      ...descriptor,
      value(this: unknown, ...given: readonly unknown[]): unknown {
        const text = textOf(this, given[0])
        if (typeof text === 'string') count += text.length
        return Reflect.apply(original, this, given)
      },
    })
    return () => Reflect.defineProperty(prototype, name, descriptor ?? {})
  })
  try {
    act()
  } finally {
    for (const undo of restore) undo()
  }
  return count
}
