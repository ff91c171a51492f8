import { plainText } from '../view/plain-text.js'

/** Whether it is the address of a recording. */
export const isAddress = (typed: string): boolean => /^https?:\/\//i.test(typed) && URL.canParse(typed)

/**
 * How messages name the input. A file name may have any characters, also such that a terminal would execute; the query of
 * an address may be a secret.
 */
export const inputName = (file: string): string => {
  if (file === '-') return 'Standard input'
  if (!isAddress(file)) return plainText(file)
  const { origin, pathname } = new URL(file)
  return plainText(origin + pathname)
}
