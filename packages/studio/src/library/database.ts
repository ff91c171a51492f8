import { openDB, type DBSchema, type IDBPDatabase, type IDBPTransaction, type StoreNames } from 'idb'
import type { TranscriptDocument } from '../state/transcript.js'
import type { Edits } from './edits.js'
import type { SearchText } from './search.js'

/** The files of a session, besides its transcript. */
export const fileKinds = ['audio', 'events', 'cassette'] as const
export type FileKind = (typeof fileKinds)[number]

/** What the list shows of a session. */
export interface KeptSession {
  readonly id: string
  readonly title: string
  readonly origin: TranscriptDocument['origin']
  readonly startedAtMs: number
  readonly durationMs: number
  readonly model: string
  readonly speakers: readonly string[]
  readonly hasEnded: boolean
  /** Pinned sessions are not removed to make room. */
  readonly isPinned: boolean
  /** The text, and the files. */
  readonly bytes: number
  /** Files that are larger than what is kept of them. */
  readonly omitted: readonly FileKind[]
  /** When a person deleted it: it can be put back until it is removed for good. */
  readonly deletedAtMs?: number | undefined
}

/** A part of a file that grows: `n` counts them from 0. */
export interface FilePart {
  readonly id: string
  readonly kind: FileKind
  readonly n: number
  readonly content: Blob
}

export interface LibrarySchema extends DBSchema {
  sessions: { key: string; value: KeptSession }
  transcripts: { key: string; value: TranscriptDocument }
  texts: { key: string; value: SearchText }
  edits: { key: string; value: Edits & { readonly id: string } }
  parts: { key: [id: string, kind: FileKind, n: number]; value: FilePart }
}

export type LibraryDatabase = IDBPDatabase<LibrarySchema>

/** Changes the stores, or what is in them. */
export type UpgradeStep = (
  database: LibraryDatabase,
  transaction: IDBPTransaction<LibrarySchema, StoreNames<LibrarySchema>[], 'versionchange'>,
) => unknown

/**
 * How the database of each version becomes that of the next: the first entry makes version 1 of nothing. Entries never
 * change after a release; another form of what is kept is a further entry, which converts what is there.
 */
export const upgradeSteps: readonly UpgradeStep[] = [
  (database) => {
    for (const name of ['sessions', 'transcripts', 'texts', 'edits'] as const)
      database.createObjectStore(name, { keyPath: 'id' })
    database.createObjectStore('parts', { keyPath: ['id', 'kind', 'n'] })
  },
]

/** Why the browser keeps nothing; the page works without. */
export class NoLibraryError extends Error {}

const privateSentence =
  'This browser does not let the page keep sessions, as in some private windows. They are here until the page closes; export what you need.'

/**
 * Opens the database of the sessions.
 *
 * @param closed called with a sentence when it can no longer be used, because another tab has a newer page
 * @throws `NoLibraryError`, whose message is for a person
 */
export const openDatabase = async (
  closed: (sentence: string) => void,
  steps: readonly UpgradeStep[] = upgradeSteps,
): Promise<LibraryDatabase> => {
  try {
    return await openDB<LibrarySchema>('rxspeech-studio', steps.length, {
      upgrade: (database, oldVersion, _newVersion, transaction) => {
        const upgrade = async (): Promise<void> => {
          for (const step of steps.slice(oldVersion)) await step(database, transaction)
        }
        // What is there stays as it is.
        upgrade().catch(() => transaction.abort())
      },
      blocking: (_current, _blocked, { target }) => {
        if (target instanceof IDBDatabase) target.close()
        closed('A newer version of this page is open in another tab. Reload this one to see and keep sessions.')
      },
      terminated: () =>
        closed('The browser has closed what it keeps for this page. Reload it to see and keep sessions.'),
    })
  } catch (error) {
    const isNewer = error instanceof DOMException && error.name === 'VersionError'
    throw new NoLibraryError(
      isNewer
        ? 'Sessions were kept here by a newer version of this page, which this one cannot read. It keeps none.'
        : privateSentence,
      { cause: error },
    )
  }
}
