import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { brokenLinks } from '../../scripts/pack/broken-links.mjs'
import { folderOfTest } from '../temporary-folder.js'

const root = join(__dirname, '../..')

it('finds links that lead to no file, to no heading and out of the package, and source maps that are not there', async () => {
  const folder = folderOfTest()
  const pages = {
    'README.md': [
      '# Home, sweet `home`!',
      '[page](docs/page.md) [itself](#home-sweet-home) [folder](docs) [heading](docs/page.md#a-heading)',
      '[elsewhere](https://example.com/none) `[code](none.md)`',
      '```md\n# Not a heading\n[block](none.md)\n```',
      '[gone](docs/gone.md) [no heading](docs/page.md#none) [in code](#not-a-heading) [out](../secret.md)',
    ].join('\n\n'),
    'docs/page.md': '## A heading\n\n[home](../README.md) [sibling](gone.md)',
    'dist/mapped.js': 'run()\n//# sourceMappingURL=mapped.js.map\n',
    'dist/mapped.js.map': '{}',
    'dist/unmapped.mjs': 'run()\n//# sourceMappingURL=unmapped.mjs.map',
    'dist/text.js': 'export const text = "run()\\n//# sourceMappingURL=worklet.js.map"',
    'dist/page.css': 'a {}\n/*# sourceMappingURL=page.css.map */',
    'dist/inline.js': 'run()\n//# sourceMappingURL=data:application/json;base64,e30=',
  }
  for (const [file, text] of Object.entries(pages)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }
  expect(await brokenLinks(folder, Object.keys(pages))).toEqual([
    'README.md: docs/gone.md',
    'README.md: docs/page.md#none',
    'README.md: #not-a-heading',
    'README.md: ../secret.md',
    'docs/page.md: gone.md',
    'dist/unmapped.mjs: unmapped.mjs.map',
    'dist/text.js: worklet.js.map',
    'dist/page.css: page.css.map',
  ])
})

it('finds none in what is published of this checkout', async () => {
  const folders = ['docs', 'proto'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  )
  expect(await brokenLinks(root, ['README.md', 'LICENSE', ...folders])).toEqual([])
})
