import type { CustomNodeSource } from '../../service/custom-nodes/custom-node-source.js'
import { textFlag } from './flag-values.js'

/** What looks like a path is one: it begins with a dot or a slash, or ends as JavaScript does. */
const isFile = (text: string): boolean => /^[./]|^[A-Za-z]:[\\/]|\.[cm]?js$/.test(text)

/** The values of `--nodes`: files, and packages that are installed where the command is run. Throws `invalid-options`. */
export const customNodes = (values: readonly string[] = []): readonly CustomNodeSource[] =>
  values.map((value) => {
    const name = textFlag('--nodes', value) ?? value
    return isFile(name) ? { file: name } : { package: name }
  })
