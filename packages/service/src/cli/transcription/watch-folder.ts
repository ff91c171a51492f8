import { statSync, watch, type FSWatcher } from 'node:fs'
import { stat } from 'node:fs/promises'
import { extname } from 'node:path'
import { audit, concatMap, EMPTY, exhaustMap, from, merge, Observable, Subject, timer } from 'rxjs'
import type { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { recordingsIn, type InputFile } from '../input/recordings-in-folder.js'
import { formatExtensions } from '../view/format-view.js'

/** How long a file must stay as it is before it counts as complete. */
const stableMs = 2_000

/** What is known about a file of the folder. */
interface Seen {
  /** Changes with every change of the file. */
  readonly signature: string
  readonly sinceMs: number
  readonly isTaken: boolean
}

export interface WatchedFolder {
  readonly folder: string
  /** When the transcript of a recording was written; undefined if there is none. */
  readonly transcribedMs: (file: InputFile) => number | undefined
}

/** Decides which recordings of a folder are to be transcribed now. */
export class FolderScan {
  readonly #watched: WatchedFolder
  readonly #seen = new Map<string, Seen>()
  readonly #running = new Set<string>()

  constructor(watched: WatchedFolder) {
    this.#watched = watched
  }

  /**
   * The recordings that are complete and were not returned as they are now: those without a transcript that is newer,
   * and those that have changed. A file is complete when its size and its time of change stay for two seconds; one that
   * was moved into the folder usually is at once. `problem` is about a folder that cannot be read; its recordings count
   * as unchanged.
   *
   * @param folders receives each folder that is read
   */
  async scan(
    nowMs: number,
    folders: (path: string) => void = () => undefined,
  ): Promise<{ ready: readonly InputFile[]; isWaiting: boolean; problem: SpeechError | undefined }> {
    const ready: InputFile[] = []
    const there = new Set<string>()
    let isWaiting = false
    let problem: SpeechError | undefined
    const unreadable = (error: SpeechError): void => {
      problem ??= error
    }
    for await (const file of recordingsIn(this.#watched.folder, folders, unreadable)) {
      const found = await stat(file.file).catch(() => undefined)
      if (found === undefined) continue
      there.add(file.file)
      const next = this.#next(file, found, nowMs)
      this.#seen.set(file.file, next.seen)
      if (next.isReady) ready.push(file)
      else if (!next.seen.isTaken) isWaiting = true
    }
    if (problem === undefined) for (const path of this.#seen.keys()) if (!there.has(path)) this.#seen.delete(path)
    for (const { file } of ready) this.#running.add(file)
    return { ready, isWaiting, problem }
  }

  /** The recording that was returned has been transcribed, or has failed. */
  ended(file: string): void {
    this.#running.delete(file)
  }

  #next(
    file: InputFile,
    { size, mtimeMs, ino }: { readonly size: number; readonly mtimeMs: number; readonly ino: number },
    nowMs: number,
  ): { readonly seen: Seen; readonly isReady: boolean } {
    const signature = `${size} ${mtimeMs} ${ino}`
    const before = this.#seen.get(file.file)
    if (before?.signature === signature && before.isTaken) return { seen: before, isReady: false }
    if (before === undefined && (this.#watched.transcribedMs(file) ?? -Infinity) >= mtimeMs) {
      return { seen: { signature, sinceMs: nowMs, isTaken: true }, isReady: false }
    }
    const sinceMs = before?.signature === signature ? before.sinceMs : nowMs
    // The clock of a network share may be another one.
    const isOld = before === undefined && size > 0 && nowMs - mtimeMs >= stableMs
    const isReady = (isOld || nowMs - sinceMs >= stableMs) && !this.#running.has(file.file)
    return { seen: { signature, sinceMs, isTaken: isReady }, isReady }
  }
}

/** How often the folder is read without a report of a change: network shares report none. */
const pollMs = 5_000
/** Changes that come together are read together; large folders take at most a tenth of the time. */
const settleMs = 100
const idleTimesScan = 10
/** Beyond these the poll finds changes. */
const maxWatchedFolders = 1_000

/** Also one that is being written. */
const isTranscript = (name: string): boolean =>
  ['partial', ...Object.values(formatExtensions)].includes(extname(name).slice(1))

/**
 * The recordings of a folder that are to be transcribed, as they come. Never completes. A folder that cannot be read is
 * reported once, and read again later; the others go on.
 */
export const watchFolder = (scan: FolderScan, onProblem: (error: SpeechError) => void): Observable<InputFile> =>
  new Observable((subscriber) => {
    const wake$ = new Subject<void>()
    const watchers = new Map<string, FSWatcher>()
    let reported: string | undefined
    let scanMs = 0
    const watchAlso = (path: string): void => {
      if (watchers.has(path) || watchers.size >= maxWatchedFolders || subscriber.closed) return
      try {
        const watcher = watch(path, { persistent: false }, (_event, name) => {
          if (name === null || !isTranscript(name)) wake$.next()
        })
        watchers.set(path, watcher)
        watcher.on('error', () => unwatch(path))
      } catch {
        // The poll is enough.
      }
    }
    const unwatch = (path: string): void => {
      watchers.get(path)?.close()
      watchers.delete(path)
    }
    const read = async (): Promise<readonly InputFile[]> => {
      const folders = new Set<string>()
      const startedMs = performance.now()
      const { ready, isWaiting, problem } = await scan.scan(Date.now(), (path) => folders.add(path))
      for (const path of watchers.keys()) if (!folders.has(path)) unwatch(path)
      folders.forEach(watchAlso)
      if (isWaiting) waiting.add(timer(stableMs / 2).subscribe(() => wake$.next()))
      if (problem !== undefined && problem.message !== reported) onProblem(problem)
      reported = problem?.message
      scanMs = performance.now() - startedMs
      return ready
    }
    const waiting = merge(timer(0, pollMs), wake$)
      .pipe(
        audit(() => timer(Math.max(settleMs, idleTimesScan * scanMs))),
        exhaustMap(read),
        concatMap((files) => (files.length === 0 ? EMPTY : from(files))),
      )
      .subscribe(subscriber)
    return () => {
      waiting.unsubscribe()
      for (const path of [...watchers.keys()]) unwatch(path)
    }
  })

/** When a file was changed; undefined if there is none that can be read. */
export const changedMs = (path: string): number | undefined => {
  try {
    return statSync(path).mtimeMs
  } catch {
    return undefined
  }
}
