import {
  catchError,
  defer,
  EMPTY,
  finalize,
  from,
  ignoreElements,
  Subject,
  switchMap,
  takeUntil,
  tap,
  type Observable,
} from 'rxjs'
import type { RecognitionOptions } from 'rxspeech'
import { createRun, type Run } from '../run.js'
import type { AudioTrack } from '../session/audio-track.js'
import { wavHeaderBytes, type PartOnDisk, type SessionContent } from '../library/store.js'
import type { Model, StudioConfig } from '../session/config.js'
import { wavOf } from '../session/playback.js'
import { readRecording } from '../session/read-recording.js'
import type { Source } from '../session/sources.js'
import { failureSentence, sentenceOf } from '../state/sentences.js'
import { stateOfKept } from '../state/kept-state.js'
import { initialState, reduce, type StudioInput, type StudioState } from '../state/state.js'
import type { Origin, TranscriptDocument } from '../state/transcript.js'
import { progressOf, type Progress } from './progress.js'

/** How far a session of the page is. A `failed` one may have text. */
export type JobStatus =
  | { readonly type: 'queued' | 'running' | 'ended' | 'cancelled' }
  | { readonly type: 'loading' | 'failed'; readonly sentence: string }

/** What a job needs to run. */
export interface JobPlan {
  readonly config: StudioConfig
  readonly model: Model
  readonly recognition: RecognitionOptions
  /** The token that a person entered, for a service that gives none to pages. */
  readonly token: string
  readonly open: OpenAudio
}

/** Reads the audio until `signal` is aborted; `progress` gets a sentence about it. */
export type OpenAudio = (progress: (sentence: string) => void, signal: AbortSignal) => Promise<OpenedAudio>

export interface OpenedAudio {
  readonly source: Source
  /** What is played; absent for a microphone. */
  readonly audio?: Blob
  /** What is wrong with the audio, of which the rest is transcribed. */
  readonly fault?: string | undefined
}

/** What the page shows: a session that runs, waits, ended, was kept, or was recorded as a cassette. */
export class Job {
  readonly id: string
  readonly title: string
  readonly origin: Origin
  readonly startedAtMs: number
  readonly plan: JobPlan | undefined
  readonly #finalize$ = new Subject<void>()
  readonly #stop$ = new Subject<void>()
  readonly #cancelled$ = new Subject<void>()
  readonly #changed: (job: Job) => void
  status: JobStatus = { type: 'queued' }
  state: StudioState = initialState
  run: Run | undefined
  audio: Blob | undefined
  /** What a person should know about the audio. */
  warning: string | undefined
  /** Whether the list of kept sessions has it; undefined until that is known, and for a cassette. */
  isKept: boolean | undefined
  #kept: SessionContent | undefined
  #keptTracks: readonly AudioTrack[] = []
  #reading: Promise<void> | undefined
  readonly #closed = new AbortController()
  #model: string
  #document: TranscriptDocument | undefined
  #runningSinceMs = 0

  constructor(
    what: Pick<TranscriptDocument, 'title' | 'origin'> &
      Partial<Pick<TranscriptDocument, 'id' | 'model' | 'startedAtMs'>>,
    plan?: JobPlan,
    changed: (job: Job) => void = () => undefined,
  ) {
    this.id = what.id ?? newId()
    this.title = what.title
    this.origin = what.origin
    this.startedAtMs = what.startedAtMs ?? Date.now()
    this.#model = what.model ?? plan?.model.name ?? ''
    this.plan = plan
    this.#changed = changed
  }

  get isUnfinished(): boolean {
    return this.status.type === 'queued' || this.status.type === 'loading' || this.status.type === 'running'
  }

  get tracks(): readonly AudioTrack[] {
    return this.run?.tracks ?? this.#keptTracks
  }

  /** The `tracks`, for which the recording of a session that was kept is read first; none if that is not possible. */
  async readTracks(): Promise<readonly AudioTrack[]> {
    if (this.#kept?.audio !== undefined) await (this.#reading ??= this.#readKept(this.#kept.audio))
    return this.tracks
  }

  async #readKept(audio: Blob): Promise<void> {
    const recording = await readRecording(audio, 16_000, this.#closed.signal).catch(() => undefined)
    if (recording === undefined) return
    this.#keptTracks = recording.tracks
    this.#changed(this)
  }

  /** It is not shown any more: nothing more of its recording is read. */
  close(): void {
    this.#closed.abort()
  }

  get durationMs(): number {
    return Math.max(0, ...this.tracks.map(({ durationMs }) => durationMs))
  }

  /** Of a recording; undefined while there is nothing to say. */
  progress(nowMs: number): Progress | undefined {
    if (this.status.type !== 'running' || this.origin !== 'file') return undefined
    const totalMs = this.tracks.reduce((sum, { durationMs }) => sum + durationMs, 0)
    return progressOf(this.state.ledger, totalMs, nowMs - this.#runningSinceMs)
  }

  /** The same object while it does not change, so that it can be compared. */
  get document(): TranscriptDocument {
    const { lines, channels } = this.state
    const known = this.#document
    const isGrowing = this.isUnfinished && this.origin !== 'file'
    const durationMs = this.#kept?.document.durationMs ?? (isGrowing ? 0 : this.durationMs)
    const fault = this.status.type === 'failed' ? this.status.sentence : undefined
    const isSame = known?.lines === lines && known.speakers === channels && known.fault === fault
    if (isSame && known.durationMs === durationMs) return known
    const { id, title, origin, startedAtMs } = this
    const { recognition = {} } = this.plan ?? known ?? {}
    return (this.#document = {
      id,
      title,
      origin,
      startedAtMs,
      durationMs,
      lines,
      model: this.#model,
      speakers: channels,
      ...(Object.keys(recognition).length > 0 && { recognition }),
      ...(fault !== undefined && { fault }),
    })
  }

  /** Shows a session that was kept. */
  restore(kept: SessionContent): void {
    this.#kept = kept
    this.#document = kept.document
    this.state = stateOfKept(kept.document)
    this.audio = kept.audio
    const { fault } = kept.document
    this.status = fault === undefined ? { type: 'ended' } : { type: 'failed', sentence: fault }
    this.isKept = true
  }

  /** What is kept and exported of it now. */
  async content(): Promise<SessionContent> {
    const { document, run, tracks, audio } = this
    if (this.#kept !== undefined || run === undefined) return { ...(this.#kept ?? noFiles), document }
    const { events, cassette } = run
    return {
      document,
      audio: audio ?? (await wavOf(tracks)),
      events: events.blob(),
      cassette: cassette.isTooLong ? undefined : cassette.blob(),
    }
  }

  /** A part of its `content` is in a file of the browser now, and need not be in memory. */
  moveToDisk({ kind, fromBytes, content }: PartOnDisk): void {
    if (kind !== 'audio') return this.run?.[kind].moveToDisk(fromBytes, content)
    const [track, other] = this.tracks
    // A recording is a file already; two tracks are not kept as they are, and short.
    if (this.audio !== undefined || track === undefined || other !== undefined) return
    if (fromBytes === 0) track.moveToDisk(0, content.slice(wavHeaderBytes))
    else track.moveToDisk(fromBytes - wavHeaderBytes, content)
  }

  /** Runs the session, and completes when it ended in any way. */
  readonly run$: Observable<never> = defer(() => {
    const { plan } = this
    if (plan === undefined || this.status.type !== 'queued') return EMPTY
    const opening = new AbortController()
    this.#to({ type: 'loading', sentence: 'Reading the audio.' })
    const progress = (sentence: string): void => {
      if (!opening.signal.aborted) this.#to({ type: 'loading', sentence })
    }
    return from(plan.open(progress, opening.signal)).pipe(
      switchMap((opened) => this.#inputs(plan, opened)),
      tap((input) => this.take(input)),
      catchError((error: unknown) => {
        this.#to({ type: 'failed', sentence: sentenceOf(error) })
        return EMPTY
      }),
      ignoreElements(),
      takeUntil(this.#cancelled$),
      finalize(() => opening.abort()),
    )
  })

  #inputs(plan: JobPlan, { source, audio, fault }: OpenedAudio): Observable<StudioInput> {
    this.audio = audio
    this.warning = fault
    this.run = createRun({
      ...plan,
      source,
      finalize$: this.#finalize$,
      stop$: this.#stop$,
      tokenTaken: (expiresAtMs) => this.take({ type: 'token', expiresAtMs }),
    })
    this.#runningSinceMs = performance.now()
    this.take({ type: 'started', title: source.title, channels: source.channels })
    this.#to({ type: 'running' })
    return this.run.live?.inputs$ ?? EMPTY
  }

  take(input: StudioInput): void {
    this.state = reduce(this.state, input)
    if (input.type !== 'ended') return this.#changed(this)
    const { failure } = input
    this.#to(failure === undefined ? { type: 'ended' } : { type: 'failed', sentence: failureSentence(failure) })
  }

  /** Ends the audio; the last results still arrive. */
  finish(): void {
    this.#finalize$.next()
  }

  /** Ends it without the results that are missing. */
  stop(): void {
    this.#stop$.next()
  }

  /** Closes the connections, as a network that fails would. */
  cut(): void {
    const { live } = this.run ?? {}
    if (this.status.type !== 'running' || live === undefined) return
    this.take({ type: 'cut', audioMs: live.audioMs() })
    live.cut()
  }

  /** Replaces its audio by silence for a while. */
  mute(durationMs: number): void {
    const { live } = this.run ?? {}
    if (live !== undefined && !live.isMuted()) this.take(live.mute(durationMs))
  }

  /** Ends it at once; its text so far stays. */
  cancel(): void {
    if (!this.isUnfinished) return
    this.#cancelled$.next()
    if (this.state.phase !== 'idle')
      this.state = reduce(this.state, { type: 'ended', atMs: 0, audioMs: this.durationMs })
    this.#to({ type: 'cancelled' })
  }

  #to(status: JobStatus): void {
    this.status = status
    this.#changed(this)
  }
}

const noFiles = { audio: undefined, events: new Blob(), cassette: undefined }

/** Not `randomUUID`, which a page has only over TLS or on its own machine. */
const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
