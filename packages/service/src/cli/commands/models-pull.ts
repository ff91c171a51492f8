import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { either } from 'fp-ts'
import { catalogue, type CatalogueModel, releaseUrl } from 'rxspeech-engines/catalogue/catalogue-table'
import { archiveEnding, modelNamed, modelOfArchive, readsWhat } from 'rxspeech-engines/catalogue/catalogue'
import { describeFolder, describeModel, publishedKind } from 'rxspeech-engines/catalogue/describe'
import { checkFileUrl } from 'rxspeech-engines/catalogue/http-get'
import { type ArchiveSource, pullModel, sourceFile } from 'rxspeech-engines/catalogue/pull-model'
import { checkModelName } from 'rxspeech-engines/models/add-model'
import { type FoundModel, scanModelFolder } from 'rxspeech-engines/models/model-folders'
import { nearestName } from 'rxspeech/internal/protocol/nearest-name'
import { parseJsonObject } from 'rxspeech/internal/protocol/parse-json'
import { ask } from '../input/ask.js'
import { modelsPlace, modelsPlaceFlag } from '../input/find-models.js'
import type { CommandCall } from '../parsing/command.js'
import { flag, flagOr, switchFlag, type ParseValue } from '../parsing/flags.js'
import { jsonFlag, proxyFlag } from '../parsing/service-flags.js'
import { quoted, text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import { watchInterruption } from '../process/interruption.js'
import { userModels } from '../process/user-folders.js'
import { LiveScreen } from '../view/live-screen.js'
import { plainText } from '../view/plain-text.js'
import { PullView } from '../view/pull-view.js'
import { shellWord } from '../view/typed-command.js'

const mirrorUrl: ParseValue<URL> = (typed, name) => {
  if (!URL.canParse(typed)) throw usageError(`${name} must be an address such as https://mirror.example.com/models.`)
  const url = checkFileUrl(new URL(typed))
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

export const pullFlags = {
  models: modelsPlaceFlag,
  as: flag('<name>', 'what clients call it (default: its name in the catalogue)', (typed) =>
    checkModelName('name', typed),
  ),
  tenant: flagOr('<name>', 'its tenant', (typed) => checkModelName('tenant', typed), 'Default'),
  version: flag('<version>', 'its version (default: the newest plus one)', (typed) => checkModelName('version', typed)),
  language: flag('<code>', 'of sessions that name none, such as de (default: the model detects it, or has one)', text),
  mirror: flag('<url>', 'a folder with the same archives, and with checksum.txt', mirrorUrl),
  accept: switchFlag('take an archive that has no checksum, or another one'),
  acceptLicence: switchFlag('accept a licence that is unknown, or has more conditions than to name its authors'),
  proxy: proxyFlag,
  json: jsonFlag,
}

/** Downloads, verifies, unpacks and loads a model. */
export const pull = async ({
  argument: typed,
  flags,
  host,
  output,
}: CommandCall<typeof pullFlags, string>): Promise<FoundModel['model'] | undefined> => {
  const { models, tenant, version, language, accept, acceptLicence, proxy, json } = flags
  const folder = modelsPlace(models, host)
  const { source, known, stem } = findSource(typed, flags.mirror)
  const name = checkModelName('name', flags.as ?? known?.name ?? stem.replace(/^sherpa-onnx-/, '').slice(0, 64))
  const present = known === undefined || version !== undefined ? undefined : findPresent(folder, tenant, name, known)
  if (present !== undefined) {
    if (!json) output.write(`The model ${tenant}/${name}/${present.version} is there already, in ${present.folder}.\n`)
    return json ? present : undefined
  }
  const kind = publishedKind()
  const view = new PullView({
    screen: new LiveScreen({ out: output.terminal, err: host.stderr, env: host.env }),
    name: known?.name ?? stem,
    nowMs: () => performance.now(),
  })
  const interruption = watchInterruption(host, { also: output.closed })
  let hasStarted = false
  try {
    const model = await pullModel({
      source,
      known,
      place: { folder, tenant, name, version },
      acceptsContent: accept,
      acceptLicence: async (licence) =>
        acceptLicence || (await ask(licenceQuestion(licence), host, interruption.signal)) === true,
      describe: (path) =>
        known === undefined ? describeFolder(path, stem, language) : Promise.resolve(describeModel(known, language)),
      kind,
      proxy,
      signal: interruption.signal,
      onProgress: (stage, doneBytes, totalBytes) => {
        hasStarted = true
        view.progress(stage, doneBytes, totalBytes)
      },
      onNote: (sentence) => view.note(sentence),
    })
    view.end()
    if (!json) output.write(pulledText(model, known, folder === userModels(host.env) ? undefined : folder))
    return json ? model : undefined
  } catch (error) {
    view.end()
    if (interruption.signal.aborted && hasStarted) view.note('Interrupted; the same command continues.')
    throw error
  } finally {
    view.end()
    interruption.release()
  }
}

interface Source {
  readonly source: ArchiveSource
  readonly known: CatalogueModel | undefined
  /** The name of the archive without its ending. */
  readonly stem: string
}

/** What was typed: an address, a file, or a name of the catalogue. Throws `invalid-options`. */
const findSource = (typed: string, mirror: URL | undefined): Source => {
  const ofArchive = (source: ArchiveSource, file: string): Source => {
    if (!file.endsWith(archiveEnding)) {
      throw usageError(`A model is pulled as ${archiveEnding}; unpack others, and add them with rxspeech models add.`)
    }
    return { source, known: modelOfArchive(file), stem: file.slice(0, -archiveEnding.length) }
  }
  if (/^https?:\/\//i.test(typed)) {
    if (mirror !== undefined) throw usageError('--mirror is for a name of the catalogue; omit it with an address.')
    if (!URL.canParse(typed)) throw usageError(`${quoted(typed)} is no address.`)
    const url = checkFileUrl(new URL(typed))
    return ofArchive({ type: 'url', url }, decodeURIComponent(basename(url.pathname)))
  }
  const known = modelNamed(typed)
  if (known !== undefined) {
    const file = `${known.archive}${archiveEnding}`
    return { source: { type: 'url', url: new URL(file, mirror ?? releaseUrl) }, known, stem: known.archive }
  }
  if (existsSync(typed)) {
    if (statSync(typed).isDirectory()) {
      throw usageError(`${typed} is a folder; add it with: rxspeech models add NAME ${shellWord(typed)}.`)
    }
    return ofArchive({ type: 'file', path: typed }, basename(typed))
  }
  const near = nearestName(
    typed,
    catalogue.map(({ name }) => name),
  )
  const hint = near === undefined ? 'rxspeech models search shows its models' : `did you mean ${near}?`
  throw usageError(`${quoted(typed)} is no file and no model of the catalogue; ${hint}${near === undefined ? '.' : ''}`)
}

/** The newest model of this name, if it is from the archive of the catalogue. */
const findPresent = (
  folder: string,
  tenant: string,
  name: string,
  { sha256 }: CatalogueModel,
): FoundModel['model'] | undefined => {
  if (!existsSync(folder) || sha256 === undefined) return undefined
  const found = scanModelFolder(folder).filter(({ model }) => model.tenant === tenant && model.name === name)
  const newest = found.at(-1)?.model
  if (newest === undefined || !existsSync(join(newest.folder, sourceFile))) return undefined
  const source = parseJsonObject(readFileSync(join(newest.folder, sourceFile), 'utf8'))
  return either.isRight(source) && source.right['sha256'] === sha256 ? newest : undefined
}

const licenceQuestion = (licence: string | undefined): string => {
  const what =
    licence === undefined ? 'The licence of this model is not known' : `The licence of this model is ${licence}`
  return `${what}; read it at its source. Do you accept it?`
}

/** @param folder undefined for the one that commands search without being asked to */
const pulledText = (
  model: FoundModel['model'],
  known: CatalogueModel | undefined,
  folder: string | undefined,
): string => {
  const { tenant, name, version } = model
  const facts =
    known === undefined ? '' : ` It reads ${readsWhat(known)}; its licence is ${known.licence ?? 'not known'}.`
  const folders = folder === undefined ? '' : ` --models ${shellWord(folder)}`
  const named = tenant === 'Default' ? name : `${name} --tenant ${tenant}`
  return plainLines([
    `The model ${tenant}/${name}/${version} is in ${model.folder}.${facts}`,
    `Try it: rxspeech transcribe my.wav${folders} --model ${named}`,
  ])
}

const plainLines = (lines: readonly string[]): string => lines.map((line) => `${plainText(line)}\n`).join('')
