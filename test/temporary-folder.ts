import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

const makeFolder = (): string => mkdtempSync(join(tmpdir(), 'rxspeech-test-'))
const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true })

/** A folder for all tests of the block, or of the file, that calls this; it is removed after the last of them. */
export const temporaryFolder = (): string => {
  const folder = makeFolder()
  afterAll(() => remove(folder))
  return folder
}

/** A folder for the test that runs, also in a `beforeEach`; it is removed after the test and its hooks. */
export const folderOfTest = (): string => {
  const folder = makeFolder()
  onTestFinished(() => remove(folder))
  return folder
}
