// @ts-check
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkBrowserDoor } from './check-browser-door.mjs'
import { checkCircles } from './check-circles.mjs'
import { checkEffects } from './check-effects.mjs'
import { checkLevels } from './check-levels.mjs'
import { checkPackages } from './check-packages.mjs'
import { readSources } from './read-source.mjs'

/**
 * All breaches of a folder that holds `src` and `package.json`, in the order of files and lines.
 *
 * @param {string} root
 */
export const checkTree = (root) => {
  const sources = readSources(join(root, 'src'))
  const breaches = [
    ...checkLevels(sources),
    ...checkCircles(sources),
    ...checkBrowserDoor(sources),
    ...checkPackages(sources, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))),
    ...checkEffects(sources),
  ].sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.rule.localeCompare(b.rule))
  return {
    breaches,
    fileCount: sources.length,
    importCount: sources.reduce((sum, source) => sum + source.imports.length, 0),
  }
}
