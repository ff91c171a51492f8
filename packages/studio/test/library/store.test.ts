import 'fake-indexeddb/auto'
import { deleteDB } from 'idb'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { wavHeader } from '../../../../src/audio.js'
import { NoLibraryError, openDatabase, upgradeSteps, type LibraryDatabase } from '../../src/library/database.js'
import { matchIn } from '../../src/library/search.js'
import { wordKey } from '../../src/library/edits.js'
import {
  defaultLimits,
  LibraryStore,
  nothingStored,
  type PartOnDisk,
  type SessionContent,
} from '../../src/library/store.js'
import { documentOf } from './transcripts.js'

const noTabs = (): boolean => false
const contentOf = (fields: Partial<SessionContent> & { readonly id?: string } = {}): SessionContent => ({
  document: documentOf({ id: fields.id ?? 'call' }),
  audio: new Blob(['RIFF of a file'], { type: 'audio/mpeg' }),
  events: new Blob(['{"type":"partial"}\n']),
  cassette: new Blob(['{"version":1}\n']),
  ...fields,
})

let database: LibraryDatabase
let store: LibraryStore

beforeEach(async () => {
  database = await openDatabase(() => undefined)
  store = new LibraryStore(database)
})

afterEach(async () => {
  database.close()
  await deleteDB('rxspeech-studio')
})

describe('the sessions that are kept', () => {
  it('are found again with their files', async () => {
    const content = contentOf()
    await store.write(content, true, nothingStored)
    const found = await store.find('call')
    expect(found?.document).toEqual(content.document)
    expect(found?.audio?.type).toBe('audio/mpeg')
    expect(await found?.audio?.text()).toBe('RIFF of a file')
    expect(await found?.events.text()).toBe('{"type":"partial"}\n')
    expect(await found?.cassette?.text()).toBe('{"version":1}\n')
    expect(await store.find('other')).toBeUndefined()
  })

  it('are listed with the newest first', async () => {
    for (const [id, startedAtMs] of [
      ['a', 1],
      ['c', 3],
      ['b', 2],
    ] as const) {
      await store.write(contentOf({ document: documentOf({ id, startedAtMs }) }), true, nothingStored)
    }
    expect((await store.list()).map(({ id }) => id)).toEqual(['c', 'b', 'a'])
  })

  it('grow by what is new, and become whole at the end', async () => {
    const format = { encoding: 'pcm', sampleRateHz: 8000, channels: 1 } as const
    const wav = (length: number): Blob =>
      new Blob([new Uint8Array(wavHeader(format, length)), new Uint8Array(length).fill(7)], { type: 'audio/wav' })
    const events = (count: number): Blob => new Blob(Array.from({ length: count }, (_, at) => `${at}\n`))
    let stored = nothingStored
    const added: (readonly PartOnDisk[])[] = []
    for (const count of [1, 2, 2, 3]) {
      const grown = contentOf({ audio: wav(count * 100), events: events(count), cassette: undefined })
      const before = stored
      stored = (await store.write(grown, false, stored)) ?? stored
      added.push(await store.addedParts('call', before, stored))
    }
    expect(
      added.map((parts) => parts.map(({ kind, fromBytes, content: { size } }) => [kind, fromBytes, size])),
    ).toEqual([
      [
        ['audio', 0, 144],
        ['events', 0, 2],
      ],
      [
        ['audio', 144, 100],
        ['events', 2, 2],
      ],
      [],
      [
        ['audio', 244, 100],
        ['events', 4, 2],
      ],
    ])
    const partsOf = async () =>
      (await database.getAll('parts')).map(({ kind, n, content: { size } }) => [kind, n, size])
    expect(await partsOf()).toEqual([
      ['audio', 0, 144],
      ['audio', 1, 100],
      ['audio', 2, 100],
      ['events', 0, 2],
      ['events', 1, 2],
      ['events', 2, 2],
    ])
    // As if the tab had closed here.
    const { audio } = (await store.find('call')) ?? {}
    expect(Buffer.from((await audio?.arrayBuffer()) ?? new ArrayBuffer(0))).toEqual(
      Buffer.from(await wav(300).arrayBuffer()),
    )
    expect((await store.list())[0]?.hasEnded).toBe(false)

    await store.write(contentOf({ audio: wav(400), events: events(4), cassette: undefined }), true, stored)
    expect(await partsOf()).toEqual([
      ['audio', 0, 444],
      ['events', 0, 8],
    ])
    expect((await store.list())[0]?.hasEnded).toBe(true)
  })

  it('leave out a file that is too large, even if it became so later', async () => {
    store = new LibraryStore(database, { ...defaultLimits, maxFileBytes: { ...defaultLimits.maxFileBytes, audio: 20 } })
    const stored = await store.write(contentOf(), false, nothingStored)
    await store.write(contentOf({ audio: new Blob(['x'.repeat(21)]) }), true, stored ?? nothingStored)
    expect((await store.list())[0]?.omitted).toEqual(['audio'])
    expect((await store.find('call'))?.audio).toBeUndefined()
  })

  it('keep what a person changed while they are written, and are searched by it', async () => {
    const { document } = contentOf()
    const [line] = document.lines
    const [word] = line?.words ?? []
    if (line === undefined || word === undefined) throw new Error('There is no word.')
    const named = { speakers: { 0: 'Ann' }, words: {} }
    const stored = await store.write(contentOf(), false, nothingStored, named)
    await store.edit('call', { type: 'word', key: wordKey(line, 0, word), text: 'Fine' })
    await store.pin('call', true)
    await store.write(contentOf(), true, stored ?? nothingStored)
    const [listed] = await store.list()
    expect(listed).toMatchObject({ isPinned: true, edits: { speakers: { 0: 'Ann' } } })
    expect(Object.values(listed?.edits.words ?? {})).toEqual(['Fine'])
    expect((await store.find('call'))?.document).toEqual(document)
    const [text] = await store.texts()
    expect(text && matchIn(text, 'fine morning')).toMatchObject({ found: 'Fine morning,' })
    expect(text && matchIn(text, 'good morning')).toBeUndefined()
  })

  it('are put back after a deletion, and gone after a purge', async () => {
    await store.write(contentOf(), true, nothingStored)
    await store.remove('call', 5)
    expect((await store.list())[0]?.deletedAtMs).toBe(5)
    await store.restore('call')
    expect((await store.list())[0]?.deletedAtMs).toBeUndefined()
    await store.write(contentOf({ id: 'calls' }), true, nothingStored)
    await store.purge((sessions) => sessions.filter(({ id }) => id === 'call'))
    expect((await store.list()).map(({ id }) => id)).toEqual(['calls'])
    for (const name of ['transcripts', 'texts', 'edits'] as const) expect(await database.count(name)).toBe(1)
    expect(await database.count('parts')).toBe(3)
  })

  it('do not come back if they are deleted while they run', async () => {
    const stored = (await store.write(contentOf(), false, nothingStored)) ?? nothingStored
    await store.remove('call', 5)
    expect(await store.write(contentOf(), false, stored)).toBeUndefined()
    await store.restore('call')
    expect(await store.write(contentOf(), false, stored)).toMatchObject({ isKnown: true })
    await store.purge((sessions) => sessions)
    expect(await store.write(contentOf(), true, stored)).toBeUndefined()
    expect(await store.list()).toEqual([])
  })

  it('make room by number and by bytes: deleted ones first, then the oldest that are not pinned', async () => {
    const write = (id: string, startedAtMs: number) =>
      store.write(contentOf({ document: documentOf({ id, startedAtMs }) }), true, nothingStored)
    for (const [at, id] of ['a', 'b', 'c', 'd', 'e'].entries()) await write(id, at)
    await store.pin('a', true)
    await store.remove('d', 1)
    const isInUse = (id: string): boolean => id === 'b'
    const removed = async (limits: Partial<typeof defaultLimits>): Promise<readonly string[]> =>
      (await new LibraryStore(database, { ...defaultLimits, ...limits }).makeRoom(isInUse)).map(({ id }) => id)
    expect(await removed({})).toEqual([])
    expect(await removed({ maxSessions: 4 })).toEqual(['d'])
    expect(await removed({ maxSessions: 3 })).toEqual(['c'])
    const bytes = (await store.list())[0]?.bytes ?? 0
    expect(await removed({ maxBytes: 3 * bytes - 1 })).toEqual(['e'])
    expect(await removed({ maxSessions: 1 })).toEqual([])
    expect((await store.list()).map(({ id }) => id)).toEqual(['b', 'a'])
    expect((await store.removeOldest(noTabs)).map(({ id }) => id)).toEqual(['b'])
    expect(await store.removeOldest(noTabs)).toEqual([])
  })

  it('of two tabs do not overwrite each other', async () => {
    const otherDatabase = await openDatabase(() => undefined)
    const other = new LibraryStore(otherDatabase)
    await Promise.all([
      store.write(contentOf({ id: 'a' }), true, nothingStored),
      other.write(contentOf({ id: 'b' }), true, nothingStored),
    ])
    await Promise.all([
      store.edit('a', { type: 'speaker', channel: 0, name: 'Ann' }),
      other.edit('a', { type: 'speaker', channel: 1, name: 'Bob' }),
      other.edit('a', { type: 'title', title: 'A call' }),
      store.pin('a', true),
    ])
    const [a] = (await store.list()).filter(({ id }) => id === 'a')
    expect(a).toMatchObject({ isPinned: true, edits: { title: 'A call', speakers: { 0: 'Ann', 1: 'Bob' } } })
    otherDatabase.close()
  })
})

describe('the database of sessions', () => {
  it('is upgraded step by step with what it has, while an older page lets it', async () => {
    await store.write(contentOf(), true, nothingStored)
    const sentences: string[] = []
    database.close()
    database = await openDatabase((sentence) => sentences.push(sentence))
    const newer = await openDatabase(
      () => undefined,
      [
        ...upgradeSteps,
        async (_database, transaction) => {
          const sessions = transaction.objectStore('sessions')
          for (const session of await sessions.getAll())
            await sessions.put({ ...session, title: `${session.title} (old)` })
        },
      ],
    )
    expect(sentences).toEqual([expect.stringMatching(/newer version of this page is open in another tab/)])
    expect((await new LibraryStore(newer).list())[0]?.title).toBe('Call.wav (old)')
    newer.close()
    await expect(openDatabase(() => undefined)).rejects.toThrow(/newer version of this page/)
  })

  it('says what it means that there is none', async () => {
    const { indexedDB: original } = globalThis
    Object.defineProperty(globalThis, 'indexedDB', { value: undefined, configurable: true, writable: true })
    await expect(openDatabase(() => undefined)).rejects.toThrow(NoLibraryError)
    Object.defineProperty(globalThis, 'indexedDB', { value: original, configurable: true, writable: true })
  })
})
