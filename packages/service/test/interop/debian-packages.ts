import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Tests that need packages of Debian or npm: whether they are skipped, and titles with that information. */
export interface NeededPackages {
  readonly areAbsent: boolean
  readonly title: (text: string) => string
}

/** Program folders of Debian; `sbin` is not in every PATH. */
const programFolders = ['/usr/bin', '/usr/sbin']

export const programPath = (name: string): string | undefined =>
  programFolders.map((folder) => join(folder, name)).find((path) => existsSync(path))

export const hasPrograms = (...names: readonly string[]): boolean =>
  names.every((name) => programPath(name) !== undefined)

/**
 * Skips tests with a warning if packages are missing. `RXSPEECH_REQUIRE_INTEROP=1`, which `.ci/run` sets after it
 * installed them, turns that into a failure.
 */
export const needPackages = (
  packages: readonly string[],
  areHere: () => boolean,
  install = 'apt-get install',
): NeededPackages => {
  if (areHere()) return { areAbsent: false, title: (text) => text }
  const advice = `${install} ${packages.join(' ')}`
  if (process.env['RXSPEECH_REQUIRE_INTEROP'] === '1') throw new Error(`These tests may not be skipped here: ${advice}`)
  return skipped(advice)
}

/** Skips tests with a warning if something is missing that no package provides, such as a privilege. */
export const skipped = (advice: string): NeededPackages => {
  process.stderr.write(`Skipped tests, which need: ${advice}\n`)
  return { areAbsent: true, title: (text) => `${text} (skipped: ${advice})` }
}
