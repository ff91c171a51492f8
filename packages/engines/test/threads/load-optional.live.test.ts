import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type * as LoadOptional from '../../src/threads/load-optional.js'
import { folderOfTest } from '../../../../test/temporary-folder.js'

const built = join(__dirname, '../../dist/threads/load-optional.js')
const system = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
const part = `native-${system}`
const again = 'npm install rxspeech-service --include=optional.'

describe('a package that rxspeech-service installs', () => {
  let folder: string
  beforeEach(() => {
    folder = folderOfTest()
    write('rxspeech-engines/package.json', '{}')
  })

  const write = (path: string, text: string): void => {
    const file = join(folder, 'node_modules', path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const writeNative = (parts: readonly string[], main = "module.exports = require('./nothing.node')"): void => {
    const optionalDependencies = Object.fromEntries(parts.map((name) => [name, '1.0.0']))
    write('native/package.json', JSON.stringify({ name: 'native', main: 'main.js', optionalDependencies }))
    write('native/main.js', main)
  }
  const load = (): Promise<unknown> => {
    const { loadOptional } = createRequire(__filename)(built) as typeof LoadOptional
    const from = join(folder, 'node_modules/rxspeech-engines/file.js')
    return loadOptional<{ readonly default: unknown }>('native', 'This', from).then(
      (loaded) => loaded.default,
      (error: unknown) => (error as Error).message,
    )
  }

  it('is loaded from there', async () => {
    writeNative([part], 'module.exports = 7')
    expect(await load()).toBe(7)
  })

  it('is named as left out where only rxspeech-service is installed', async () => {
    expect(await load()).toBe(
      `This needs the package native, which npm left out of rxspeech-service, as with --omit=optional: ${again}`,
    )
  })

  it('is named with its part for this system where that is not installed', async () => {
    writeNative([part, `${part}-musl`, 'native-aix-ppc64'])
    const left = 'which npm leaves out with --omit=optional, or with a package-lock.json of another system'
    expect(await load()).toBe(
      `This needs the package native, which is installed without ${part} or ${part}-musl, ${left}: ${again}`,
    )
  })

  it('is named with this system where it has parts for others only', async () => {
    writeNative(['native-aix-ppc64'])
    expect(await load()).toMatch(
      `This needs the package native, which does not load and may have no build for ${process.platform}-${process.arch}: Error: Cannot find module`,
    )
  })

  it('is named with why its part for this system does not load, which the package itself may not say', async () => {
    writeNative([part], "throw new Error('Could not find native.\\nTried ./native.node')")
    write(`${part}/package.json`, '{}')
    write(`${part}/index.node`, 'no library')
    expect(await load()).toMatch(/^This needs the package native, which does not load: Error: .*index\.node: /)
  })

  it('is named with the first line of another error', async () => {
    writeNative([], "throw new Error('It is broken.\\nA trace.')")
    expect(await load()).toBe('This needs the package native, which does not load: Error: It is broken.')
  })
})
