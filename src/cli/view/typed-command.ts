import { isAbsolute, relative } from 'node:path'

/** A word, quoted for a shell where needed. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

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
