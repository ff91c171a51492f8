import { Subject, VirtualTimeScheduler } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { noEdits } from '../../src/library/edits.js'
import { Keeper } from '../../src/library/keeper.js'
import { nothingStored, type LibraryStore, type SessionContent } from '../../src/library/store.js'
import { documentOf, lineOf } from './transcripts.js'

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** A session, and a store that notes what it is asked for, and has room or not. */
const scene = (fields: Partial<SessionContent> = {}) => {
  let content: SessionContent = {
    document: documentOf(),
    audio: new Blob(['audio']),
    events: new Blob(['1']),
    cassette: undefined,
    ...fields,
  }
  const writes: string[] = []
  const sentences: string[] = []
  const moved: string[] = []
  const oldest = ['Old', 'Older']
  let rooms = Infinity
  let failure: Error | undefined
  const store = {
    write: ({ document: { lines }, audio }: SessionContent, hasEnded: boolean) => {
      if (rooms <= 0) return Promise.reject(new DOMException('', 'QuotaExceededError'))
      writes.push(`${lines.length} lines${audio === undefined ? '' : ' with audio'}${hasEnded ? ', ended' : ''}`)
      return Promise.resolve({ ...nothingStored, isKnown: true })
    },
    addedParts: () => Promise.resolve([{ kind: 'events', fromBytes: writes.length, content: new Blob() }]),
    makeRoom: () => Promise.resolve([]),
    removeOldest: () => {
      rooms += 1
      const title = oldest.shift()
      return Promise.resolve(title === undefined ? [] : [{ title }])
    },
  } as unknown as LibraryStore
  const scheduler = new VirtualTimeScheduler(undefined, Infinity)
  const hidden$ = new Subject<void>()
  const keeper = new Keeper({
    store,
    content: () => (failure === undefined ? content : Promise.reject(failure)),
    movedToDisk: ({ kind, fromBytes }) => moved.push(`${kind} from ${fromBytes}`),
    edits: () => noEdits,
    isInUse: () => false,
    report: (sentence) => sentences.push(sentence),
    written: () => undefined,
    hidden$,
    scheduler,
  })
  const passMs = async (ms: number): Promise<void> => {
    scheduler.maxFrames = scheduler.frame + ms
    scheduler.flush()
    await settled()
  }
  return {
    keeper,
    writes,
    sentences,
    moved,
    hidden$,
    passMs,
    change: (next: Partial<SessionContent>) => (content = { ...content, ...next }),
    setRooms: (count: number) => (rooms = count),
    fail: (error: Error) => (failure = error),
  }
}

describe('a running session', () => {
  it('is written every few seconds if it has changed, when the page is hidden, and at its end', async () => {
    const { keeper, writes, hidden$, passMs, change } = scene()
    await passMs(4999)
    expect(writes).toEqual([])
    await passMs(1)
    await passMs(5000)
    expect(writes).toEqual(['2 lines with audio'])
    change({ document: documentOf({ lines: [lineOf(1, 0, 'hello', 0)] }) })
    hidden$.next()
    await settled()
    expect(writes).toEqual(['2 lines with audio', '1 lines with audio'])
    await keeper.end()
    await passMs(60_000)
    expect(writes.slice(2)).toEqual(['1 lines with audio, ended'])
  })

  it('gives back what it has written, but not at the end', async () => {
    const { keeper, moved, passMs, change } = scene()
    await passMs(5000)
    change({ events: new Blob(['1', '2']) })
    await passMs(5000)
    expect(moved).toEqual(['events from 1', 'events from 2'])
    await keeper.end()
    expect(moved).toHaveLength(2)
  })

  it('is kept once it has words, or is a recording of a microphone', async () => {
    const { keeper, writes, passMs, change } = scene({ document: documentOf({ lines: [] }) })
    await passMs(5000)
    expect(writes).toEqual([])
    change({ document: documentOf({ lines: [], origin: 'microphone', durationMs: 2000 }) })
    await passMs(5000)
    expect(writes).toEqual([])
    change({ document: documentOf({ lines: [], origin: 'microphone', durationMs: 9000 }) })
    await passMs(5000)
    expect(writes).toEqual(['0 lines with audio'])
    keeper.stop()
  })

  it('takes the room of the oldest sessions when the browser has none, and says so', async () => {
    const { keeper, writes, sentences, setRooms } = scene()
    setRooms(-1)
    await keeper.end()
    expect(writes).toEqual(['2 lines with audio, ended'])
    expect(sentences).toEqual([
      'Removed to make room: “Old”. Pin the sessions that must stay.',
      'Removed to make room: “Older”. Pin the sessions that must stay.',
    ])
  })

  it('gives up its recording, then says that it is not kept', async () => {
    const reduced = scene()
    reduced.setRooms(-2)
    await reduced.keeper.end()
    expect(reduced.writes).toEqual(['2 lines, ended'])
    expect(reduced.sentences.at(-1)).toBe(
      'The browser has no room for the recording of this session; its text is kept.',
    )
    const none = scene()
    none.setRooms(-Infinity)
    await none.keeper.end()
    expect(none.writes).toEqual([])
    expect(none.sentences.at(-1)).toMatch(/^The browser has no room to keep this session\. Export what you need/)
  })

  it('is reported, and is not kept, if its recording cannot be read', async () => {
    const { keeper, writes, sentences, fail } = scene()
    fail(new DOMException('', 'NotReadableError'))
    expect(await keeper.end()).toBe(false)
    expect([writes, sentences]).toEqual([[], [expect.stringContaining('could not keep this session')]])
  })
})
