import { readFile } from 'node:fs/promises'
import { either } from 'fp-ts'
import * as t from 'io-ts'
import type { Release } from 'rxspeech-engines/models/model-registry'
import type { Releases } from 'rxspeech-engines/models/releases'
import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { recordOf } from 'rxspeech/internal/protocol/collections'
import {
  flag,
  issuesOf,
  issueText,
  nonEmptyText,
  number,
  optionsCodec,
  optionsOf,
  text,
  wholeNumber,
} from 'rxspeech/internal/protocol/validation'
import { readSections } from './read-configuration.js'

const percent = number({ min: 0, max: 100 })
const release = optionsOf<Release>()(
  {},
  {
    version: text,
    canary: optionsCodec({ version: text, percent }, {}),
    challenger: optionsCodec(
      { version: text, percent },
      { name: nonEmptyText, places: wholeNumber({ min: 1, max: 1_000 }), logsWords: flag },
    ),
  },
)
const releases = recordOf(release)

/** Reads the releases of a file; see `Releases`. An empty file has none. Rejects with `invalid-options`. */
export const readReleases = async (file: string): Promise<Releases> => {
  const refuse = (sentence: string): SpeechError =>
    new SpeechError('invalid-options', `The releases of ${file} cannot be used: ${sentence}`)
  const source = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw refuse(cause instanceof Error ? cause.message : String(cause))
  })
  const read = await readSections(source, t.unknown)
  if (either.isLeft(read)) throw refuse(read.left.map(({ line, sentence }) => `line ${line}: ${sentence}`).join('; '))
  const content: unknown = read.right
  const decoded = releases.decode(content ?? {})
  if (either.isLeft(decoded)) {
    const [issue] = issuesOf(decoded.left)
    throw refuse(issue === undefined ? 'it has another form.' : issueText(issue, 'the file'))
  }
  const wrong = Object.keys(decoded.right).find((key) => !/^[^/]+\/[^/]+$/.test(key))
  if (wrong !== undefined) throw refuse(`${JSON.stringify(wrong)} is not <tenant>/<name>.`)
  return decoded.right
}
