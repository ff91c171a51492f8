import { isAbsolute, relative } from 'node:path'

/** The name of a file as a word of a shell, quoted where needed; with a leading `-` it is no option. */
export const shellWord = (name: string): string => {
  const text = name.startsWith('-') ? `./${name}` : name
  if (/^[\w./:@%+=-]+$/.test(text)) return text
  if (!/\p{Cc}/u.test(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`
  const escaped = text.replace(/['\\]/g, String.raw`\$&`).replace(/\p{Cc}/gu, hexEscape)
  return `$'${escaped}'`
}

const hexEscape = (control: string): string =>
  Array.from(Buffer.from(control), (byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('')

/** A path as a person would type it: from the folder, if that is shorter. */
export const shortPath = (path: string, folder: string): string => {
  const fromFolder = relative(folder, path)
  return fromFolder.length < path.length && !isAbsolute(fromFolder) ? fromFolder : path
}

/**
 * How to run the program again: with npx if npm says that it runs a command of a package, or `npm start` of a checkout.
 */
export const programOf = (env: Readonly<Record<string, string | undefined>>, hasServicePackage: boolean): string => {
  if (env['npm_command'] === 'start') return 'npx rxspeech'
  if (env['npm_command'] !== 'exec') return 'rxspeech'
  return hasServicePackage ? 'npx rxspeech-service' : 'npx rxspeech'
}
