import { createHash } from 'node:crypto'
import { createReadStream, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findModels } from '../../../engines/src/models/model-registry.js'

const checkout = join(__dirname, '../../../..')
const folder = join(checkout, 'packages/rxspeech-whisper-tiny-en')
const readText = (...path: readonly string[]): string => readFileSync(join(...path), 'utf8')
const versionIn = (...path: readonly string[]): string =>
  (JSON.parse(readText(...path, 'package.json')) as { readonly version: string }).version

const sha256Of = async (file: string): Promise<string> => {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

it('has the checksum of every file of the embedded model, in SHA256SUMS and in its README', async () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(onnx|txt)$/.test(name))
  const sums = await Promise.all(files.toSorted().map(async (file) => `${await sha256Of(join(folder, file))}  ${file}`))
  expect(sums).toHaveLength(3)
  expect(readText(folder, 'SHA256SUMS').trim().split('\n')).toEqual(sums)
  for (const sum of sums) expect(readText(folder, 'README.md')).toContain(sum.slice(0, 64))
})

it('is a folder of models with one model, in the version of the library, with the licence of its makers', () => {
  const [found, ...others] = findModels({ folders: [join(folder, 'models')], kinds: [] })
  expect(found?.model).toMatchObject({ tenant: 'Default', name: 'English', version: '1', options: { language: 'en' } })
  expect(others).toEqual([])
  expect(versionIn(folder)).toBe(versionIn(checkout))
  expect(readText(folder, 'LICENSE')).toContain('Copyright (c) 2022 OpenAI')
})
