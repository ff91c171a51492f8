import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { isSpeechError, SpeechError } from 'rxspeech/internal/errors/speech-error'
import type { ProxyOption } from 'rxspeech/internal/protocol/proxy-option'
import type { EngineKind, ModelDescription } from '../engine.js'
import { addModel, type ModelPlace } from '../models/add-model.js'
import { findAbandoned, makeUnfinished } from '../models/unfinished-folders.js'
import type { CatalogueModel } from './catalogue-table.js'
import { filesOf, isRestrictive } from './catalogue.js'
import { releasedSha256, sha256Of } from './checksums.js'
import type { DescribedFiles } from './describe.js'
import { checkSpace, type FreeBytes } from './disk-space.js'
import { download, type DownloadOptions } from './download.js'
import { unpack } from './unpack.js'

/** Where the archive of a model comes from. */
export type ArchiveSource =
  { readonly type: 'url'; readonly url: URL } | { readonly type: 'file'; readonly path: string }

/** What is done with an archive, in this order. */
export type PullStage = 'download' | 'check' | 'unpack' | 'load'

export interface PullOptions {
  readonly source: ArchiveSource
  /** What is known of the model; undefined for one that is not in the catalogue. */
  readonly known: CatalogueModel | undefined
  readonly place: ModelPlace
  /** Whether an archive is taken whose content cannot be verified, or is not the one of the catalogue. */
  readonly acceptsContent: boolean
  /** Resolves with whether a licence is accepted that is restrictive, or unknown. */
  readonly acceptLicence: (licence: string | undefined) => Promise<boolean>
  /** The content of `model.json` for the unpacked files, and the files that belong to the model. */
  readonly describe: (folder: string) => Promise<DescribedFiles>
  readonly kind: EngineKind
  readonly proxy?: ProxyOption | undefined
  readonly signal: AbortSignal
  readonly onProgress?: ((stage: PullStage, doneBytes: number, totalBytes: number | undefined) => void) | undefined
  /** A sentence about something unusual. */
  readonly onNote?: ((sentence: string) => void) | undefined
  /** @default that of the file system */
  readonly freeBytes?: FreeBytes | undefined
  /** See `DownloadOptions`. */
  readonly firstDelayMs?: DownloadOptions['firstDelayMs']
}

/** The file in the folder of a model with its origin. */
export const sourceFile = 'source.json'

/**
 * Adds a model of an archive: downloads it, verifies it, unpacks the files that are needed, loads it, and moves it to
 * its place. What was downloaded of an archive stays for the next call until the model is complete.
 *
 * Rejects with `invalid-options` for a licence or a content that is not accepted, and if the disk is full; with
 * `connection-failed` or `connection-lost`; with `invalid-model` for an archive that is damaged.
 */
export const pullModel = async (options: PullOptions): Promise<ModelDescription> => {
  const { known, place, acceptLicence, kind, onProgress } = options
  const root = resolve(place.folder)
  if (isRestrictive(known?.licence) && !(await acceptLicence(known?.licence))) {
    const licence = known?.licence === undefined ? 'an unknown licence' : `the licence ${known.licence}`
    throw new SpeechError('invalid-options', `The model has ${licence}; read it, then accept it with --accept-licence.`)
  }
  const expected = await expectedHash(options)
  let archive: OpenArchive | undefined
  const write = async (folder: string): Promise<ModelDescription['options']> => {
    archive = await openArchive(root, options)
    const sha256 = await verify(archive, expected, options)
    const { options: content, files } = await unpackModel(archive, folder, options)
    const origin = { archive: archive.name, sha256, licence: known?.licence ?? null }
    await writeFile(join(folder, sourceFile), `${JSON.stringify({ ...origin, files }, undefined, 2)}\n`)
    onProgress?.('load', 0, undefined)
    return content
  }
  try {
    const model = await addModel(place, write, kind)
    await archive?.discard()
    return model
  } catch (error) {
    if (error instanceof DamagedArchive) {
      await archive?.discard()
      throw new SpeechError('invalid-model', error.message)
    }
    await archive?.keep()
    throw error
  }
}

/** The error of an archive that is of no more use. */
class DamagedArchive extends Error {}

/** Unpacks the files that are needed, and rejects with `DamagedArchive`. */
const unpackModel = async (
  { path, name }: OpenArchive,
  folder: string,
  { known, describe, signal, onProgress, freeBytes }: PullOptions,
): Promise<DescribedFiles> => {
  const unpackedBytes = known?.diskBytes ?? 2 * (await stat(path)).size
  await checkSpace(join(folder, sourceFile), unpackedBytes, freeBytes)
  const placeOf = placesOf(known)
  const found = await unpack({
    archive: path,
    folder,
    placeOf: (file) => (isLicenceFile(file) ? file : placeOf(file)),
    signal,
    freeBytes,
    onProgress: (doneBytes) => onProgress?.('unpack', doneBytes, known?.diskBytes),
  }).catch((error: unknown) => {
    throw isSpeechError(error) && error.code === 'invalid-model' ? new DamagedArchive(error.message) : error
  })
  const missing = (known === undefined ? [] : filesOf(known)).find((file) => !found.includes(file))
  if (missing !== undefined) throw new DamagedArchive(`${name} has no ${missing}; it is another archive.`)
  const described = await describe(folder)
  for (const file of found) {
    if (!described.files.includes(file) && !isLicenceFile(file)) await rm(join(folder, file))
  }
  return described
}

const isLicenceFile = (path: string): boolean => /^LICEN[CS]E(\.txt|\.md)?$/.test(path)

const nameOf = (source: ArchiveSource): string =>
  source.type === 'file' ? basename(source.path) : decodeURIComponent(source.url.pathname.split('/').at(-1) ?? '')

/** Files of any model by their names: networks, tokens and what belongs to them, also in one folder. */
const modelFile = /^(?:[A-Za-z0-9][\w.+-]{0,127}\/)?[A-Za-z0-9][\w.+-]{0,127}\.(?:onnx|ort|data|txt|json|model|vocab)$/

/** Which files are unpacked: those of the catalogue, or all that may belong to a model. */
const placesOf = (known: CatalogueModel | undefined): ((path: string) => string | undefined) => {
  if (known === undefined) return (path) => (modelFile.test(path) && !path.startsWith('test_wavs/') ? path : undefined)
  const places = new Map(filesOf(known).map((file) => [file, file]))
  return (path) => places.get(path)
}

/** The hash that an archive must have, and its source. */
interface ExpectedHash {
  readonly sha256: string
  readonly from: 'catalogue' | 'release'
}

/** Rejects with `invalid-options` if there is nothing to verify the archive with, and that is not accepted. */
const expectedHash = async (options: PullOptions): Promise<ExpectedHash | undefined> => {
  const { source, known, acceptsContent, onNote } = options
  if (known?.sha256 !== undefined) return { sha256: known.sha256, from: 'catalogue' }
  const released = source.type === 'url' ? await releasedSha256(source.url, options) : undefined
  if (released !== undefined) {
    onNote?.(`The catalogue has no checksum of ${nameOf(source)}; it is verified with checksum.txt beside it.`)
    return { sha256: released, from: 'release' }
  }
  const unverified = `There is no checksum of ${nameOf(source)}`
  if (!acceptsContent) throw new SpeechError('invalid-options', `${unverified}; take it as it is with --accept.`)
  onNote?.(`${unverified}; it is taken as it is.`)
  return undefined
}

/** The archive as a file. */
interface OpenArchive {
  readonly path: string
  readonly name: string
  /** Keeps what was downloaded, for the next call. */
  readonly keep: () => Promise<void>
  /** Removes what was downloaded. A file of the user stays. */
  readonly discard: () => Promise<void>
}

const openArchive = async (root: string, options: PullOptions): Promise<OpenArchive> => {
  const { source, known, onProgress, freeBytes } = options
  const name = nameOf(source)
  const nothing = (): Promise<void> => Promise.resolve()
  if (source.type === 'file') return { path: source.path, name, keep: nothing, discard: nothing }
  const kept = join(root, `.partial-${name}`)
  const folder = await takePartial(root, kept, name)
  const path = join(folder, name)
  // Without the other name, the folder is found by the process that has ended.
  const keep = (): Promise<void> => rename(folder, kept).catch(() => undefined)
  try {
    const doneBytes = (await stat(path).catch(() => undefined))?.size ?? 0
    if (known?.bytes !== undefined) {
      // The disk has to take the unpacked files too before the archive is removed.
      const unpackedBytes = known.diskBytes ?? 2 * known.bytes
      await checkSpace(path, Math.max(0, known.bytes - doneBytes) + unpackedBytes, freeBytes)
    }
    await download({
      ...options,
      url: source.url,
      file: path,
      onProgress: (done, total) => onProgress?.('download', done, total ?? known?.bytes),
    })
    return { path, name, keep, discard: () => rm(folder, { recursive: true, force: true }) }
  } catch (error) {
    await keep()
    throw error
  }
}

/** How long a part of an archive is kept, in milliseconds. */
const keptMs = 7 * 86_400_000

/** A folder of this process for a download, with what an earlier one has left of this archive. */
const takePartial = async (root: string, kept: string, name: string): Promise<string> => {
  const others = (await readdir(root))
    .filter((entry) => entry.startsWith('.partial-'))
    .map((entry) => join(root, entry))
  const earlier = [...others, ...(await findAbandoned(root, 'pulling'))]
  const folder = await makeUnfinished(root, 'pulling')
  for (const found of earlier) {
    const isOfArchive = found === kept || (await readdir(found).catch((): string[] => [])).includes(name)
    const isOld = Date.now() - ((await stat(found).catch(() => undefined))?.mtimeMs ?? 0) > keptMs
    if (isOfArchive && (await takeFolder(found, folder))) return folder
    if (isOfArchive || isOld) await rm(found, { recursive: true, force: true })
  }
  await mkdir(folder, { recursive: true })
  return folder
}

/** Gives a folder the name of an empty one; false if another process was faster. */
const takeFolder = async (found: string, empty: string): Promise<boolean> => {
  await rm(empty, { recursive: true, force: true })
  return rename(found, empty).then(
    () => true,
    () => false,
  )
}

/** Returns the hash of the archive. Rejects if it is not the expected one, unless that is accepted. */
const verify = async (
  { path, name }: OpenArchive,
  expected: ExpectedHash | undefined,
  options: PullOptions,
): Promise<string> => {
  const { source, acceptsContent, signal, onProgress, onNote } = options
  const { size } = await stat(path)
  const found = await sha256Of(path, signal, (doneBytes) => onProgress?.('check', doneBytes, size))
  if (expected === undefined || found === expected.sha256) return found
  const hashes = `expected ${expected.sha256}, found ${found}`
  if (acceptsContent) {
    onNote?.(`${name} is not what its checksum says: ${hashes}. It is taken as it is.`)
    return found
  }
  if (expected.from === 'release') {
    throw new DamagedArchive(`${name} is not what checksum.txt beside it says: ${hashes}; pull it again.`)
  }
  const what = `${name} has another content than the catalogue says: ${hashes}.`
  const released = source.type === 'url' ? await releasedSha256(source.url, options).catch(() => undefined) : undefined
  if (released === found) {
    const reason = 'It was replaced at its source, as checksum.txt there shows; take it as it is now with --accept.'
    throw new SpeechError('invalid-options', `${what} ${reason}`)
  }
  const reason =
    released === undefined
      ? 'It is damaged, or was replaced; pull it again, or take it as it is with --accept.'
      : released === expected.sha256
        ? 'It was damaged on its way; pull it again.'
        : 'checksum.txt beside it has a third one; pull it again later.'
  throw new DamagedArchive(`${what} ${reason}`)
}
