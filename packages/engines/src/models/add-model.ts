import { chmod, constants, copyFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { codeOf, isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { decodeText } from './decode-text.js'
import type { EngineKind, ModelDescription } from '../engine.js'
import { makeUnfinished, removeAbandoned } from './unfinished-folders.js'

/** Where a model goes. */
export interface ModelPlace {
  /** The folder of models, with the layout `<tenant>/<name>/<version>`; it is made if it does not exist. */
  readonly folder: string
  readonly tenant: string
  readonly name: string
  /** @default one more than the newest, or `1` */
  readonly version?: string | undefined
}

/** Puts the files of a model into an empty folder, and resolves with the content of `model.json`. */
export type WriteModel = (folder: string) => Promise<ModelDescription['options']>

const namePattern = /^(?!\.)[A-Za-z0-9._-]{1,64}$/

/**
 * Checks a tenant, a name or a version that may become a folder: 1 to 64 ASCII letters, digits, `.`, `_` and `-`, and
 * no dot at the beginning, so that it cannot lead to another folder. Throws `invalid-options`.
 */
export const checkModelName = (what: 'tenant' | 'name' | 'version', text: string): string => {
  if (namePattern.test(text)) return text
  const rule = 'must be 1 to 64 letters of A to Z, digits, ".", "_" and "-", and not begin with a dot'
  throw new SpeechError('invalid-options', `The ${what} of a model ${rule}.`)
}

/** Copies a file; without another copy of its bytes where the disk can. */
const copyInput = async (file: string, to: string): Promise<void> => {
  const unreadable = (cause?: unknown): SpeechError =>
    new SpeechError('invalid-options', `The file ${JSON.stringify(file)} cannot be read; check its name.`, { cause })
  try {
    if (!(await stat(file)).isFile()) throw unreadable()
    if (!/\.(txt|gram)$/.test(to)) await copyFile(file, to, constants.COPYFILE_FICLONE)
    else {
      const bytes = await readFile(file)
      // Libraries read some of these files, and take a byte order mark for a part of the first word.
      await writeFile(to, decodeText(bytes) ?? bytes)
    }
  } catch (error) {
    throw isSpeechError(error) ? error : unreadable(error)
  }
}

/** The names in a folder; none if it does not exist. */
const namesIn = async (folder: string): Promise<readonly string[]> =>
  readdir(folder).catch((error: unknown): string[] => {
    if (codeOf(error) === 'ENOENT') return []
    throw new SpeechError('invalid-options', `The folder ${folder} cannot be read.`, { cause: error })
  })

/** One more than the greatest integer with which a version begins. */
const nextVersion = (versions: readonly string[]): string => {
  const numbers = versions.flatMap((version) => /^\d{1,15}(?=\.|$)/.exec(version)?.map(Number) ?? [])
  return String(Math.max(0, ...numbers) + 1)
}

/** Where the model goes. Rejects if something is there already, or if the folder has another layout. */
const findPlace = async (
  root: string,
  { tenant, name, version }: ModelPlace,
): Promise<{ readonly version: string; readonly folder: string }> => {
  const modelFolder = join(root, checkModelName('tenant', tenant), checkModelName('name', name))
  for (const folder of [root, join(root, tenant), modelFolder]) {
    if ((await namesIn(folder)).includes('model.json')) {
      throw new SpeechError('invalid-options', `${folder} is a model itself; models go into <tenant>/<name>/<version>.`)
    }
  }
  const versions = (await namesIn(modelFolder)).filter((entry) => !entry.startsWith('.'))
  const chosen = checkModelName('version', version ?? nextVersion(versions))
  if (versions.includes(chosen)) throw modelExists(tenant, name, chosen)
  return { version: chosen, folder: join(modelFolder, chosen) }
}

const modelExists = (tenant: string, name: string, version: string): SpeechError =>
  new SpeechError('invalid-options', `The model ${tenant}/${name}/${version} is there already; choose another version.`)

/**
 * Copies the files of a model.
 *
 * @param files by their names in the folder of the model
 */
export const copyFiles =
  (options: ModelDescription['options'], files: Readonly<Record<string, string>>): WriteModel =>
  async (folder) => {
    for (const [name, file] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true })
      await copyInput(file, join(folder, name))
    }
    return options
  }

/**
 * Makes a model. It is written to a temporary folder, loaded by the engine as a service would, and only then moved to
 * its place: a folder of models never contains half a model, and none is overwritten. Services find it after a reload.
 *
 * Rejects with `invalid-options` for names, files and places that are not allowed, with `invalid-model` if the engine
 * refuses it, and with the error of `write`.
 */
export const addModel = async (place: ModelPlace, write: WriteModel, kind: EngineKind): Promise<ModelDescription> => {
  const root = resolve(place.folder)
  const { tenant, name } = place
  const { version, folder } = await findPlace(root, place)
  await removeAbandoned(root)
  const temporary = await makeUnfinished(root, 'adding').catch((cause: unknown) => {
    throw new SpeechError('invalid-options', `The folder ${root} cannot be made.`, { cause })
  })
  try {
    const options = await write(temporary)
    await writeFile(join(temporary, 'model.json'), `${JSON.stringify(options, undefined, 2)}\n`)
    const engine = await kind.open({ tenant, name, version, folder: temporary, options })
    await engine.close()
    await chmod(temporary, 0o755)
    await mkdir(join(root, tenant, name), { recursive: true })
    await rename(temporary, folder).catch((error: unknown) => {
      throw codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST' ? modelExists(tenant, name, version) : error
    })
    return { tenant, name, version, folder, options }
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    throw error
  }
}
