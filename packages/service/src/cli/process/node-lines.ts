/** Compares versions number by number. */
export const isAtLeast = (version: string, needed: string): boolean =>
  new Intl.Collator('en', { numeric: true }).compare(version.replace(/^v/, ''), needed) >= 0

/** The last release of Node 20, with security fixes that those before lack. */
const lastOf20 = '20.20.2'

/**
 * A sentence for a version of Node whose line gets no security fixes any more
 * (https://nodejs.org/en/about/previous-releases): 20 since April 2026, and the odd lines until 25.
 */
export const outdatedNode = (version: string): string | undefined => {
  const major = Number.parseInt(version, 10)
  if (major === 22 || major === 24 || major >= 26) return undefined
  const missing = isAtLeast(version, lastOf20) ? '' : ` and lacks those of ${lastOf20}`
  return `Node ${version} is out of support: it gets no security fixes any more${missing}. Use Node 24 or 26.`
}
