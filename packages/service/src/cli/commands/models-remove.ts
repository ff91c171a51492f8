import { lstatSync, readdirSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { sizeText } from 'rxspeech-engines/catalogue/disk-space'
import { type FoundModel, scanModelFolder } from 'rxspeech-engines/models/model-folders'
import { modelLabel } from 'rxspeech-engines/models/model-json'
import { makeUnfinished, removeAbandoned } from 'rxspeech-engines/models/unfinished-folders'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { suggestionEnd } from 'rxspeech/internal/protocol/nearest-name'
import { ask } from '../input/ask.js'
import { modelsPlace, modelsPlaceFlag } from '../input/find-models.js'
import type { CommandCall } from '../parsing/command.js'
import { switchFlag } from '../parsing/flags.js'
import { jsonFlag } from '../parsing/service-flags.js'
import { quoted } from '../parsing/values.js'
import { CommandError, exitCode, SilentExit, usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'
import { watchInterruption } from '../process/interruption.js'

export const removeFlags = {
  models: modelsPlaceFlag,
  yes: switchFlag('remove it without a question'),
  json: jsonFlag,
}

/** Removes a version of a model, or all versions. */
export const removeModel = async ({
  argument: typed,
  flags: { models, yes, json },
  host,
  output,
}: CommandCall<typeof removeFlags, string>): Promise<void> => {
  const root = resolve(modelsPlace(models, host))
  const found = findVersions(root, typed)
  const removed = found.map(({ model }) => ({
    model: modelLabel(model),
    folder: model.folder,
    bytes: bytesOf(model.folder),
  }))
  const bytes = removed.reduce((sum, one) => sum + one.bytes, 0)
  if (!yes)
    await confirm(
      removed.map(({ model }) => model),
      bytes,
      host,
      output.closed,
    )
  await removeAbandoned(root)
  for (const { folder: place } of removed) await removeFolder(root, place)
  const names = removed.map(({ model }) => model).join(', ')
  output.write(
    json
      ? `${JSON.stringify(removed)}\n`
      : `Removed ${names}; ${sizeText(bytes)} are free again. A running service notices it by: rxspeech reload\n`,
  )
}

/** The versions with a name. Throws `invalid-options` for none, and for a name of several tenants. */
const findVersions = (root: string, typed: string): readonly FoundModel[] => {
  const parts = typed.split('/')
  const all = scanModelFolder(root)
  const found = all.filter(({ model: { tenant, name, version } }) =>
    [[name], [name, version], [tenant, name], [tenant, name, version]].some(
      (path) => path.length === parts.length && path.every((part, at) => part === parts[at]),
    ),
  )
  const tenants = [...new Set(found.map(({ model }) => model.tenant))]
  if (tenants.length > 1) {
    throw usageError(`${quoted(typed)} is a model of ${tenants.join(' and ')}; write <tenant>/<name>.`)
  }
  if (found.length === 0) {
    const names = [...new Set(all.map(({ model }) => model.name))]
    throw usageError(`There is no model ${quoted(typed)} in ${root}; ${suggestionEnd(typed, names)}`)
  }
  if (found.some(({ model }) => model.folder === root)) {
    throw usageError(`${root} is a model itself; remove that folder, or name the folder of models.`)
  }
  const link = found.find(({ model }) => lstatSync(model.folder).isSymbolicLink())
  if (link !== undefined) throw usageError(`${link.model.folder} is a link; remove it, and what it leads to.`)
  return found
}

const bytesOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + lstatSync(join(parentPath, name)).size, 0)

const confirm = async (names: readonly string[], bytes: number, host: Host, closed: AbortSignal): Promise<void> => {
  const interruption = watchInterruption(host, { also: closed })
  try {
    const answer = await ask(`Remove ${names.join(', ')} (${sizeText(bytes)})?`, host, interruption.signal)
    if (answer === undefined) throw usageError('Removing a model needs --yes, or a terminal to ask.')
    if (!answer) throw new SilentExit(exitCode.usage)
  } finally {
    interruption.release()
  }
}

/** Moves the folder away first, so that no half of a model is found. Then removes empty folders above it. */
const removeFolder = async (root: string, folder: string): Promise<void> => {
  const temporary = await makeUnfinished(root, 'removing')
  try {
    await rename(folder, join(temporary, 'model'))
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    throw new CommandError(`${folder} cannot be removed (${codeOf(error) ?? 'unknown'}); check its permissions.`)
  }
  await rm(temporary, { recursive: true, force: true })
  for (let above = dirname(folder); above !== root && readdirSync(above).length === 0; above = dirname(above)) {
    await rm(above, { recursive: true })
  }
}
