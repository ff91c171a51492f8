// @ts-check
import { isBuiltin } from 'node:module'

/** @typedef {import('./read-source.mjs').Source} Source */
/** @typedef {import('./read-source.mjs').Breach} Breach */
/** @typedef {Readonly<Record<string, Readonly<Record<string, string>> | undefined>>} Manifest */

/** @param {string} specifier */
const packageName = (specifier) =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

/** Programs may import the optional packages that they are made of; everything else must load without them. */
const mayNeedOptional = /^(cli|web)\//

/**
 * What src imports is declared, and what is optional is loaded when it is needed.
 *
 * @param {ReadonlyArray<Source>} sources
 * @param {Manifest} manifest
 * @returns {Breach[]}
 */
export const checkPackages = (sources, manifest) => {
  const required = new Set(
    [manifest['dependencies'], manifest['peerDependencies']].flatMap((list) => Object.keys(list ?? {})),
  )
  const optional = new Set(Object.keys(manifest['optionalDependencies'] ?? {}))
  return sources.flatMap(({ file, imports }) =>
    imports.flatMap(({ specifier, line, kind, target }) => {
      const name = packageName(specifier)
      if (target !== undefined || isBuiltin(specifier) || required.has(name)) return []
      if (optional.has(name)) {
        if (kind === 'lazy' || kind === 'type' || mayNeedOptional.test(file)) return []
        return [
          {
            file,
            line,
            rule: 'optional',
            what: `${name} is optional; load it with await import('${specifier}') where it is needed.`,
          },
        ]
      }
      return [
        {
          file,
          line,
          rule: 'undeclared',
          what: `${name} is not among the package's dependencies; declare it or do without.`,
        },
      ]
    }),
  )
}
