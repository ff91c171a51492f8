import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { codeOf } from '../../../errors/code-of.js'
import { isSpeechError, SpeechError } from '../../../errors/speech-error.js'
import type { EngineKind, ModelDescription } from '../engine.js'
import { checkModelName } from './model-name.js'

/** A model of the embedded engine that is to be made of files. */
export interface NewModel {
  /** The folder of models that it goes into, laid out `<tenant>/<name>/<version>`; made where it is not there. */
  readonly folder: string
  readonly tenant: string
  readonly name: string
  /** Without one: one more than the newest, `1` where there is none. */
  readonly version?: string
  /** What can be said: a JSGF grammar, or sentences one a line. */
  readonly source: { readonly kind: 'grammar' | 'phrases'; readonly file: string }
  readonly dictionary?: string
  readonly language?: string
  readonly batch?: boolean
}

/** A grammar that a person wrote is shorter by far. */
const maxFileBytes = 4 * 1_048_576

const readInput = async (file: string): Promise<string> => {
  const unreadable = (cause?: unknown): SpeechError =>
    new SpeechError('invalid-options', `The file ${JSON.stringify(file)} cannot be read; check its name.`, { cause })
  try {
    const found = await stat(file)
    if (!found.isFile()) throw unreadable()
    if (found.size <= maxFileBytes) return await readFile(file, 'utf8')
  } catch (error) {
    throw isSpeechError(error) ? error : unreadable(error)
  }
  throw new SpeechError('invalid-options', `The file ${JSON.stringify(file)} is longer than ${maxFileBytes} bytes.`)
}

const names = async (folder: string): Promise<readonly string[]> =>
  readdir(folder).catch((error: unknown): string[] => {
    if (codeOf(error) === 'ENOENT') return []
    throw new SpeechError('invalid-options', `The folder ${folder} cannot be read.`, { cause: error })
  })

/** One more than the greatest whole number that a version begins with. */
const nextVersion = (versions: readonly string[]): string => {
  const numbers = versions.flatMap((version) => /^\d{1,15}(?=\.|$)/.exec(version)?.map(Number) ?? [])
  return String(Math.max(0, ...numbers) + 1)
}

/** Where it goes: refused where something is there, or where the layout is another. */
const placeOf = async (
  root: string,
  { tenant, name, version }: NewModel,
): Promise<{ readonly version: string; readonly folder: string }> => {
  const model = join(root, checkModelName('tenant', tenant), checkModelName('name', name))
  for (const folder of [root, join(root, tenant), model]) {
    if ((await names(folder)).includes('model.json')) {
      throw new SpeechError('invalid-options', `${folder} is a model itself; models go into <tenant>/<name>/<version>.`)
    }
  }
  const versions = (await names(model)).filter((one) => !one.startsWith('.'))
  const chosen = checkModelName('version', version ?? nextVersion(versions))
  if (versions.includes(chosen)) throw exists(tenant, name, chosen)
  return { version: chosen, folder: join(model, chosen) }
}

const exists = (tenant: string, name: string, version: string): SpeechError =>
  new SpeechError('invalid-options', `The model ${tenant}/${name}/${version} is there already; choose another version.`)

/** Copies the files into the folder beside a `model.json`, and gives what that says. */
const write = async (folder: string, model: NewModel): Promise<ModelDescription['options']> => {
  const { source, dictionary, language, batch } = model
  const file = source.kind === 'grammar' ? 'grammar.gram' : 'phrases.txt'
  const options = {
    engine: 'soundswallower',
    [source.kind]: file,
    ...(dictionary !== undefined && { dictionary: 'dictionary.txt' }),
    ...(language !== undefined && { language }),
    ...(batch === true && { batch }),
  }
  await writeFile(join(folder, file), await readInput(source.file))
  if (dictionary !== undefined) await writeFile(join(folder, 'dictionary.txt'), await readInput(dictionary))
  await writeFile(join(folder, 'model.json'), `${JSON.stringify(options, undefined, 2)}\n`)
  return options
}

/**
 * Makes a model. It is written beside, loaded by the engine as a service would, and only then put in its place, whole:
 * a folder of models never holds half a model, and none is written over. Services see it after a restart.
 *
 * Rejects with `invalid-options` for names, files and places that cannot be, `invalid-model` for what the engine refuses.
 */
export const addModel = async (model: NewModel, kind: EngineKind): Promise<ModelDescription> => {
  const root = resolve(model.folder)
  const { tenant, name } = model
  const { version, folder } = await placeOf(root, model)
  await mkdir(root, { recursive: true }).catch((cause: unknown) => {
    throw new SpeechError('invalid-options', `The folder ${root} cannot be made.`, { cause })
  })
  // Hidden, so that no scan takes it for a tenant
  const beside = await mkdtemp(join(root, '.adding-'))
  try {
    const options = await write(beside, model)
    const engine = await kind.open({ tenant, name, version, folder: beside, options })
    await engine.close()
    await chmod(beside, 0o755)
    await mkdir(join(root, tenant, name), { recursive: true })
    await rename(beside, folder).catch((error: unknown) => {
      throw codeOf(error) === 'ENOTEMPTY' || codeOf(error) === 'EEXIST' ? exists(tenant, name, version) : error
    })
    return { tenant, name, version, folder, options }
  } catch (error) {
    await rm(beside, { recursive: true, force: true })
    throw error
  }
}
