// @ts-check

/**
 * What the checks share; the tarball and the projects come into being as the checks go on.
 *
 * @typedef {object} PackContext
 * @property {string} root the repository
 * @property {string} scratch a folder that is deleted at the end
 * @property {Manifest} manifest
 * @property {ReadonlyArray<Door>} doors
 * @property {string | undefined} tarball
 * @property {boolean} installed
 *
 * @typedef {object} Door
 * @property {string} specifier as users write it
 * @property {string} key in `exports`
 *
 * @typedef {object} Manifest
 * @property {string} name
 * @property {string} version
 * @property {string} license
 * @property {Readonly<Record<string, unknown>>} exports
 * @property {Readonly<Record<string, Readonly<Record<string, ReadonlyArray<string>>>>>} typesVersions
 * @property {Readonly<Record<string, string>>} bin
 * @property {Readonly<Record<string, string>>} engines
 * @property {unknown} sideEffects
 * @property {string} main
 * @property {string} module
 * @property {string} types
 * @property {Readonly<Record<string, string>>} dependencies
 * @property {Readonly<Record<string, string>>} peerDependencies
 * @property {Readonly<Record<string, string>>} optionalDependencies
 * @property {Readonly<Record<string, string>>} devDependencies
 *
 * @typedef {object} Check
 * @property {string} name
 * @property {(context: PackContext) => Promise<string>} run resolves with what is worth telling; an error is a failure
 */

/**
 * The doors of the package: every entry of `exports` that is code.
 *
 * @param {Manifest} manifest
 * @returns {Door[]}
 */
export const doorsOf = (manifest) =>
  Object.keys(manifest.exports)
    .filter((key) => !key.endsWith('.json'))
    .map((key) => ({ key, specifier: key === '.' ? manifest.name : `${manifest.name}${key.slice(1)}` }))

/**
 * @param {PackContext} context
 * @returns {string}
 */
export const tarballOf = ({ tarball }) => {
  if (tarball === undefined) throw new Error('not run: there is no tarball')
  return tarball
}

/**
 * @param {PackContext} context
 * @returns {string} the folder in which the tarball is installed
 */
export const consumerOf = ({ scratch, installed }) => {
  if (!installed) throw new Error('not run: the tarball is not installed')
  return scratch
}
