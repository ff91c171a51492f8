import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { errorTable } from '../../src/errors/error-table.js'
import { entryPoints, innerLayers, layers, packages } from '../../scripts/dependency-rules.mjs'
import { named, tableBelow } from './markdown.js'

const root = join(__dirname, '../..')
const page = readFileSync(join(root, 'docs/ARCHITECTURE.md'), 'utf8')

const foldersIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .map((name) => `${folder}/${name}`)
    .filter((path) => statSync(join(root, path)).isDirectory() && readdirSync(join(root, path)).length > 0)

const refusals = tableBelow(page, 'Why a session is refused, in this order').map(([, , file, name, code]) => ({
  file: named(file),
  name: named(name),
  code: named(code),
}))

/** Every table of the page that names a file and a part of it, as [file, name]. */
const filesWithNames = [
  ...tableBelow(page, 'One utterance, from file to file').map(([, file, name]) => [named(file), named(name)] as const),
  ...tableBelow(page, 'Where is decided …').map(([, file, name]) => [named(file), named(name)] as const),
  ...refusals.map(({ file, name }) => [file, name] as const),
  ...tableBelow(page, 'Seams').map(([name, file]) => [named(file), named(name)] as const),
]

describe('docs/ARCHITECTURE.md', () => {
  it('names every folder of src, and the folders of the service and the command', () => {
    const folders = [
      'src',
      ...Object.keys(packages).map((name) => `packages/${name}/src`),
      'packages/service/src/cli',
    ].flatMap(foldersIn)
    expect(folders.filter((folder) => !page.includes(`\`${folder}\``))).toEqual([])
  })

  it('names only commands of package.json', () => {
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object }
    const commands = [...page.matchAll(/`npm (?:run )?([a-z]+)[^`]*`/g)].map(([, command = '']) => command)
    expect(commands.length).toBeGreaterThan(5)
    expect(commands.filter((command) => !Object.hasOwn(scripts, command) && command !== 'ci')).toEqual([])
  })

  it('names codes of errors where it says why a session is refused', () => {
    expect(refusals.filter(({ code }) => !Object.hasOwn(errorTable, code))).toEqual([])
  })

  it('gives every bound a file', () => {
    const rows = tableBelow(page, 'Where the bounds are')
    expect(
      rows.filter(
        ([, , file]) =>
          !/^`[\w./-]+\/src\/[\w./-]+\.ts`(?:, `[\w./-]*src\/[\w./-]+\.ts`)*$|^`src\/[\w./-]+\.ts`(?:, `[\w./-]*src\/[\w./-]+\.ts`)*$/.test(
            file ?? '',
          ),
      ),
    ).toEqual([])
  })

  it('has the layers that are enforced', () => {
    const onPage = tableBelow(page, 'The layers').map(([folder, layer]) => [named(folder), Number(layer)])
    const inTable = layers.flatMap((names, layer) => names.map((name) => [`src/${name}`, layer] as const))
    expect(onPage).toEqual(inTable.filter(([folder]) => foldersIn('src').includes(folder)))
  })

  it('has the packages and what they may import, as enforced', () => {
    const onPage = tableBelow(page, 'The packages').map(([folder, imports = '']) => [
      named(folder).replace('packages/', ''),
      imports.split(',').map((name) => name.trim()),
    ])
    expect(Object.fromEntries(onPage)).toEqual(packages)
  })

  it('has the folders of the packages and the import directions that are enforced', () => {
    for (const name of Object.keys(packages)) {
      const outer = `packages/${name}/src`
      const onPage = tableBelow(page, `packages/${name}`).map(([folder, from = '']): [string, readonly string[]] => [
        named(folder).replace(`${outer}/`, ''),
        from.trim() === '–' ? [] : from.split(',').map((other) => other.trim()),
      ])
      expect(Object.fromEntries(onPage)).toEqual(innerLayers[outer])
    }
  })

  it('names the entry points', () => {
    for (const file of entryPoints) expect(page).toContain(`\`${file}\``)
  })

  it.each(filesWithNames)('finds in %s what it names: %s', (file, name) => {
    expect(readFileSync(join(root, file), 'utf8')).toMatch(
      new RegExp(`(?:const|class|function|interface|type) ${name}\\b`),
    )
  })
})
