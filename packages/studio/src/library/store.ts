import type { TranscriptDocument } from '../state/transcript.js'
import { fileKinds, type FileKind, type KeptSession, type LibraryDatabase } from './database.js'
import { applyEdit, defaultTitle, EditedTranscript, noEdits, type Edit, type Edits } from './edits.js'
import { searchTextOf, type SearchText } from './search.js'

/** A session as it is now: what is kept, and what the page opens again. */
export interface SessionContent {
  /** As it was recognized. */
  readonly document: TranscriptDocument
  /** The original file, or a WAV of what was captured so far, of which only the first 44 bytes may change. */
  readonly audio: Blob | undefined
  /** The events as NDJSON; they grow at their end. */
  readonly events: Blob
  /** The cassette as JSON Lines; it grows at its end. */
  readonly cassette: Blob | undefined
}

export interface ListedSession extends KeptSession {
  readonly edits: Edits
}

/** How much is kept. */
export interface LibraryLimits {
  readonly maxSessions: number
  readonly maxBytes: number
  /** Of one session; a larger file is not kept. */
  readonly maxFileBytes: Readonly<Record<FileKind, number>>
}

const mebibyte = 1_048_576

export const defaultLimits: LibraryLimits = {
  maxSessions: 200,
  maxBytes: 1024 * mebibyte,
  maxFileBytes: { audio: 256 * mebibyte, events: 64 * mebibyte, cassette: 80 * mebibyte },
}

/** What of a session is in the database, so that only the rest is added. */
export interface Stored {
  readonly isKnown: boolean
  readonly files: Readonly<Record<FileKind, StoredFile>>
}

interface StoredFile {
  readonly bytes: number
  readonly parts: number
}

/** A part of a file as the database has it: in a file of the browser, which takes no memory of the page. */
export interface PartOnDisk {
  readonly kind: FileKind
  readonly fromBytes: number
  readonly content: Blob
}

const noFile: StoredFile = { bytes: 0, parts: 0 }
export const nothingStored: Stored = { isKnown: false, files: { audio: noFile, events: noFile, cassette: noFile } }

/** The sessions in the database. Each change is one transaction, so that several tabs do not overwrite each other. */
export class LibraryStore {
  readonly #database: LibraryDatabase
  readonly #limits: LibraryLimits

  constructor(database: LibraryDatabase, limits: LibraryLimits = defaultLimits) {
    this.#database = database
    this.#limits = limits
  }

  /** All sessions, the newest first, with those that are deleted and can be put back. */
  async list(): Promise<readonly ListedSession[]> {
    const transaction = this.#database.transaction(['sessions', 'edits'])
    const [sessions, edits] = await Promise.all([
      transaction.objectStore('sessions').getAll(),
      transaction.objectStore('edits').getAll(),
    ])
    const byId = new Map(edits.map(({ id, ...each }) => [id, each]))
    return sessions
      .map((session) => ({ ...session, edits: byId.get(session.id) ?? noEdits }))
      .sort((a, b) => b.startedAtMs - a.startedAtMs)
  }

  texts(): Promise<readonly SearchText[]> {
    return this.#database.getAll('texts')
  }

  async find(id: string): Promise<SessionContent | undefined> {
    const transaction = this.#database.transaction(['transcripts', 'parts'])
    const [document, parts] = await Promise.all([
      transaction.objectStore('transcripts').get(id),
      transaction.objectStore('parts').getAll(partsOf(id)),
    ])
    if (document === undefined) return undefined
    const contentsOf = (kind: FileKind) => parts.flatMap((part) => (part.kind === kind ? [part.content] : []))
    const [audio, events, cassette] = [contentsOf('audio'), contentsOf('events'), contentsOf('cassette')]
    return {
      document,
      audio: audio.length > 1 ? await grownWav(audio) : audio[0],
      events: new Blob(events),
      cassette: cassette.length > 0 ? new Blob(cassette) : undefined,
    }
  }

  /**
   * Writes a session as it is now. Returns what is stored then; undefined if a person has deleted it meanwhile, and then
   * nothing is written. Rejects with a QuotaExceededError if there is no room.
   *
   * @param edits the changes of a session that is not yet stored
   */
  async write(
    content: SessionContent,
    hasEnded: boolean,
    stored: Stored,
    edits: Edits = noEdits,
  ): Promise<Stored | undefined> {
    const { document } = content
    const { id, origin, startedAtMs, model, speakers } = document
    // Of a session that runs the duration may not be known yet.
    const durationMs = Math.max(document.durationMs, document.lines.at(-1)?.endMs ?? 0)
    const transaction = this.#database.transaction(allStores, 'readwrite')
    const [before, editsBefore = { ...edits, id }] = await Promise.all([
      transaction.objectStore('sessions').get(id),
      transaction.objectStore('edits').get(id),
    ])
    if (stored.isKnown && (before === undefined || before.deletedAtMs !== undefined)) return undefined
    const parts = transaction.objectStore('parts')
    const writes: Promise<unknown>[] = []
    const omitted: FileKind[] = []
    const write = (kind: FileKind): StoredFile => {
      const { [kind]: file } = content
      const { bytes, parts: count } = stored.files[kind]
      const isTooLarge = (file?.size ?? 0) > this.#limits.maxFileBytes[kind]
      if (isTooLarge) omitted.push(kind)
      const isKept = file !== undefined && !isTooLarge
      // One part is faster to read than the many of a session that ran for long.
      const isRewritten = !isKept || (hasEnded && count > 1)
      if (isRewritten && count > 0) writes.push(parts.delete(partsOf(id, kind)))
      if (!isKept) return noFile
      const [from, n] = isRewritten ? [0, 0] : [bytes, count]
      if (file.size > from || n === 0)
        writes.push(parts.put({ id, kind, n, content: file.slice(from, file.size, file.type) }))
      return { bytes: file.size, parts: file.size > from ? n + 1 : count }
    }
    const files = { audio: write('audio'), events: write('events'), cassette: write('cassette') }
    const fileBytes = fileKinds.reduce((sum, kind) => sum + files[kind].bytes, 0)
    writes.push(
      transaction.objectStore('sessions').put({
        id,
        origin,
        startedAtMs,
        durationMs,
        model,
        speakers,
        hasEnded,
        omitted,
        title: defaultTitle(document),
        isPinned: before?.isPinned ?? false,
        bytes: fileBytes + bytesOfText(document),
      }),
      transaction.objectStore('transcripts').put(document),
      transaction.objectStore('edits').put(editsBefore),
      transaction.objectStore('texts').put(searchTextOf(new EditedTranscript().of(document, editsBefore))),
    )
    await Promise.all([...writes, transaction.done])
    return { isKnown: true, files }
  }

  /** The parts that a write has added. */
  async addedParts(id: string, before: Stored, after: Stored): Promise<readonly PartOnDisk[]> {
    const parts = this.#database.transaction('parts').store
    const added = await Promise.all(
      fileKinds.map(async (kind) => {
        const { bytes: fromBytes, parts: n } = before.files[kind]
        const part = after.files[kind].parts === n + 1 ? await parts.get([id, kind, n]) : undefined
        return part === undefined ? [] : [{ kind, fromBytes, content: part.content }]
      }),
    )
    return added.flat()
  }

  /** Changes what a person has changed. Returns all changes of the session. */
  async edit(id: string, edit: Edit): Promise<Edits> {
    const transaction = this.#database.transaction(['transcripts', 'texts', 'edits'], 'readwrite')
    const [before = noEdits, document] = await Promise.all([
      transaction.objectStore('edits').get(id),
      transaction.objectStore('transcripts').get(id),
    ])
    const edits = { ...applyEdit(before, edit), id }
    if (document !== undefined) {
      void transaction.objectStore('edits').put(edits)
      void transaction.objectStore('texts').put(searchTextOf(new EditedTranscript().of(document, edits)))
    }
    await transaction.done
    return edits
  }

  pin(id: string, isPinned: boolean): Promise<void> {
    return this.#change(id, (session) => ({ ...session, isPinned }))
  }

  /** Takes a session from the list; it can be put back until it is purged. */
  remove(id: string, deletedAtMs: number): Promise<void> {
    return this.#change(id, (session) => ({ ...session, deletedAtMs }))
  }

  restore(id: string): Promise<void> {
    return this.#change(id, (session) => ({ ...session, deletedAtMs: undefined }))
  }

  async #change(id: string, change: (session: KeptSession) => KeptSession): Promise<void> {
    const transaction = this.#database.transaction('sessions', 'readwrite')
    const session = await transaction.store.get(id)
    if (session !== undefined) void transaction.store.put(change(session))
    await transaction.done
  }

  /** Removes sessions for good. Returns them. */
  async purge(choose: (sessions: readonly KeptSession[]) => readonly KeptSession[]): Promise<readonly KeptSession[]> {
    const transaction = this.#database.transaction(allStores, 'readwrite')
    const chosen = choose(await transaction.objectStore('sessions').getAll())
    for (const { id } of chosen) {
      for (const name of ['sessions', 'transcripts', 'texts', 'edits'] as const)
        void transaction.objectStore(name).delete(id)
      void transaction.objectStore('parts').delete(partsOf(id))
    }
    await transaction.done
    return chosen
  }

  /** Removes the oldest sessions that are not pinned until the rest is within the limits. Returns those removed. */
  makeRoom(isInUse: (id: string) => boolean): Promise<readonly KeptSession[]> {
    return this.purge((sessions) => beyondLimits(sessions, this.#limits, isInUse))
  }

  /** Removes the oldest session that is not pinned, when the browser has no room for another one. */
  removeOldest(isInUse: (id: string) => boolean): Promise<readonly KeptSession[]> {
    return this.purge((sessions) => removable(sessions, isInUse).slice(0, 1))
  }
}

/** Deleted ones first, then the oldest. */
const removable = (sessions: readonly KeptSession[], isInUse: (id: string) => boolean): readonly KeptSession[] =>
  sessions
    .filter(({ id, isPinned, deletedAtMs }) => deletedAtMs !== undefined || (!isPinned && !isInUse(id)))
    .sort(
      (a, b) =>
        Number(b.deletedAtMs !== undefined) - Number(a.deletedAtMs !== undefined) || a.startedAtMs - b.startedAtMs,
    )

const beyondLimits = (
  sessions: readonly KeptSession[],
  { maxSessions, maxBytes }: LibraryLimits,
  isInUse: (id: string) => boolean,
): readonly KeptSession[] => {
  let count = sessions.length
  let bytes = sessions.reduce((sum, session) => sum + session.bytes, 0)
  const chosen: KeptSession[] = []
  for (const session of removable(sessions, isInUse)) {
    if (count <= maxSessions && bytes <= maxBytes) break
    chosen.push(session)
    count -= 1
    bytes -= session.bytes
  }
  return chosen
}

const allStores = ['sessions', 'transcripts', 'texts', 'edits', 'parts'] as const

/** The keys of the parts of a session; an array follows every text in the order of keys. */
const partsOf = (id: string, ...kind: readonly FileKind[]): IDBKeyRange =>
  IDBKeyRange.bound([id, ...kind], [id, ...kind, []])

/** About what a transcript takes in the database. */
const bytesOfText = ({ lines }: TranscriptDocument): number =>
  lines.reduce((sum, { words }) => sum + 100 + words.length * 120, 1000)

/** A captured recording whose page closed before its end: its header has the sizes of its beginning. */
const grownWav = async (parts: readonly Blob[]): Promise<Blob> => {
  const whole = new Blob([...parts])
  const header = new DataView(await whole.slice(0, wavHeaderBytes).arrayBuffer())
  if (header.byteLength < wavHeaderBytes) return whole
  header.setUint32(4, whole.size - 8, true)
  header.setUint32(40, whole.size - wavHeaderBytes, true)
  return new Blob([header, whole.slice(wavHeaderBytes)], { type: parts[0]?.type ?? '' })
}

export const wavHeaderBytes = 44
